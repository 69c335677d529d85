"""Improving the suggestions: a training from the decisions in another process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Lock, Thread

from taxoexpan.desk.review.desk import ReviewDesk, model_name
from taxoexpan.desk.store.decisions import Status
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.errors import ModelError
from taxoexpan.files import recover_output, unused_name
from taxoexpan.model import TaxoExpan
from taxoexpan.taxonomy import Concept


class Phase(Enum):
    """Where a training is."""

    IDLE = "idle"
    RUNNING = "running"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The phase of the last training, when it began, and its last message.

    `results` say what a new model changed. `desk` has the newest model, also after a failure.
    """

    phase: Phase = Phase.IDLE
    began: float = 0.0
    message: str = ""
    results: tuple[str, ...] = ()
    desk: ReviewDesk | None = None

    @property
    def is_running(self) -> bool:
        """Whether a training is running."""
        return self.phase is Phase.RUNNING

    @property
    def seconds(self) -> float:
        """The time since the training began."""
        return time.monotonic() - self.began


@dataclass
class Improvement:
    """Trainings that continue from the model of the review, at most one at a time."""

    model: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    listed: Sequence[Concept]
    device: str = "auto"
    glossary: Path | None = None
    progress: TrainingProgress = TrainingProgress()
    """It is replaced as a whole, so that a page never shows parts of two trainings."""
    _lock: Lock = field(default_factory=Lock)
    _started: tuple[Path, Popen[str], Thread] | None = None

    def start(self, desk: ReviewDesk) -> bool:
        """Start a training and return; return False if one is running."""
        with self._lock:
            if self.progress.is_running:
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
            now = time.monotonic()
            self.progress = TrainingProgress(Phase.RUNNING, began=now, desk=self.progress.desk)
            thread = Thread(target=self._run, args=[desk, child, output])
            self._started = output, child, thread
            thread.start()
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
                    self._show(line.strip() or self.progress.message)
            if child.returncode:
                problem = f"the training ended with status {child.returncode}"
                raise ModelError(self.progress.message or problem)
            self._show("the model is trained; its proposals are computed")
            improved, results = self._adopt(desk, output)
            self.progress = TrainingProgress(Phase.DONE, results=results, desk=improved)
        except Exception as error:  # it would be lost in this thread
            message = str(error) or type(error).__name__
            self.progress = replace(self.progress, phase=Phase.FAILED, message=message)

    def _show(self, message: str) -> None:
        """Show a message of the running training."""
        self.progress = replace(self.progress, message=message)

    def _adopt(self, desk: ReviewDesk, output: Path) -> tuple[ReviewDesk, tuple[str, ...]]:
        """Load a new model, replace the proposals by its own, and say what has changed."""
        todo = QueueQuery(statuses=[Status.TODO], listed=desk.listed)
        before = {each.key: each.proposals[0].target for each in desk.store.first_proposals(todo)}
        model = TaxoExpan.load(output, self.device)
        improved = desk.with_model(model, model_name(output, self.glossary), self.listed)
        after = {each.key: each.proposals[0].target for each in desk.store.first_proposals(todo)}
        changed = sum(before.get(key) != first for key, first in after.items())
        old = desk.evidence.training.validation
        new = model.training.validation
        results = [f"{changed:,} of {len(after):,} concepts to do have another first proposal."]
        if old and new and old.queries == new.queries:  # the same concepts are held out
            hits = f"{old.hit_at_1:.3f} before, {new.hit_at_1:.3f} now"
            results.append(f"Hit@1 on the {new.queries:,} held-out concepts: {hits}.")
        return improved, (*results, f"Start the next review with {output}.")
