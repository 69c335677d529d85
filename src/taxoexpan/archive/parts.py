"""What the JSON files of a model may contain; anything else is a ValueError."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from taxoexpan.config import Config, configure
from taxoexpan.files.inputs import read_regular
from taxoexpan.model_directory import CALIBRATION, CONFIG, CONTINUATION, IntactDirectory
from taxoexpan.placement.fitting.updating import TaxonomyGrowth
from taxoexpan.placement.learned.abstention import FEATURES as ABSTENTION_FEATURES
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.features import FEATURES
from taxoexpan.placement.suggesting.feedback import Rejections
from taxoexpan.training.metrics import Count
from taxoexpan.training.record import TrainingRecord

MAX_BYTES = {CONFIG: 1_000_000, CALIBRATION: 100_000_000, CONTINUATION: 2_000_000_000}
"""The number of bytes of each file that is read; a continuation lists all changes of a taxonomy."""

_NUM_ABSTENTION = len(ABSTENTION_FEATURES)
_Number = Annotated[float, Field(gt=-1e6, lt=1e6)]
_Positive = Annotated[float, Field(ge=1e-9, lt=1e6)]
_Probability = Annotated[float, Field(ge=0, le=1)]
_Triple = Annotated[list[_Number], Field(min_length=3, max_length=3)]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class _Part(_Stored):
    """A JSON file; `model` identifies the weights and the taxonomy that it belongs to."""

    model: str


class Configuration(_Part):
    """The content of `config.json`."""

    preset: Literal["best", "fast", "paper", "authors"]
    seed: Count
    dimension: Annotated[int, Field(ge=1, lt=10**6)]
    settings: Annotated[Config, BeforeValidator(configure)]
    training: TrainingRecord


class Continuation(_Part):
    """What a continued training must know: the content of `continuation.json`."""

    held_out: tuple[str, ...]
    rejections: Rejections
    growth: TaxonomyGrowth


class _Curve(_Stored):
    kind: Literal["platt", "isotonic"]
    xs: list[_Number]
    ys: list[_Number]

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        if self.kind == "platt":
            is_valid = not self.xs and len(self.ys) == 2
        else:
            in_range = all(0 <= y <= 1 for y in self.ys)
            is_valid = len(self.xs) == len(self.ys) > 0 and in_range
            is_valid = is_valid and self.xs == sorted(self.xs)
        if not is_valid:
            raise ValueError(f"the points of a curve of the kind {self.kind} are wrong")
        return self


class _Reliability(_Stored):
    confidence: Annotated[list[_Probability], Field(min_length=1)]
    right: list[bool]

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if len(self.confidence) != len(self.right):
            raise ValueError("there are not as many truths as confidences")
        return self


class _Calibration(_Stored):
    temperature: Annotated[float, Field(ge=0.01, le=100)]
    first: _Curve
    later: _Curve
    reliability: _Reliability


class _Abstention(_Stored):
    center: Annotated[list[_Number], Field(min_length=_NUM_ABSTENTION, max_length=_NUM_ABSTENTION)]
    scale: Annotated[list[_Positive], Field(min_length=_NUM_ABSTENTION, max_length=_NUM_ABSTENTION)]
    weights: Annotated[
        list[_Number], Field(min_length=_NUM_ABSTENTION + 1, max_length=_NUM_ABSTENTION + 1)
    ]
    threshold: _Number


class _Prior(_Stored):
    weights: _Triple
    rate: Annotated[float, Field(gt=0, lt=1)]


class _Calibrators(_Part):
    calibration: _Calibration | None
    abstention: _Abstention | None
    duplicates: _Triple | None
    fusion: dict[str, _Number] | None
    joint_priors: list[_Prior] | None
    leaf_bonus: _Number

    @model_validator(mode="after")
    def _has_all_weights(self) -> Self:
        if self.fusion is not None and {*self.fusion} != {*FEATURES}:
            raise ValueError("the features of the fusion are others")
        return self


def read_configuration(directory: IntactDirectory) -> Configuration:
    """Read the settings and the record of the training."""
    return _read(directory, CONFIG, Configuration)


def read_calibrators(directory: IntactDirectory) -> Calibrators:
    """Read what was learned from the held-out concepts."""
    return Calibrators.from_dict(_read(directory, CALIBRATION, _Calibrators).model_dump())


def read_continuation(directory: IntactDirectory) -> Continuation:
    """Read what a continued training must know."""
    return _read(directory, CONTINUATION, Continuation)


_Content = TypeVar("_Content", Configuration, _Calibrators, Continuation)


def _read(directory: IntactDirectory, part: str, schema: type[_Content]) -> _Content:
    """Read a file by its schema; refuse one that names another model."""
    try:
        content = schema.model_validate_json(read_regular(directory.path / part, MAX_BYTES[part]))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"][:4])) or "content"
        raise ValueError(f"{part}: {place[:80]}: {first['msg']}") from None
    if content.model != directory.identity:
        raise ValueError(f"{part} belongs to another model")
    return content
