"""Review the suggestions for new concepts in the browser."""

from __future__ import annotations

import getpass
import os
import sys
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from taxoexpan.cli.arguments import open_taxonomy
from taxoexpan.cli.glossaries import defined_concepts
from taxoexpan.cli.messages import announce, note
from taxoexpan.cli.model_options import ModelOptions
from taxoexpan.cli.serve import REVIEW_PORT, TOKEN_VARIABLE, ServerOptions
from taxoexpan.cli.taxonomy_messages import print_filtered, print_other_language
from taxoexpan.option_declarations import PATH, option, switch
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import (
    GlossaryOptions,
    NewConceptOptions,
    QuietOptions,
    ReadingOptions,
)

if TYPE_CHECKING:
    from taxoexpan.desk.review.desk import ReviewDesk
    from taxoexpan.desk.review.improvement import Improvement
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.desk.web.access import Access
    from taxoexpan.formats.taxonomy_file import TaxonomyFile
    from taxoexpan.model import TaxoExpan
    from taxoexpan.taxonomy import Concept


@dataclass(frozen=True, kw_only=True)
class Options(
    ModelOptions, NewConceptOptions, GlossaryOptions, ServerOptions, ReadingOptions, QuietOptions
):
    """The options of `review`."""

    decisions: str = option(
        "decision database: a SQLite file or a postgresql:// URL", "reviews.db", metavar="STORE"
    )
    taxonomy: Path | None = option(
        "taxonomy file; enables the download of an expanded copy with the accepted concepts",
        kind=PATH,
        metavar="FILE",
    )
    curator: str | None = option(
        "your name, as recorded in the history (default: the login name)", metavar="NAME"
    )
    no_browser: bool = switch("do not open the browser")


def run(options: Options) -> int:
    """Fill the queue, and serve the pages until the command is stopped."""
    allowed = options.access()
    level = options.chosen_level("warning")
    from taxoexpan.desk.review.app import create_app
    from taxoexpan.desk.review.desk import refuse_other_file
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.desk.web.protection import protect_pages
    from taxoexpan.desk.web.server import run_server
    from taxoexpan.formats.concept_list import read_concepts

    listed = read_concepts(options.new)
    file = open_taxonomy(options.taxonomy, options) if options.taxonomy else None
    model = options.load()
    if file is not None:
        refuse_other_file(model.taxonomy, file)
    with DecisionStore.open(options.decisions) as store:
        desk = _prepare(options, store, model, listed, file)
        training = closing(_improvement(options, listed, file)) if file else nullcontext()
        port, or_next = (REVIEW_PORT, True) if options.port is None else (options.port, False)
        with training as improvement:
            app = protect_pages(create_app(desk, improvement), allowed)
            on_start = partial(_announce, allowed, options)
            run_server(app, allowed, port, on_start, or_next=or_next, log_level=level)
        desk.counts()  # this fails if the store is gone or was replaced
    note(f"stopped; the decisions are in {store.name}")
    return 0


def _prepare(
    options: Options,
    store: DecisionStore,
    model: TaxoExpan,
    listed: list[Concept],
    file: TaxonomyFile | None,
) -> ReviewDesk:
    """Fill the queue, and return the data of the pages."""
    from taxoexpan.desk.review.desk import (
        EvidenceCache,
        ReviewDesk,
        fill_queue,
        filter_listed,
        model_name,
    )
    from taxoexpan.desk.store.queue import UNLISTED

    concepts = filter_listed(store, model.taxonomy, listed, file)
    print_other_language(model.taxonomy, listed)
    print_filtered(model.taxonomy, concepts)
    looked_up = defined_concepts(options.glossary, concepts.new, model.taxonomy, options.quiet)
    definitions = {c.label: c.definition for c in set(looked_up).difference(concepts.new)}
    name = model_name(options.model, options.glossary)
    computed = fill_queue(store, model, name, concepts, definitions, not options.quiet)
    if computed < len(concepts.new):
        known = pluralize(len(concepts.new) - computed, "new concept")
        note(f"{known} with proposals of this model in {store.name} already")
    mask = store.listed([*concepts.new, *listed])
    if others := (mask or b"").count(UNLISTED):
        count = pluralize(others, "concept of an earlier list", "concepts of earlier lists")
        effect = "not shown, but decisions about them are exported"
        fix = "to keep lists apart, give --decisions with another name"
        note(f"note: {store.name} has {count}, which {options.new} lacks: {effect}; {fix}")
    return ReviewDesk(
        store=store,
        taxonomy=model.taxonomy,
        evidence=EvidenceCache(model),
        curator=options.curator or login_name(),
        definitions=definitions,
        file=file,
        listed=mask,
    )


def _improvement(options: Options, listed: list[Concept], file: TaxonomyFile) -> Improvement:
    """Return the training that curators can start from the pages."""
    from taxoexpan.desk.review.improvement import Improvement
    from taxoexpan.desk.store.database import split_password

    store, password = split_password(options.decisions)
    command = [sys.executable, "-P", "-m", "taxoexpan", "train", str(file.path), *file.read_flags]
    command += ["--from", str(options.model), "--decisions", store, "--device", options.device]
    command += ["--glossary", str(options.glossary)] if options.glossary else []
    # Other users of the machine can read the arguments of a process, but not its environment.
    variables = {**os.environ, **({"PGPASSWORD": password} if password else {})}
    return Improvement(options.model, command, variables, listed, options.device, options.glossary)


def login_name() -> str:
    """Return the login name of the user, or `curator` if it is unknown."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return "curator"


def _announce(access: Access, options: Options, url: str) -> None:
    """Print the address, and open the browser."""
    if options.port is None and urlsplit(url).port != REVIEW_PORT:
        announce(f"port {REVIEW_PORT} is taken, so another one is used; --port selects one")
    # Others may read a log, but only the user sees a terminal.
    shown = access.entry(url) if sys.stderr.isatty() else url
    announce(f"review at {shown} (Ctrl+C stops it)")
    if shown != access.entry(url):
        announce(f"to open it, add ?token= and the token of --token or {TOKEN_VARIABLE}")
    if not options.no_browser:
        import webbrowser

        webbrowser.open(access.entry(url))
