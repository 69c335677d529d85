"""The allowed contents of a model's JSON files; other contents raise a ValueError."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from taxoexpan.config import Config, configure
from taxoexpan.decisions.feedback import Rejections
from taxoexpan.files.inputs import read_regular
from taxoexpan.model_directory import CALIBRATION, Count, IntactDirectory
from taxoexpan.placement.fitting.updating import TaxonomyGrowth
from taxoexpan.placement.learned.abstention import AbstentionModel
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.confidence import Calibration
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, SignalFusion
from taxoexpan.training.record import TrainingRecord


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
    """The content of `continuation.json`, which a continued training needs.

    `from_file` says whether the taxonomy came from a file, which the model does not store.
    """

    held_out: tuple[str, ...]
    rejections: Rejections
    growth: TaxonomyGrowth
    from_file: bool = False


class _Calibrators(_Part):
    """The content of `calibration.json`."""

    calibration: Calibration | None
    abstention: AbstentionModel | None
    duplicates: tuple[float, float, float] | None
    fusion: dict[str, float] | None
    joint_priors: tuple[NewParentPrior, ...] | None

    @field_validator("fusion")
    @classmethod
    def _has_all_features(cls, fusion: dict[str, float] | None) -> dict[str, float] | None:
        if fusion is not None and {*fusion} != {*PAIR_FEATURES}:
            raise ValueError("the features of the fusion are others")
        return fusion


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
        content = schema.model_validate_json(read_regular(directory.path / part))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"][:4])) or "content"
        raise ValueError(f"{part}: {place[:80]}: {first['msg']}") from None
    if content.model != directory.identity:
        raise ValueError(f"{part} belongs to another model")
    return content
