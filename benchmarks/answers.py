"""What models answered to concepts whose places are known, as files, and what that comes to."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import FormatError
from taxoexpan.files import write_whole
from taxoexpan.placement.confidence import BIN_COUNT, Reliability

Floats = NDArray[np.float64]

ASKED = (0.9, 0.8, 0.7, 0.6, 0.5)
"""How many of the accepted are asked to be right."""
DRAWS = 1000


@dataclass(frozen=True)
class Answers:
    """One model's first suggestions: how sure it was, and which were right.

    `scores` are the bare softmax's shares. `thresholds` are the confidences from which on the model
    itself accepts, for every precision of `ASKED`; none where its held-out leaves show none.
    """

    name: str
    seed: int
    queries: tuple[str, ...]
    confidence: tuple[float, ...]
    scores: tuple[float, ...]
    right: tuple[bool, ...]
    thresholds: tuple[float | None, ...]
    training: dict[str, Any]

    @property
    def reliability(self) -> Reliability:
        """How far the confidence can be trusted."""
        return Reliability.of(np.array(self.confidence), np.array(self.right))

    @property
    def bare(self) -> Reliability:
        """How far the scores could be, if they were taken for confidences."""
        return Reliability.of(np.array(self.scores), np.array(self.right))

    def accepted(self, threshold: float | None) -> tuple[float, float | None]:
        """The share of the queries that a threshold accepts, and of these the share right."""
        if threshold is None:
            return 0.0, None
        taken = np.array(self.confidence) >= threshold
        right = float(np.array(self.right)[taken].mean()) if taken.any() else None
        return float(taken.mean()), right


@dataclass(frozen=True)
class Abstention:
    """What one model said of a branch that it never saw, and of leaves of all else.

    `outside` are the log-odds of a good place for concepts of the branch, which has `size` in all;
    `inside` those of the leaves. `kept` says which concepts of the branch have a parent elsewhere,
    that remains. Below `least` the model says that there is no good place.
    """

    name: str
    seed: int
    size: int
    outside: tuple[float, ...]
    kept: tuple[bool, ...]
    inside: tuple[float, ...]
    least: float
    training: dict[str, Any]

    def area(self, lost: bool = False) -> float | None:
        """The area under the curve of "has no good place"; of those without a parent, if `lost`."""
        outside = np.array(self.outside)[~np.array(self.kept)] if lost else self.outside
        return area_between(np.array(outside), np.array(self.inside))

    @property
    def told(self) -> tuple[float, float]:
        """The share that is said to have no place: of the branch, and, mistaken, of the leaves."""
        both = (np.array(odds) < self.least for odds in (self.outside, self.inside))
        outside, inside = (float(told.mean()) for told in both)
        return outside, inside


KINDS: dict[str, type[Answers] | type[Abstention]] = {
    "confidence": Answers,
    "abstention": Abstention,
}


def area_between(low: Floats, high: Floats) -> float | None:
    """How likely one of the first is lower than one of the second; of two alike, a half."""
    if not len(low) or not len(high):
        return None
    ordered = np.sort(high)
    above = len(high) - np.searchsorted(ordered, low, side="right")
    alike = len(high) - np.searchsorted(ordered, low, side="left") - above
    return float((above + alike / 2).mean() / len(high))


def chance(confidence: Sequence[float], draws: int = DRAWS, seed: int = 0) -> float:
    """The mean calibration error if each query were right as often as its confidence says.

    Even then a bin of few queries is off by luck.
    """
    sure = np.array(confidence, dtype=np.float64)
    bins = np.eye(BIN_COUNT)[np.minimum((sure * BIN_COUNT).astype(int), BIN_COUNT - 1)]
    right = np.random.default_rng(seed).random((draws, len(sure))) < sure
    return float(np.abs((right - sure) @ bins).sum(axis=1).mean() / len(sure))


def file_name(name: str, seed: int) -> str:
    """The name of the file of one model's answers."""
    plain = re.sub(r"[^\w.-]+", "_", name).strip("_")
    return f"{plain}-{seed}.json"


def keep(found: Answers | Abstention, folder: Path) -> Path:
    """Write a file of its own, in place of an earlier one of the same test and seed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(found.name, found.seed)
    kind = next(name for name, each in KINDS.items() if isinstance(found, each))
    write_whole({path: (json.dumps({"kind": kind, **asdict(found)}) + "\n").encode()}, force=True)
    return path


def read_kept(path: Path) -> Answers | Abstention:
    """What `keep` wrote."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        made = KINDS[fields.pop("kind")]
        told: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields.items()
        }
        return made(**told)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"holds no answers ({error!r}); make it with benchmarks/trust.py"
        raise FormatError(path, message) from None


def by_test(found: Sequence[Answers]) -> dict[str, list[Answers]]:
    """The answers of all seeds of each test."""
    tests: dict[str, list[Answers]] = {}
    for each in found:
        tests.setdefault(each.name, []).append(each)
    return tests


def tables(found: Sequence[Answers | Abstention]) -> str:
    """All figures as Markdown."""
    answers = [each for each in found if isinstance(each, Answers)]
    abstentions = [each for each in found if isinstance(each, Abstention)]
    parts = [confidence_table(answers)] if answers else []
    parts += [acceptance_table(name, those) for name, those in by_test(answers).items()]
    parts += [abstention_table(abstentions)] if abstentions else []
    return "\n\n".join(parts)


def confidence_table(found: Sequence[Answers]) -> str:
    """The expected calibration errors, a row a model."""
    heads = ("test", "seed", "queries", "right", "calibration error", "chance", "bare softmax")
    rows = [
        (
            each.name,
            str(each.seed),
            f"{len(each.queries):,}",
            short(float(np.mean(each.right))),
            short(each.reliability.error, 3),
            short(chance(each.confidence), 3),
            short(each.bare.error, 3),
        )
        for each in found
    ]
    return markdown(heads, rows)


def acceptance_table(name: str, found: Sequence[Answers]) -> str:
    """What each model's own thresholds accept of one test, and how much of it is right.

    The mean accepted counts a model that accepts nothing as 0; the mean right leaves it out.
    """
    rows = []
    for place, precision in enumerate(ASKED):
        each = [answers.accepted(answers.thresholds[place]) for answers in found]
        right = [share for _, share in each if share is not None]
        mean = float(np.mean([share for share, _ in each])), _mean(right)
        rows.append([f"{precision:.0%}", _taken(*mean), *(_taken(*those) for those in each)])
    return markdown([f"{name}: asked", "mean", *(f"seed {each.seed}" for each in found)], rows)


def abstention_table(found: Sequence[Abstention]) -> str:
    """How well concepts of branches that were taken out are told from leaves of the rest."""
    heads = ["branch taken out", "seed", "concepts", "asked", "no parent left"]
    heads += ["area", "area, no parent left", "told", "mistaken"]
    rows = [
        (
            each.name,
            str(each.seed),
            f"{each.size:,}",
            f"{len(each.outside):,} and {len(each.inside):,}",
            f"{1 - np.mean(each.kept):.0%}",
            short(each.area()),
            short(each.area(lost=True)),
            f"{each.told[0]:.0%}",
            f"{each.told[1]:.0%}",
        )
        for each in found
    ]
    return markdown(heads, rows)


def short(figure: float | None, digits: int = 2) -> str:
    """A share without its zero: .25."""
    return "–" if figure is None else f"{figure:.{digits}f}".removeprefix("0")


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _mean(figures: Sequence[float]) -> float | None:
    return float(np.mean(figures)) if figures else None


def _taken(share: float, right: float | None) -> str:
    return "none" if right is None else f"{share:.1%}, {short(right)}"
