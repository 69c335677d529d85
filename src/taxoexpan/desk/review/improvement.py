"""Improving the suggestions: a training from the decisions in another process, and its page."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Lock, Thread
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.desk import ReviewDesk, model_name
from taxoexpan.desk.review.pages import Pages, see_other
from taxoexpan.desk.store.decisions import Status, pair
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.errors import ModelError
from taxoexpan.files import recover_output, unused_name
from taxoexpan.model import TaxoExpan
from taxoexpan.taxonomy import Concept

MIN_DECIDED = 20
"""The number of concepts with decisions that a training needs."""


@dataclass
class Improvement:
    """Trainings that continue from the model of the review, at most one at a time."""

    model: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    listed: Sequence[Concept]
    device: str = "auto"
    glossary: Path | None = None
    desk: ReviewDesk | None = None
    is_running: bool = False
    began: float = 0.0
    line: str = ""
    error: str = ""
    results: Sequence[str] = ()
    _lock: Lock = field(default_factory=Lock)
    _started: tuple[Path, Popen[str], Thread] | None = None

    def start(self, desk: ReviewDesk) -> bool:
        """Start a training and return; return False if one is running."""
        with self._lock:
            if self.is_running:
                return False
            output = unused_name(self.model.resolve())
            child = Popen(
                [*self.command, "-o", str(output)],
                stdin=DEVNULL,
                stderr=PIPE,
                errors="replace",
                env=self.environment,
                start_new_session=True,  # with Ctrl+C, it would save a half-trained model
            )
            if sys.platform != "win32":
                os.setpriority(os.PRIO_PROCESS, child.pid, 10)  # the pages come first
            self.is_running, self.began = True, time.monotonic()
            self.line, self.error, self.results = "", "", ()
            self._started = output, child, Thread(target=self._run, args=[desk, child, output])
            self._started[2].start()
        return True

    def close(self) -> None:
        """End a running training without a result; let the change to a trained model finish."""
        if self._started is None:
            return
        output, child, thread = self._started
        child.terminate()
        with suppress(TimeoutExpired):
            child.wait(10)  # it cleans up
        child.kill()
        thread.join()
        recover_output(output)

    def _run(self, desk: ReviewDesk, child: Popen[str], output: Path) -> None:
        """Wait for a training, and let the pages use its model."""
        try:
            with child:  # it closes the pipe, and waits
                for line in child.stderr or ():
                    self.line = line.strip() or self.line
            if child.returncode:
                raise ModelError(self.line or f"the training ended with status {child.returncode}")
            self.line = "the model is trained; its proposals are computed"
            self.desk, self.results = self._adopt(desk, output)
        except Exception as error:  # it would be lost in this thread
            self.error = str(error) or type(error).__name__
        self.is_running = False

    def _adopt(self, desk: ReviewDesk, output: Path) -> tuple[ReviewDesk, Sequence[str]]:
        """Load a new model, replace the proposals by its own, and say what has changed."""
        todo = QueueQuery(statuses=[Status.TODO], listed=desk.listed)
        before = {each.key: pair(each.proposals[0]) for each in desk.store.first_proposals(todo)}
        model = TaxoExpan.load(output, self.device)
        improved = desk.with_model(model, model_name(output, self.glossary), self.listed)
        after = {each.key: pair(each.proposals[0]) for each in desk.store.first_proposals(todo)}
        changed = sum(before.get(key) != first for key, first in after.items())
        old, new = desk.evidence.training.validation, model.training.validation
        results = [f"{changed:,} of {len(after):,} concepts to do have another first proposal."]
        if old and new and old.queries == new.queries:  # the same concepts are held out
            hits = f"{old.hit_at_1:.3f} before, {new.hit_at_1:.3f} now"
            results.append(f"Hit@1 on the {new.queries:,} held-out concepts: {hits}.")
        return improved, [*results, f"Start the next review with {output}."]


def _count_decided(pages: Pages) -> int:
    """Count the concepts with decisions that a model can learn from."""
    feedback = pages.desk.store.feedback()
    return len({each.query.label for each in (*feedback.accepted, *feedback.rejected)})


def show_improvement(pages: Pages, request: Request, status: int = 200) -> Response:
    """Return the page about the training."""
    seconds = time.monotonic() - (pages.improvement.began if pages.improvement else 0.0)
    values: dict[str, Any] = {"decided": _count_decided(pages), "needed": MIN_DECIDED}
    values |= {"training": pages.desk.evidence.training, "improvement": pages.improvement}
    return pages.render(request, "improve.html", "Improve", status, seconds=seconds, **values)


def start_improvement(pages: Pages, request: Request, _: FormData) -> Response:
    """Start a training, unless one is running or there are too few decisions."""
    improvement, decided = pages.improvement, _count_decided(pages)
    is_refused = improvement is None or decided < MIN_DECIDED or not improvement.start(pages.desk)
    return show_improvement(pages, request, 409) if is_refused else see_other("/improve")
