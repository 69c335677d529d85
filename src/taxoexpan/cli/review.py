"""Review the suggestions for new concepts in the browser."""

from __future__ import annotations

import argparse
import getpass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_device,
    add_glossary,
    add_keep_formulas,
    add_new_concepts,
    add_read_options,
    open_taxonomy,
)
from taxoexpan.cli.messages import note, print_filtered, print_training_advice
from taxoexpan.cli.model_arguments import add_encoder_location, add_model
from taxoexpan.cli.server_arguments import access, add_server
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.desk.review.review_desk import ReviewDesk
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.formats.taxonomy_file import TaxonomyFile
    from taxoexpan.model import TaxoExpan
    from taxoexpan.taxonomy import Concept
    from taxoexpan.taxonomy.known_names import FilteredConcepts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_model(parser)
    add_new_concepts(parser)
    parser.add_argument(
        "--decisions",
        default="reviews.db",
        metavar="STORE",
        help="where decisions are kept: a SQLite file, or postgresql://… (default: reviews.db)",
    )
    parser.add_argument(
        "--taxonomy",
        type=Path,
        metavar="FILE",
        help="the taxonomy file, to download it with the accepted concepts",
    )
    parser.add_argument(
        "--curator", metavar="NAME", help="your name in the history (default: the login name)"
    )
    add_glossary(parser)
    add_keep_formulas(parser)
    add_server(parser, port=0)
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")
    add_read_options(parser)
    add_device(parser)
    add_encoder_location(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(options: argparse.Namespace) -> int:
    """Fill the queue, and serve the pages until the command is stopped."""
    allowed = access(options)
    from taxoexpan.desk.review.queue_preparation import refuse_other_file
    from taxoexpan.desk.review.review_app import create_app
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.desk.web.protection import protect_pages
    from taxoexpan.desk.web.server import run_server
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.model import TaxoExpan

    listed = read_concepts(options.new)
    file = open_taxonomy(options.taxonomy, options) if options.taxonomy else None
    model = TaxoExpan.load(options.model, options.device, options.features)
    print_training_advice(model)
    if file is not None:
        refuse_other_file(model.taxonomy, file)
    with DecisionStore.open(options.decisions) as store:
        desk = _prepare(options, store, model, listed, file)
        app = protect_pages(create_app(desk), allowed)
        run_server(app, allowed, options.port, lambda url: _announce(url, options))
    note(f"stopped; the decisions are in {store.name}")
    return 0


def _prepare(
    options: argparse.Namespace,
    store: DecisionStore,
    model: TaxoExpan,
    listed: list[Concept],
    file: TaxonomyFile | None,
) -> ReviewDesk:
    """Fill the queue, and return what the pages need."""
    from taxoexpan.desk.review.evidence_cache import EvidenceCache
    from taxoexpan.desk.review.queue_preparation import fill_queue, model_name
    from taxoexpan.desk.review.review_desk import ReviewDesk
    from taxoexpan.taxonomy.known_names import filter_known_names

    concepts = filter_known_names(model.taxonomy, listed)
    print_filtered(model.taxonomy, concepts)
    defined = _definitions(options.glossary, model, concepts) if options.glossary else {}
    name = model_name(options.model, options.glossary)
    computed = fill_queue(store, model, name, concepts.new, defined, not options.quiet)
    if computed < len(concepts.new):
        known = pluralize(len(concepts.new) - computed, "new concept")
        note(f"{known} with proposals of this model in {store.name} already")
    desk = ReviewDesk(
        store=store,
        taxonomy=model.taxonomy,
        evidence=EvidenceCache(model),
        curator=options.curator or login_name(),
        defined=defined,
        file=file,
        keep_formulas=options.keep_formulas,
        listed=store.listed([*concepts.new, *listed]),
    )
    _note_others(options, desk)
    return desk


def _note_others(options: argparse.Namespace, desk: ReviewDesk) -> None:
    """Say how many concepts of the store are not in the list: it was another one, or is shorter."""
    others = desk.count_others()
    if others:
        count = pluralize(others, "concept")
        are = "is" if others == 1 else "are"
        effect = (
            f"{are} not shown, but decisions about {'it' if others == 1 else 'them'} are exported"
        )
        message = f"note: {count} in {desk.store.name} {are} not in {options.new}: {effect}"
        note(f"{message}; to keep lists apart, give --decisions with another name")


def _definitions(path: Path, model: TaxoExpan, concepts: FilteredConcepts) -> dict[str, Concept]:
    """Return the new concepts by id, with definitions from a glossary."""
    from taxoexpan.cli.glossary_messages import print_glossary
    from taxoexpan.features.glossary.glossary import Glossary

    glossary = Glossary.read(path, concepts.new, progress=True)
    defined = glossary.define_concepts(concepts.new, model.taxonomy)
    print_glossary(path, glossary, {"new concepts": defined.matches})
    return {concept.id: concept for concept in defined.concepts}


def login_name() -> str:
    """Return the name under which the user is logged in."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return "curator"


def _announce(url: str, options: argparse.Namespace) -> None:
    """Print the address, and open the browser."""
    note(f"review at {url} (Ctrl+C stops it)")
    if not options.no_browser:
        import webbrowser

        webbrowser.open(url)
