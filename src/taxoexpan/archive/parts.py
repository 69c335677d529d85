"""The allowed contents of a model's JSON files; other contents raise a ValueError."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from taxoexpan.config import Config, configure
from taxoexpan.files.inputs import read_regular
from taxoexpan.model_directory import CALIBRATION, CONFIG, CONTINUATION, IntactDirectory
from taxoexpan.placement.fitting.updating import TaxonomyGrowth
from taxoexpan.placement.learned.abstention import AbstentionModel
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.confidence import Calibration
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, SignalFusion
from taxoexpan.placement.suggesting.feedback import Rejections
from taxoexpan.training.metrics import Count
from taxoexpan.training.record import TrainingRecord

MAX_BYTES = {CONFIG: 1_000_000, CALIBRATION: 100_000_000, CONTINUATION: 2_000_000_000}
"""The number of bytes of each file that is read; a continuation lists all changes of a taxonomy."""

MAX_NUMBER = 1e6
"""The largest number that a calibration may have."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class _Part(_Stored):
    """A JSON file; `model` identifies the weights and the taxonomy of its model."""

    model: str


class Configuration(_Part):
    """The content of `config.json`."""

    preset: Literal["best", "fast", "thorough", "paper", "authors"]
    seed: Count
    dimension: Annotated[int, Field(ge=1, lt=10**6)]
    settings: Annotated[Config, BeforeValidator(configure)]
    training: TrainingRecord


class Continuation(_Part):
    """The content of `continuation.json`, which a continued training needs."""

    held_out: tuple[str, ...]
    rejections: Rejections
    growth: TaxonomyGrowth


class _Calibrators(_Part):
    """The content of `calibration.json`."""

    calibration: Calibration | None
    abstention: AbstentionModel | None
    duplicates: tuple[float, float, float] | None
    fusion: dict[str, float] | None
    joint_priors: tuple[NewParentPrior, ...] | None

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        """Refuse numbers that are too large, and wrong numbers of weights or points."""
        if any(abs(number) > MAX_NUMBER for number in _numbers(self.model_dump())):
            raise ValueError("a number is too large")
        if self.fusion is not None and {*self.fusion} != {*PAIR_FEATURES}:
            raise ValueError("the features of the fusion are others")
        if self.calibration is not None and not _has_points(self.calibration):
            raise ValueError("the points of the calibration are wrong")
        return self


def _numbers(value: object) -> Iterator[float]:
    """Yield all numbers in nested fields."""
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)
    elif isinstance(value, float):
        yield value


def _has_points(calibration: Calibration) -> bool:
    confidence, right = calibration.reliability.confidence, calibration.reliability.right
    is_valid = 0.01 <= calibration.temperature <= 100 and len(confidence) == len(right) > 0
    curves = [calibration.first, calibration.later]
    if calibration.branches is not None:
        theirs = calibration.branches.reliability
        is_valid &= len(theirs.confidence) == len(theirs.right)
        confidence += theirs.confidence
        curves.append(calibration.branches.curve)
    for curve in curves:
        counts = (len(curve.xs), len(curve.ys))
        if curve.kind == "isotonic":
            confidence += curve.ys
            is_valid &= counts[0] == counts[1] > 0
        else:
            is_valid &= curve.kind == "platt" and counts == (0, 2)
    return is_valid and all(0 <= each <= 1 for each in confidence)


Content = TypeVar("Content", bound=_Part)


def read_calibrators(directory: IntactDirectory) -> Calibrators:
    """Read the calibrators, which were learned from the held-out concepts."""
    stored = read_part(directory, CALIBRATION, _Calibrators)
    return Calibrators(
        stored.calibration,
        stored.abstention,
        stored.duplicates,
        None if stored.fusion is None else SignalFusion.from_mapping(stored.fusion),
        stored.joint_priors,
    )


def read_part(directory: IntactDirectory, part: str, schema: type[Content]) -> Content:
    """Read a file with a schema; refuse a file that names another model."""
    try:
        content = schema.model_validate_json(read_regular(directory.path / part, MAX_BYTES[part]))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"][:4])) or "content"
        raise ValueError(f"{part}: {place[:80]}: {first['msg']}") from None
    if content.model != directory.identity:
        raise ValueError(f"{part} belongs to another model")
    return content
