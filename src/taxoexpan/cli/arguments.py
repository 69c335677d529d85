"""What the commands share: options, messages, and reading with notes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.cli.messages import FEW_QUERIES, MOST_NOTES, note, trust_lines
from taxoexpan.errors import ConfigurationError
from taxoexpan.presets import PRESETS, setting_names

if TYPE_CHECKING:
    from taxoexpan.formats.text_file import ReadOptions
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.calibrators import Calibrators
    from taxoexpan.taxonomy import Concept, Taxonomy
    from taxoexpan.taxonomy.known_names import FilteredConcepts


class Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and stop")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it and stop."""
        from importlib.metadata import version

        print(f"taxoexpan {version('taxoexpan')}")
        parser.exit()


def add_taxonomy(parser: argparse.ArgumentParser, help: str = "a file with a taxonomy") -> None:
    """The taxonomy's file, and its format where sniffing would be wrong."""
    parser.add_argument("taxonomy", type=Path, metavar="TAXONOMY", help=help)
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How a taxonomy's file is to be read."""
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="skos, obo, json, wordnet, terms, paths, edges or rows; sniffed unless given",
    )
    parser.add_argument(
        "--language",
        metavar="TAG",
        help="the language of the labels, such as en, where a file has several (default: the "
        "one of most labels)",
    )
    parser.add_argument(
        "--instances",
        action="store_true",
        help="take WordNet's instance hypernyms as relations too",
    )


def reading_of(options: argparse.Namespace) -> ReadOptions:
    """What the user says of the file."""
    from taxoexpan.formats.text_file import ReadOptions

    return ReadOptions(options.language, options.instances)


def add_new_concepts(parser: argparse.ArgumentParser) -> None:
    """The list of new concepts."""
    parser.add_argument(
        "new",
        type=Path,
        metavar="NEW",
        help="new concepts: a name a line, or a table label,id,definition,synonyms",
    )


def add_training(parser: argparse.ArgumentParser) -> None:
    """Everything about training that a user may want to set."""
    parser.add_argument("--preset", default="best", help=f"{', '.join(PRESETS)} (default best)")
    add_features(parser)
    parser.add_argument("--seed", type=seed, default=0, help="the same seed, the same model")
    parser.add_argument("--epochs", type=positive, help="the most passes over the taxonomy")
    add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress")


def add_features(parser: argparse.ArgumentParser) -> None:
    """What makes the vectors, and single settings."""
    parser.add_argument(
        "--features",
        metavar="SPEC",
        help="what makes vectors of names: static (default), vectors:FILE, "
        "transformer:NAME_OR_PATH, skipgram:CORPUS, or several as a+b",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="changes",
        metavar="NAME=VALUE",
        help="change one setting of the preset, such as hidden_dim=64; can be repeated",
    )
    parser.epilog = (
        f"Settings for --set: {', '.join(setting_names())}. "
        "The documentation describes them, and their values in the presets, under Settings."
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Where to compute."""
    parser.add_argument(
        "--device",
        default="auto",
        metavar="{auto,cpu,cuda,mps}",
        help="where to compute; auto (default) takes cuda, then mps, then cpu; cuda:1 is a second "
        "GPU",
    )


def add_output(parser: argparse.ArgumentParser, help: str, required: bool = False) -> None:
    """Where a result goes, and whether it may replace what is there."""
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", required=required, help=help)
    parser.add_argument("--force", action="store_true", help="replace what is there")


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Which suggestions are applied."""
    parser.add_argument(
        "--top-k", type=positive, default=1, help="parents for each new concept (default 1)"
    )
    parser.add_argument(
        "--min-score", type=share, default=0.0, help="leave out parents below this score (0 to 1)"
    )
    parser.add_argument(
        "--min-confidence",
        type=share,
        default=0.0,
        help="leave out parents that are right with less than this probability (0 to 1)",
    )


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Whether what is there may change too."""
    parser.add_argument(
        "--allow-moves",
        action="store_true",
        help="let children of a parent that are named after a new concept move below it, however "
        "unsure that is, unless --min-confidence says how sure it must be",
    )
    parser.add_argument(
        "--allow-merges",
        action="store_true",
        help="write what is likely another name of a known concept as a synonym of it",
    )


def allowed_changes(options: argparse.Namespace) -> dict[str, str]:
    """What may change of what is there, each with the option that allows it."""
    allowed = {"moves": options.allow_moves, "synonyms": options.allow_merges}
    names = {"moves": "--allow-moves", "synonyms": "--allow-merges"}
    return {what: names[what] for what, given in allowed.items() if given}


def refuse_unchangeable_file(options: argparse.Namespace) -> None:
    """Say before any work that the taxonomy's file has no place for what is allowed."""
    from taxoexpan.formats.taxonomy_file import refuse_unchangeable

    wanted = allowed_changes(options)
    if wanted:
        refuse_unchangeable(options.taxonomy, wanted, options.format, reading_of(options))


def add_together(parser: argparse.ArgumentParser) -> None:
    """Whether new concepts may be parents of new concepts."""
    parser.add_argument(
        "--together",
        action="store_true",
        help="place all at once, so that new concepts may be parents of new concepts; for lists "
        "that hang together, each concept under one parent and without a confidence",
    )


def positive(text: str) -> int:
    """A whole number above zero."""
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def seed(text: str) -> int:
    """A whole number that can seed a generator."""
    if not (text.isascii() and text.isdigit()) or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return number


def read_taxonomy(path: Path, options: argparse.Namespace) -> Taxonomy:
    """Read a taxonomy as the options say, and pass on what was noticed about its file."""
    from taxoexpan.formats.taxonomy_file import read

    document = read(path, options.format, reading_of(options))
    for found in document.notes[:MOST_NOTES]:
        note(f"note: {path}, {found.place}: {found.message}")
    if len(document.notes) > MOST_NOTES:
        note(f"note: … and {len(document.notes) - MOST_NOTES} more; see taxoexpan check {path}")
    return document.taxonomy


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """What the options change in the preset; wrong ones are refused here, before any work."""
    from taxoexpan.config import load_preset, parse_setting

    given = {"epochs": options.epochs, "features": options.features}
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for text in options.changes:
        name, value = parse_setting(text)
        if name in settings:
            raise ConfigurationError(f"{name} is set twice; give it once")
        settings[name] = value
    load_preset(options.preset, **settings)
    return settings


def make_model(options: argparse.Namespace) -> TaxoExpan:
    """A model to train, as the options say."""
    from taxoexpan.model import TaxoExpan

    return TaxoExpan(options.preset, options.seed, options.device, **settings_of(options))


def fit_model(
    model: TaxoExpan,
    options: argparse.Namespace,
    taxonomy: Taxonomy,
    log: Path | None = None,
    checkpoint: Path | None = None,
    tensorboard: Path | None = None,
    expected: Sequence[Concept] = (),
) -> None:
    """Train as the options say, and report."""
    model.encoder.prepare(["ready"])  # first, since its libraries may lose a Ctrl-C as they load
    if not options.quiet:
        note(f"training on {len(taxonomy):,} concepts, {taxonomy.relation_count:,} relations")
    model.fit(
        taxonomy,
        progress=not options.quiet,
        log=log,
        checkpoint=checkpoint,
        tensorboard=tensorboard,
        expected=expected,
    )
    for line in trust_lines(model.calibrators):
        if not options.quiet:
            note(line)
    figures = model.training["validation"]
    if figures is None or figures["queries"] < FEW_QUERIES:
        count = 0 if figures is None else figures["queries"]
        note(f"note: {count} leaves to validate on are few; expect little of so small a taxonomy")
    history = model.history
    if history is not None and history.interrupted:
        note(f"stopped by Ctrl-C; the best weights so far are kept (epoch {history.best})")


def refuse_without_confidence(model: TaxoExpan, taxonomy: Taxonomy) -> None:
    """Say before a training that it will teach no confidence."""
    from taxoexpan.placement.confidence import MIN_HELD_OUT

    taxonomy, c = taxonomy.active, model.config
    leaves = (taxonomy.children_of.degrees == 0) & (taxonomy.parents_of.degrees > 0)
    if min(int(leaves.sum() * c.validation_fraction), c.max_validation_leaves) < MIN_HELD_OUT:
        raise _too_few_leaves()


def _too_few_leaves() -> ConfigurationError:
    message = "the taxonomy has too few leaves to learn from how sure to be"
    return ConfigurationError(f"{message}; choose by --min-score")


def least_confidence(options: argparse.Namespace, calibrators: Calibrators) -> float:
    """The confidence from which on suggestions are accepted, as the options say it."""
    precision: float | None = options.accept_at_precision
    if precision is None:
        return float(options.min_confidence)
    if calibrators.calibration is None:
        raise _too_few_leaves()
    threshold = calibrators.calibration.reliability.threshold(precision)
    if threshold is None:
        message = f"no confidence is known from which on {precision:.0%} are right"
        mend = "ask for less, or choose by --min-confidence"
        if options.suggestions:
            mend += f"; taxoexpan apply with {options.suggestions} does that without a training"
        raise ConfigurationError(f"{message}: the held-out leaves do not show it; {mend}")
    note(f"accepting from a confidence of {threshold:.3f} on, where {precision:.0%} are right")
    return threshold


def screen_concepts(taxonomy: Taxonomy, concepts: list[Concept]) -> FilteredConcepts:
    """Sort out what is known already, and say so."""
    from taxoexpan.taxonomy.known_names import filter_known_names

    screening = filter_known_names(taxonomy, concepts)
    for concept, known in screening.present:
        retired = ", deprecated" if known.deprecated else ""
        message = f"{concept.label!r} is {known.label!r} ({known.id}{retired}); not placed"
        note(f"already present: {message}")
    for concept in screening.repeated:
        note(f"repeated: {concept.label!r} is in the list more than once; placed once")
    _note_plurals(taxonomy, screening.new)
    return screening


def _note_plurals(taxonomy: Taxonomy, concepts: Sequence[Concept]) -> None:
    """Say which new names differ from known ones in singular and plural alone; all are placed."""
    from taxoexpan.taxonomy.names import name_key

    known = {name_key(name): name for c in taxonomy.concepts for name in (c.label, *c.synonyms)}
    alike = [(c.label, known[key]) for c in concepts if (key := name_key(c.label)) in known]
    for label, other in alike[:MOST_NOTES]:
        note(f"note: {label!r} and {other!r} differ only in singular and plural; are they one?")
    if len(alike) > MOST_NOTES:
        note(f"note: … and {len(alike) - MOST_NOTES:,} more differ only so")
