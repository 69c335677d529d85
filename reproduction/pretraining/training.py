"""What the trainings of teachers and of students share: learning rates, figures and options."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.pretraining.left_out import LeftOut, QueriesAndAnchors, hold_out_some
from reproduction.pretraining.vocabularies import DOMAINS, Vocabulary
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.training.tower import WARM_UP


@dataclass(frozen=True)
class Schedule:
    """The learning rate, which rises and then falls to zero, by steps or by time.

    With `max_seconds`, the training ends after this time if the steps are not done by then.
    """

    steps: int
    learning_rate: float
    max_seconds: float = float("inf")
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self.started

    def done(self, step: int) -> float:
        """Return the fraction of the training that is done before a step."""
        return max(step / self.steps, self.seconds / self.max_seconds)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        done = self.done(step)
        rising = (done + 1 / self.steps) / WARM_UP
        return self.learning_rate * max(0.0, min(1.0, rising, (1 - done) / (1 - WARM_UP)))


class Figures:
    """The figures of the vocabularies that were left out, by the steps that were made."""

    def __init__(
        self,
        model: SentenceModel,
        left_out: Sequence[Vocabulary],
        tests: Sequence[LeftOut] | None = None,
    ) -> None:
        self.model = model
        self.left_out = left_out
        if tests is None:
            tests = [LeftOut(model, hold_out_some(each.taxonomy)) for each in left_out]
        self.tests = tests
        self.rows: list[dict[str, Any]] = []

    def measure(self, name: str | int) -> None:
        """Measure the model, and add a row for either kind of anchor."""
        for composed in (False, True):
            encoded = [[test.encode(self.model, composed)] for test in self.tests]
            self.add(name, encoded, composed)

    def add(
        self,
        name: str | int,
        encoded: Sequence[Sequence[QueriesAndAnchors]],
        composed: bool = False,
    ) -> None:
        """Add a row of the mean cosine of one or more models, given their vectors of each test."""
        found = [test.measure(own) for test, own in zip(self.tests, encoded, strict=True)]
        metrics = {
            each.name: {"domain": each.domain, **own.as_dict()}
            for each, own in zip(self.left_out, found, strict=True)
        }
        mean = {
            key: float(np.mean([getattr(each, key) for each in found]))
            for key in ("hit_at_1", "mrr")
            if found
        }
        if found:
            kind = "composed anchors" if composed else "anchors' texts"
            line = f"{name}, {kind}: Hit@1 {mean['hit_at_1']:.4f}, MRR {mean['mrr']:.4f}"
            print(line, file=sys.stderr, flush=True)
        row = {"after": name, "composed": composed, "mean": mean, "vocabularies": metrics}
        self.rows.append(row)


def save_figures(folder: Path, figures: Figures, arguments: dict[str, Any]) -> None:
    """Write the figures of the vocabularies that were left out, and the arguments of the run."""
    result = {"arguments": {name: str(value) for name, value in arguments.items()}}
    content = json.dumps({**result, "figures": figures.rows}, indent=1)
    (folder / "figures.json").write_text(content + "\n", encoding="utf-8")


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def add_common_arguments(parser: argparse.ArgumentParser, steps: int, learning_rate: float) -> None:
    """Declare the options that every training has, with its defaults."""
    parser.add_argument("vocabularies", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--without", choices=DOMAINS, action="append", default=[])
    parser.add_argument(
        "--exclude", type=Path, action="append", default=[], help="a file with a name per line"
    )
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="end the training after this time"
    )
    parser.add_argument("--learning-rate", type=float, default=learning_rate)
    parser.add_argument("--seed", type=int, default=0)
