"""The options that several commands and functions share, and the options of `expand`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import (
    FRACTION,
    NATURAL,
    PATH,
    POSITIVE,
    RANGE,
    SEED,
    OptionGroup,
    OptionKind,
    argument,
    option,
    output_option,
    repeated,
    switch,
)

COLUMN_CHOICE = OptionKind(
    'a text such as "id=Key,label=Name", or a dictionary',
    str,
    lambda value: isinstance(value, str | Mapping),
)
SEPARATOR = OptionKind(
    "a text that is not empty", str, lambda value: isinstance(value, str) and bool(value)
)
SETTING = OptionKind("NAME=VALUE", str, lambda value: isinstance(value, str | tuple))


def _all_with_threshold() -> ConfigurationError:
    problem = "all suggestions are accepted, so a threshold has no meaning"
    return ConfigurationError(problem, fix="omit it", option="all")


@dataclass(frozen=True, kw_only=True)
class QuietOptions(OptionGroup):
    """The option that hides notes."""

    quiet: bool = switch("hide progress and notes; warnings and errors are still shown")


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(OptionGroup):
    """The options for reading a taxonomy file."""

    format: str | None = option(
        "format of the input taxonomy: skos, owl, obo, obographs, json, openfoodfacts, wordnet, "
        "terms (the two files of the paper's data), paths (a table with one path per row), edges "
        "(one relation per row), rows (one concept per row) or outline (an indented or Markdown "
        "list) (default: detected automatically)",
        metavar="NAME",
    )
    language: str | None = option(
        "language tag of the labels to use, such as en, if the file has labels in several "
        "languages (default: the most frequent language)",
        metavar="TAG",
    )
    columns: str | Mapping[str, str | int] | None = option(
        'columns of a table, given by header or by number from 1, for example id="Unique '
        'ID",label=Name,parent=3; the fields are id, label, parent, parent_label, child, path, '
        "definition, synonyms, deprecated, level1, level2, … (default: inferred from the "
        "headers)",
        kind=COLUMN_CHOICE,
        metavar="NAME=COLUMN[,…]",
    )
    codes: str | None = option(
        "column with hierarchical codes, such as 01, 0101 and 010121, which state the parents "
        "(default: the ids, if nearly all begin with another and no column has parents)",
        metavar="COLUMN",
    )
    separator: str | None = option(
        "text between several parents or synonyms in a cell of a table, or between the labels of a "
        "path, such as ', ' (default: recognized from the cells)",
        kind=SEPARATOR,
        metavar="TEXT",
    )
    sheet: str | None = option(
        "sheet of an Excel file (default: the first sheet, or if it is not a taxonomy, the other "
        "one with the most relations)",
        metavar="NAME",
    )
    instances: bool = switch(
        "for WordNet files: also read instance hypernyms (Einstein, physicist) as relations"
    )


@dataclass(frozen=True, kw_only=True)
class TaxonomyOptions(ReadingOptions):
    """A taxonomy file, and the options for reading it."""

    taxonomy: Path = argument("TAXONOMY", "taxonomy file, or - for standard input")


@dataclass(frozen=True, kw_only=True)
class NewConceptOptions(OptionGroup):
    """A list of new concepts."""

    new: Path = argument(
        "NEW",
        "file with the new concepts: one label per line, or a table with a column named label "
        "and the optional columns id, definition and synonyms",
    )


@dataclass(frozen=True, kw_only=True)
class DeviceOptions(OptionGroup):
    """The device for the computations."""

    device: str = option(
        "device for computations: auto, cpu, cuda, cuda:N or mps (default: auto, which uses cuda "
        "if available, then mps, then cpu)",
        "auto",
        metavar="DEVICE",
    )


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(OptionGroup):
    """The encoder, and single settings of a preset."""

    features: str | None = option(
        "encoder for names and definitions: pretrained (the package's own), large (a better and "
        "slower one, of which a part is installed separately), static (included word vectors), "
        "vectors:FILE (word vectors in a file) or transformer:NAME_OR_PATH (a sentence "
        "transformer); join several with + (default: set by the preset)",
        metavar="ENCODER",
    )
    settings: tuple[str | tuple[str, Any], ...] = repeated(
        "override a setting, for example hidden_dim=64; can be repeated",
        SETTING,
        metavar="NAME=VALUE",
        flags=("--set",),
    )


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(FeatureOptions, DeviceOptions, QuietOptions):
    """The options for training a model."""

    preset: str = option(
        "best (default), fast (no network), thorough (trains much longer), paper (settings of the "
        "paper) or authors (settings of the authors' code)",
        "best",
    )
    seed: int | None = option("random seed (default: 0)", None, SEED)
    epochs: int | None = option(
        "maximum number of epochs (default: set by the preset)", None, POSITIVE
    )


@dataclass(frozen=True, kw_only=True)
class GlossaryOptions(OptionGroup):
    """The glossary in which definitions are looked up."""

    glossary: Path | None = option(
        "file in which missing definitions are looked up: TSV (title, text) or JSON Lines; the "
        "model uses these definitions, but they are not written to a taxonomy",
        kind=PATH,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class SuggestOptions(OptionGroup):
    """The options of a ranking, which the command line, Python, Ray and the services share."""

    top_k: int = option("number of parents to suggest per concept", 5, POSITIVE)
    explain: bool = switch(
        "explain the first suggestion of each concept, in the column why; JSON also gets the "
        "underlying numbers",
        flags=("--evidence",),
    )

    @classmethod
    def of(cls, options: SuggestOptions) -> SuggestOptions:
        """Return only these options of a command."""
        return cls(**{each.name: getattr(options, each.name) for each in fields(cls)})


SUGGEST_DEFAULTS = SuggestOptions()


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(OptionGroup):
    """The options for placing new concepts, and for a report on them."""

    together: bool = switch(
        "place all new concepts jointly, so that a new concept can become the parent of another; "
        "useful if the new concepts are related. Suggests one parent per concept, without a "
        "confidence"
    )
    report: Path | None = option("also write an HTML report", kind=PATH, metavar="HTML")


@dataclass(frozen=True, kw_only=True)
class IdOptions(OptionGroup):
    """The options for the ids of new concepts that have none."""

    id_start: int | None = option(
        "first number for new ids, if ids are numeric (default: the highest existing number plus "
        "one)",
        None,
        NATURAL,
        metavar="NUMBER",
    )
    id_range: tuple[int, int] | None = option(
        "range of numbers for new ids; the command fails if the range is too small",
        None,
        RANGE,
        metavar="FIRST-LAST",
    )
    id_template: str | None = option(
        "template for new ids, with the fields {number}, {slug} (the label as in a URL), {uuid} "
        "and {parent} (the parent's id), for example 'FOOD:{number:07}' or '{parent}-{number}' "
        "(default: like the existing ids)",
        metavar="TEMPLATE",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.id_start is not None and self.id_range is not None:
            message = "a first number and a range both say where the numbers of ids begin"
            raise ConfigurationError(message, fix="give one of them", option="id_range")


@dataclass(frozen=True, kw_only=True)
class AcceptanceOptions(IdOptions):
    """The options that decide which suggestions are applied."""

    top_k: int = option("maximum number of parents to add per new concept", 1, POSITIVE)
    min_score: float | None = option(
        "accept only parents with at least this score (0 to 1, not calibrated)", None, FRACTION
    )
    min_confidence: float | None = option(
        "accept only parents with at least this confidence (0 to 1, the estimated probability "
        "that the parent is correct)",
        None,
        FRACTION,
    )
    all: bool = switch(
        "add all concepts below their first suggested parent (default: accepted rows, and of the "
        "concepts that nobody decided, those with a sure place)"
    )
    allow_moves: bool = switch(
        "if the label of an existing concept ends with the label of a new sibling, move it below "
        "the new concept: oat milk moves below the new concept milk"
    )
    allow_merges: bool = switch(
        "if a new concept is probably a synonym of an existing concept, add its label to that "
        "concept as a synonym (default: skip the new concept)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.all and (self.min_score, self.min_confidence) != (None, None):
            raise _all_with_threshold()


@dataclass(frozen=True, kw_only=True)
class ExpandOptions(
    TaxonomyOptions,
    NewConceptOptions,
    AcceptanceOptions,
    TrainingOptions,
    GlossaryOptions,
    PlacementOptions,
):
    """The options of `expand`: inputs, outputs, training and acceptance."""

    output: Path = output_option("output taxonomy file, or - for standard output", MISSING)
    force: bool = switch("overwrite existing output files")
    all: bool = switch(
        "add all new concepts below their first suggested parent (default: only concepts with a "
        "suitable place; the others are marked as undecided in the suggestions file)"
    )
    truth: float | None = option(
        "place each concept as deep as is sure, so that this fraction of the placements is true: "
        "below its first suggested parent, or else coarsely, further up (default: 0.9)",
        None,
        FRACTION,
        metavar="FRACTION",
    )
    exact_only: bool = switch(
        "place no concept coarsely: accept the first suggested parent if its confidence is at "
        "least 0.5"
    )
    accept_at_precision: float | None = option(
        "choose the confidence threshold so that this fraction of the accepted suggestions is "
        "correct on held-out concepts; cannot be combined with --min-confidence",
        None,
        FRACTION,
        metavar="FRACTION",
    )
    suggestions: Path | None = option(
        "CSV file for all suggestions, accepted and undecided (default: next to OUT, for example "
        "topics-v2.suggestions.csv for topics-v2.ttl)",
        kind=PATH,
        metavar="CSV",
    )
    model: Path | None = option(
        "also save the trained model to this directory", kind=PATH, metavar="DIR"
    )

    @property
    def suggestions_file(self) -> Path:
        """The file for the suggestions, by default next to the output."""
        if self.suggestions is None and str(self.output) == "-":
            message = "standard output has no place for the suggestions next to it"
            raise ConfigurationError(message, fix="give a file", option="suggestions")
        return self.suggestions or self.output.with_suffix(".suggestions.csv")

    def __post_init__(self) -> None:
        super().__post_init__()
        precision = self.accept_at_precision
        confidence = self.min_confidence
        if self.all and precision is not None:
            raise _all_with_threshold()
        switches = [name for name in ("exact_only", "all", "together") if getattr(self, name)]
        numbers = ("truth", "accept_at_precision", "min_confidence", "min_score")
        rules = [*switches, *(name for name in numbers if getattr(self, name) is not None)]
        rules.sort(key=lambda name: name not in ("truth", "exact_only"))
        if len(rules) > 1 and rules[0] in ("truth", "exact_only"):
            message = f"{rules[0]} and {rules[1]} are different rules of what is accepted"
            raise ConfigurationError(message, fix="give one of them", option=rules[0])
        if self.truth is not None and self.top_k > 1:
            message = "with several parents, the confidence of each decides, not the truth"
            raise ConfigurationError(message, fix="give one parent, or no truth", option="truth")
        if precision is not None and confidence is not None:
            message = "a minimum confidence and a precision both set a threshold"
            raise ConfigurationError(message, fix="give one of them", option="accept_at_precision")
        if self.together and (self.allow_moves or self.allow_merges):
            message = "placing together proposes no moves and no merges"
            raise ConfigurationError(message, fix="do not allow them", option="together")
        if self.together and (precision is not None or confidence):
            message = "placing together computes no confidence, so it cannot have a threshold"
            raise ConfigurationError(message, fix="omit one of the two", option="together")
