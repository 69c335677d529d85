"""The options that several commands and functions share, and the options of `expand`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError
from taxoexpan.options import (
    FRACTION,
    NATURAL,
    PATH,
    POSITIVE,
    RANGE,
    SEED,
    Kind,
    OptionGroup,
    argument,
    option,
    output_option,
    repeated,
    switch,
)

COLUMNS = Kind("a list of columns", str, lambda value: isinstance(value, str | Mapping))
SETTING = Kind("NAME=VALUE", str, lambda value: isinstance(value, str | tuple))

ALL_AND_THRESHOLD = "all suggestions are accepted, so a threshold has no meaning; omit it", "all"


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(OptionGroup):
    """How a taxonomy file is read."""

    format: str | None = option(
        "format of every taxonomy file that is read: skos, owl, obo, obographs, json, "
        "openfoodfacts, wordnet, terms, paths, edges or rows (default: detected); see the guide to "
        "file formats",
        metavar="NAME",
    )
    language: str | None = option(
        "language of the labels, such as en, if a file has several (default: the most frequent "
        "one)",
        metavar="TAG",
    )
    columns: str | Mapping[str, str | int] | None = option(
        "columns of a table, by header or number: --columns "
        'id="Unique ID",label=Name,parent=3; the names are id, label, parent, parent_label, child, '
        "path, definition, synonyms, deprecated, level1, level2, … (default: by the headers)",
        kind=COLUMNS,
        metavar="NAME=COLUMN[,…]",
    )
    sheet: str | None = option("sheet of an Excel file (default: the first)", metavar="NAME")
    instances: bool = switch("read WordNet's instance hypernyms as relations")


@dataclass(frozen=True, kw_only=True)
class TaxonomyOptions(ReadingOptions):
    """A taxonomy file, and how it is read."""

    taxonomy: Path = argument("TAXONOMY", "a taxonomy file, or - for standard input")


@dataclass(frozen=True, kw_only=True)
class NewConceptOptions(OptionGroup):
    """A list of new concepts."""

    new: Path = argument(
        "NEW",
        "new concepts: one label per line, or a table with the columns label, id, definition, "
        "synonyms",
    )


@dataclass(frozen=True, kw_only=True)
class DeviceOptions(OptionGroup):
    """Where the computations run."""

    device: str = option(
        "auto, cpu, cuda, cuda:N or mps (default: auto, which prefers cuda, then mps)",
        "auto",
        metavar="DEVICE",
    )


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(OptionGroup):
    """The encoder, and single settings of a preset."""

    features: str | None = option(
        "encoder for names and definitions: static, vectors:FILE, transformer:NAME_OR_PATH, "
        "skipgram:CORPUS, several joined with +, or auto (the best one that is installed; default "
        "of the preset best)",
        metavar="ENCODER",
    )
    settings: tuple[str | tuple[str, Any], ...] = repeated(
        "change one setting of the preset, such as hidden_dim=64; can be repeated",
        SETTING,
        metavar="NAME=VALUE",
        flags=("--set",),
    )


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(FeatureOptions, DeviceOptions):
    """How a model is trained."""

    preset: str = option(
        "best (default), fast (best with static vectors), paper (as published) or authors (as in "
        "the authors' code)",
        "best",
    )
    seed: int | None = option("random seed (default: 0)", None, SEED)
    epochs: int | None = option(
        "maximum number of epochs (default: as in the preset)", None, POSITIVE
    )
    quiet: bool = switch("show no progress")


@dataclass(frozen=True, kw_only=True)
class GlossaryOptions(OptionGroup):
    """Where definitions are looked up."""

    glossary: Path | None = option(
        "look up definitions of concepts that have none: TSV (title, text), JSON lines or "
        "Wikipedia's dump of abstracts; the taxonomy file is not changed",
        kind=PATH,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(OptionGroup):
    """How new concepts are placed, and a report on it."""

    together: bool = switch(
        "place all new concepts jointly, so that one can become the parent of another; use it for "
        "related concepts. Each gets one parent and no confidence"
    )
    report: Path | None = option(
        "also write a report to read in a browser", kind=PATH, metavar="HTML"
    )


@dataclass(frozen=True, kw_only=True)
class FormulaOptions(OptionGroup):
    """What is done with texts that a spreadsheet would compute."""

    keep_formulas: bool = switch(
        "write texts that start with =, +, - or @ as they are into CSV files (default: with an "
        "apostrophe, so that no spreadsheet computes them)"
    )


@dataclass(frozen=True, kw_only=True)
class IdOptions(OptionGroup):
    """How new concepts without an id get one."""

    id_start: int | None = option(
        "the first number for new ids, if ids are numbered (default: after the last one)",
        None,
        NATURAL,
        metavar="NUMBER",
    )
    id_range: tuple[int, int] | None = option(
        "the numbers to take new ids from; it is an error if they do not suffice",
        None,
        RANGE,
        metavar="FIRST-LAST",
    )
    id_template: str | None = option(
        "how to make new ids, with the fields {number}, {slug}, {uuid} and {parent}, for example "
        "'FOOD:{number:07}' or '{parent}-{number}' (default: in the style of the file)",
        metavar="TEMPLATE",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.id_start is not None and self.id_range is not None:
            message = "a first number and a range both say where the numbers of ids begin"
            raise ConfigurationError(f"{message}; give one of them", "id_range")


@dataclass(frozen=True, kw_only=True)
class AcceptanceOptions(IdOptions):
    """Which suggestions are applied."""

    top_k: int = option("number of parents to accept per new concept", 1, POSITIVE)
    min_score: float | None = option(
        "accept only parents with at least this score (softmax probability, 0 to 1)", None, FRACTION
    )
    min_confidence: float | None = option(
        "accept only parents with at least this confidence (calibrated probability, 0 to 1)",
        None,
        FRACTION,
    )
    all: bool = switch("also add the concepts that are marked as undecided")
    allow_moves: bool = switch(
        "if the label of an existing child of the accepted parent ends in the label of the new "
        "concept, move this child below the new concept (oat milk below milk)"
    )
    allow_merges: bool = switch(
        "if a new concept is probably a synonym of an existing concept, add its label as a synonym "
        "there (default: do not add the new concept)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.all and (self.min_score, self.min_confidence) != (None, None):
            raise ConfigurationError(*ALL_AND_THRESHOLD)


@dataclass(frozen=True, kw_only=True)
class ExpandOptions(
    TaxonomyOptions,
    NewConceptOptions,
    AcceptanceOptions,
    TrainingOptions,
    GlossaryOptions,
    PlacementOptions,
    FormulaOptions,
):
    """How a taxonomy file is expanded: inputs, outputs, training, and what is accepted."""

    output: Path = output_option("the taxonomy file to write, or - for standard output", MISSING)
    force: bool = switch("overwrite existing outputs")
    all: bool = switch(
        "add all new concepts (default: only concepts that have a suitable parent and a confidence "
        "of 0.5 or more; the others are undecided in the file of suggestions)"
    )
    accept_at_precision: float | None = option(
        "accept only above a confidence threshold, chosen so that this fraction of the accepted "
        "suggestions is right on held-out concepts; not with --min-confidence",
        None,
        FRACTION,
        metavar="FRACTION",
    )
    suggestions: Path | None = option(
        "file for the ranked parents, accepted and undecided ones (default: next to OUT, as "
        "OUT.suggestions.csv)",
        kind=PATH,
        metavar="CSV",
    )
    model: Path | None = option("also save the model", kind=PATH, metavar="DIR")

    def __post_init__(self) -> None:
        super().__post_init__()
        precision, confidence = self.accept_at_precision, self.min_confidence
        if self.all and precision is not None:
            raise ConfigurationError(*ALL_AND_THRESHOLD)
        if precision is not None and confidence is not None:
            message = "a minimum confidence and a precision both set a threshold; give one of them"
            raise ConfigurationError(message, "accept_at_precision")
        if self.together and (self.allow_moves or self.allow_merges):
            message = "placing together proposes no moves and no merges; do not allow them"
            raise ConfigurationError(message, "together")
        if self.together and (precision is not None or confidence):
            message = "placing together computes no confidence, so it cannot have a threshold"
            raise ConfigurationError(f"{message}; omit one of the two", "together")
