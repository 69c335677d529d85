"""Command-line arguments that several commands share, and their conversion to typed options."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.cli.argument_types import fraction, natural, number_range, positive, seed
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_groups import ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.formats.taxonomy_file import TaxonomyFile
    from taxoexpan.formats.text_file import ReadOptions
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.adding.acceptance import Acceptance
    from taxoexpan.taxonomy import Taxonomy
    from taxoexpan.taxonomy.id_policy import IdPolicy


Reading = ReadingOptions | argparse.Namespace


class Version(argparse.Action):
    """Prints the version, which is looked up only when requested."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and exit."""
        from importlib.metadata import version

        print(f"taxoexpan {version('taxoexpan')}")
        parser.exit()


def add_taxonomy(
    parser: argparse.ArgumentParser, help: str = "a taxonomy file, or - for standard input"
) -> None:
    """Add the taxonomy file and the options for reading it."""
    parser.add_argument("taxonomy", type=Path, metavar="TAXONOMY", help=help)
    add_read_options(parser)


def add_read_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading a taxonomy file."""
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="format of every taxonomy file that is read: skos, owl, obo, obographs, json, "
        "openfoodfacts, wordnet, terms, paths, edges or rows (default: detected); see the guide to "
        "file formats",
    )
    parser.add_argument(
        "--language",
        metavar="TAG",
        help="language of the labels, such as en, if a file has several (default: the most "
        "frequent one)",
    )
    parser.add_argument(
        "--columns",
        metavar="NAME=COLUMN[,…]",
        help="columns of a table, by header or number: --columns "
        'id="Unique ID",label=Name,parent=3; the names are id, label, parent, parent_label, child, '
        "path, definition, synonyms, deprecated, level1, level2, … (default: by the headers)",
    )
    parser.add_argument(
        "--sheet", metavar="NAME", help="sheet of an Excel file (default: the first)"
    )
    parser.add_argument(
        "--instances", action="store_true", help="read WordNet's instance hypernyms as relations"
    )


def add_new_concepts(parser: argparse.ArgumentParser) -> None:
    """Add the list of new concepts."""
    parser.add_argument(
        "new",
        type=Path,
        metavar="NEW",
        help="new concepts: one label per line, or a table with the columns label, id, "
        "definition, synonyms",
    )


def add_glossary(parser: argparse.ArgumentParser) -> None:
    """Add the glossary file."""
    parser.add_argument(
        "--glossary",
        type=Path,
        metavar="FILE",
        help="look up definitions of concepts that have none: TSV (title, text), JSON lines or "
        "Wikipedia's dump of abstracts; the taxonomy file is not changed",
    )


def add_training(parser: argparse.ArgumentParser) -> None:
    """Add the options for training."""
    parser.add_argument(
        "--preset",
        default="best",
        help="best (default), fast (best with static vectors), paper (as published) or authors (as "
        "in the authors' code)",
    )
    add_features(parser)
    parser.add_argument("--seed", type=seed, default=0, help="random seed (default: 0)")
    parser.add_argument(
        "--epochs", type=positive, help="maximum number of epochs (default: that of the preset)"
    )
    add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")


FEATURES_HELP = (
    "encoder for names and definitions: static, vectors:FILE, transformer:NAME_OR_PATH, "
    "skipgram:CORPUS, several joined with +, or auto (the best one that is installed; default of "
    "the preset best)"
)
CHANGES_HELP = "change one setting of the preset, such as hidden_dim=64; can be repeated"


def add_features(
    parser: argparse.ArgumentParser, features: str = FEATURES_HELP, changes: str = CHANGES_HELP
) -> None:
    """Add the options for the encoder and for single settings, with these help texts."""
    parser.add_argument("--features", metavar="ENCODER", help=features)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="changes",
        metavar="NAME=VALUE",
        help=changes,
    )
    parser.epilog = (
        f"Settings for --set: {', '.join(_setting_names())}. The documentation (make docs) "
        "describes them on its page Settings."
    )


def _setting_names() -> list[str]:
    """Return the names of all settings, read from a preset: `config` takes longer to import."""
    text = resources.files("taxoexpan").joinpath("presets/best.toml").read_text("utf-8")
    return list(tomllib.loads(text))


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the device option."""
    parser.add_argument(
        "--device",
        default="auto",
        metavar="DEVICE",
        help="auto, cpu, cuda, cuda:N or mps (default: auto, which prefers cuda, then mps)",
    )


def add_output(parser: argparse.ArgumentParser, help: str, required: bool = False) -> None:
    """Add the output path and --force."""
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", required=required, help=help)
    parser.add_argument("--force", action="store_true", help="overwrite existing outputs")


def add_report(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the path of an HTML report."""
    parser.add_argument("--report", type=Path, metavar="HTML", help=help)


def add_keep_formulas(parser: argparse.ArgumentParser) -> None:
    """Add the option that keeps texts as they are, also if a spreadsheet computes them."""
    parser.add_argument(
        "--keep-formulas",
        action="store_true",
        help="write texts that start with =, +, - or @ as they are into CSV files (default: with "
        "an apostrophe, so that no spreadsheet computes them)",
    )


def add_acceptance(parser: argparse.ArgumentParser, all_help: str) -> None:
    """Add the options that decide which suggestions are applied."""
    parser.add_argument(
        "--top-k",
        type=positive,
        default=1,
        help="number of parents to accept per new concept (default: 1)",
    )
    parser.add_argument(
        "--min-score",
        type=fraction,
        help="accept only parents with at least this score (softmax probability, 0 to 1)",
    )
    parser.add_argument(
        "--min-confidence",
        type=fraction,
        help="accept only parents with at least this confidence (calibrated probability, 0 to 1)",
    )
    parser.add_argument("--all", action="store_true", help=all_help)
    parser.add_argument(
        "--allow-moves",
        action="store_true",
        help="if the label of an existing child of the accepted parent ends in the label of the "
        "new concept, move this child below the new concept (oat milk below milk)",
    )
    parser.add_argument(
        "--allow-merges",
        action="store_true",
        help="if a new concept is probably a synonym of an existing concept, add its label as a "
        "synonym there (default: do not add the new concept)",
    )
    add_ids(parser)


def add_ids(parser: argparse.ArgumentParser) -> None:
    """Add the options about the ids of new concepts."""
    parser.add_argument(
        "--id-start",
        type=natural,
        metavar="NUMBER",
        help="the first number for new ids, if ids are numbered (default: after the last one)",
    )
    parser.add_argument(
        "--id-range",
        type=number_range,
        metavar="FIRST-LAST",
        help="the numbers to take new ids from; it is an error if they do not suffice",
    )
    parser.add_argument(
        "--id-template",
        metavar="TEMPLATE",
        help="how to make new ids, with the fields {number}, {slug}, {uuid} and {parent}, for "
        "example 'FOOD:{number:07}' or '{parent}-{number}' (default: in the style of the file)",
    )


def add_together(parser: argparse.ArgumentParser) -> None:
    """Add the option for joint placement."""
    parser.add_argument(
        "--together",
        action="store_true",
        help="place all new concepts jointly, so that one can become the parent of another; use it "
        "for related concepts. Each gets one parent and no confidence",
    )


def read_options(options: Reading) -> ReadOptions:
    """Return how the taxonomy file is to be read."""
    from taxoexpan.formats.tables.columns import checked_columns
    from taxoexpan.formats.text_file import ReadOptions

    columns = checked_columns(options.columns or "")
    return ReadOptions(options.language, options.instances, columns, options.sheet)


def open_taxonomy(path: Path, options: Reading) -> TaxonomyFile:
    """Open a taxonomy file and print the notes of its reader."""
    return open_taxonomies([path], options)[0]


def open_taxonomies(paths: Sequence[Path], options: Reading) -> list[TaxonomyFile]:
    """Open taxonomy files, and print the notes of their readers, each note once."""
    from taxoexpan.cli.messages import print_file_notes
    from taxoexpan.formats.taxonomy_file import TaxonomyFile

    reading = read_options(options)
    files = [TaxonomyFile.open(path, options.format, reading) for path in paths]
    # An option may be meant for one of several files.
    if set.intersection(*(set(file.unused_options) for file in files)):
        files[0].refuse_unused_options()
    print_file_notes(*files)
    return files


def read_taxonomy(path: Path, options: Reading) -> Taxonomy:
    """Read a taxonomy and print the notes of its reader."""
    return open_taxonomy(path, options).taxonomy


def read_defined_taxonomy(path: Path, options: argparse.Namespace) -> Taxonomy:
    """Read a taxonomy, and look up definitions if there is a glossary."""
    taxonomy = read_taxonomy(path, options)
    if not options.glossary:
        return taxonomy
    from taxoexpan.cli.glossary_messages import print_glossary
    from taxoexpan.features.glossary.glossary import Glossary

    glossary = Glossary.read(options.glossary, taxonomy.concepts, not options.quiet)
    defined = glossary.define_taxonomy(taxonomy)
    print_glossary(options.glossary, glossary, {"concepts": defined.matches})
    return defined.taxonomy


def acceptance(options: argparse.Namespace) -> Acceptance:
    """Return which suggestions are to be applied; --all is a minimum confidence of zero."""
    from taxoexpan.placement.adding.acceptance import Acceptance

    thresholds = ("min_score", "min_confidence", "accept_at_precision")
    if options.all and any(getattr(options, name, None) is not None for name in thresholds):
        message = "--all accepts every suggestion, so it cannot be combined with a threshold"
        raise ConfigurationError(f"{message}; omit one of the two")
    return Acceptance(
        top_k=options.top_k,
        min_score=options.min_score,
        min_confidence=0.0 if options.all else options.min_confidence,
        allow_moves=options.allow_moves,
        allow_merges=options.allow_merges,
        ids=id_policy(options),
    )


def id_policy(options: argparse.Namespace) -> IdPolicy:
    """Return how new concepts without an id get one."""
    from taxoexpan.taxonomy.id_policy import IdPolicy, IdTemplate

    if options.id_start is not None and options.id_range is not None:
        message = "--id-start and --id-range both say where the numbers begin"
        raise ConfigurationError(f"{message}; give one of them")
    template = IdTemplate(options.id_template) if options.id_template is not None else None
    first, last = options.id_range or (options.id_start, None)
    return IdPolicy(template, first, last)


@dataclass(frozen=True)
class TrainingOptions:
    """How to train: the preset with its changed settings, the seed, the device, and progress."""

    preset: str
    seed: int
    device: str
    settings: dict[str, Any]
    quiet: bool

    def new_model(self) -> TaxoExpan:
        """Return an untrained model."""
        from taxoexpan.model import TaxoExpan

        return TaxoExpan(self.preset, self.seed, self.device, **self.settings)


def training_options(options: argparse.Namespace) -> TrainingOptions:
    """Return how to train; wrong settings are refused here, before any work.

    Settings without effect are reported.
    """
    from taxoexpan.cli.messages import note
    from taxoexpan.config import load_preset, settings_without_effect
    from taxoexpan.features.encoder_choice import with_chosen_encoder

    settings = changed_settings(options.changes, options.features, options.epochs)
    config = with_chosen_encoder(load_preset(options.preset, **settings))
    for name, reason in settings_without_effect(config, settings).items():
        note(f"note: {name} has no effect, because {reason}")
    return TrainingOptions(options.preset, options.seed, options.device, settings, options.quiet)


def changed_settings(
    changes: list[str], features: str | None, epochs: int | None = None
) -> dict[str, Any]:
    """Return the settings that differ from the preset."""
    from taxoexpan.config import parse_setting

    given = {"epochs": epochs, "features": features}
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for text in changes:
        name, value = parse_setting(text)
        if name in settings:
            raise ConfigurationError(f"{name} is set twice; set it once")
        settings[name] = value
    return settings
