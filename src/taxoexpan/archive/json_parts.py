"""What the JSON files of a model may contain; anything else is a ValueError."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from taxoexpan.config import Config, configure
from taxoexpan.model_directory import CALIBRATION, CONFIG, CONTINUATION, IntactDirectory
from taxoexpan.placement.fitting.taxonomy_growth import TaxonomyGrowth
from taxoexpan.placement.learned.abstention import FEATURES as ABSTENTION_FEATURES
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.pair_features import FEATURES
from taxoexpan.placement.suggesting.feedback import Rejections
from taxoexpan.training.training_record import TrainingRecord

MAX_BYTES = {CONFIG: 1_000_000, CALIBRATION: 100_000_000, CONTINUATION: 2_000_000_000}
"""The number of bytes of each file that is read; a continuation lists all changes of a taxonomy."""

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Number = Annotated[float, Field(gt=-1e6, lt=1e6)]
_Positive = Annotated[float, Field(ge=1e-9, lt=1e6)]
_Probability = Annotated[float, Field(ge=0, le=1)]
_Measure = Annotated[float, Field(ge=0, lt=1e12)]
_Name = Annotated[str, Field(max_length=10_000)]
_Ids = list[str]
_Relations = list[Annotated[list[str], Field(min_length=2, max_length=2)]]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class _Metrics(_Stored):
    queries: _Count
    mr: _Measure
    hit_at_1: _Probability
    hit_at_3: _Probability
    hit_at_10: _Probability
    mrr: _Probability
    reciprocal_rank: _Probability


class _Training(_Stored):
    concepts: _Count
    relations: _Count
    taxonomy_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    encoder: _Name
    epochs: _Count
    best_epoch: _Count
    interrupted: bool
    loss: Annotated[float, Field(gt=-1e12, lt=1e12)]
    validation: _Metrics | None
    seconds: _Measure
    versions: dict[Literal["taxoexpan", "torch", "numpy", "wordllama"], _Name]
    python: _Name
    machine: _Name
    tower_epochs: _Count | None
    tower_best_epoch: _Count | None

    @model_validator(mode="after")
    def _has_all_versions(self) -> Self:
        if len(self.versions) < 4:
            raise ValueError("a version is missing")
        return self


class _Configuration(_Stored):
    model: str
    preset: Literal["best", "fast", "paper", "authors"]
    seed: _Count
    dimension: Annotated[int, Field(ge=1, lt=10**6)]
    settings: dict[str, Any]
    training: _Training


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


_NUM_ABSTENTION = len(ABSTENTION_FEATURES)


class _Abstention(_Stored):
    center: Annotated[list[_Number], Field(min_length=_NUM_ABSTENTION, max_length=_NUM_ABSTENTION)]
    scale: Annotated[list[_Positive], Field(min_length=_NUM_ABSTENTION, max_length=_NUM_ABSTENTION)]
    weights: Annotated[
        list[_Number], Field(min_length=_NUM_ABSTENTION + 1, max_length=_NUM_ABSTENTION + 1)
    ]
    threshold: _Number


class _Prior(_Stored):
    weights: Annotated[list[_Number], Field(min_length=3, max_length=3)]
    rate: Annotated[float, Field(gt=0, lt=1)]


class _Calibrators(_Stored):
    model: str
    calibration: _Calibration | None
    abstention: _Abstention | None
    duplicates: Annotated[list[_Number], Field(min_length=3, max_length=3)] | None
    fusion: dict[str, _Number] | None
    joint_priors: list[_Prior] | None
    leaf_bonus: _Number

    @model_validator(mode="after")
    def _has_all_weights(self) -> Self:
        if self.fusion is not None and {*self.fusion} != {*FEATURES}:
            raise ValueError("the features of the fusion are others")
        return self


class _Rejections(_Stored):
    parents: dict[str, _Ids]
    merges: dict[str, _Ids]


class _Growth(_Stored):
    added: _Ids
    removed: _Ids
    changed: _Ids
    relations_added: _Relations
    relations_removed: _Relations


class _Continuation(_Stored):
    model: str
    held_out: _Ids
    rejections: _Rejections
    growth: _Growth


@dataclass(frozen=True)
class Configuration:
    """The content of `config.json`."""

    preset: str
    seed: int
    dimension: int
    settings: Config
    training: TrainingRecord


@dataclass(frozen=True)
class Continuation:
    """What a continued training must know: the content of `continuation.json`."""

    held_out: tuple[str, ...]
    rejections: Rejections
    growth: TaxonomyGrowth


def read_configuration(directory: IntactDirectory) -> Configuration:
    """Read the settings and the record of the training."""
    fields = _validated(directory, CONFIG, _Configuration)
    training = TrainingRecord.from_dict(fields.training.model_dump())
    settings = configure(fields.settings)
    return Configuration(fields.preset, fields.seed, fields.dimension, settings, training)


def read_calibrators(directory: IntactDirectory) -> Calibrators:
    """Read what was learned from the held-out concepts."""
    return Calibrators.from_dict(_validated(directory, CALIBRATION, _Calibrators).model_dump())


def read_continuation(directory: IntactDirectory) -> Continuation:
    """Read what a continued training must know."""
    fields: Mapping[str, Any] = _validated(directory, CONTINUATION, _Continuation).model_dump()
    return Continuation(
        tuple(fields["held_out"]),
        Rejections.from_dict(fields["rejections"]),
        TaxonomyGrowth.from_dict(fields["growth"]),
    )


_Part = TypeVar("_Part", _Configuration, _Calibrators, _Continuation)


def _validated(directory: IntactDirectory, part: str, schema: type[_Part]) -> _Part:
    """Read a file by its schema; refuse one that names another model."""
    try:
        fields = schema.model_validate(directory.read_json(part, MAX_BYTES[part]))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"][:4])) or "content"
        raise ValueError(f"{part}: {place[:80]}: {first['msg']}") from None
    except ValueError as error:
        raise ValueError(f"{part}: {error}") from None
    if fields.model != directory.identity:
        raise ValueError(f"{part} belongs to another model")
    return fields
