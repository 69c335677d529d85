"""Print which records and modules a decision meets on its way to the expanded file.

journeys.py follows a person's decision from the form in the browser to the bytes of the file, and
a policy's from the ranking to the bytes. It counts the classes of the package of which objects are
made, those of them that are records, the modules whose functions run, those of them to which the
decision is passed in one of its forms, and those that are not entered without a decision: when a
page is shown, and a file is written without additions.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from taxoexpan import Suggestion, TaxoExpan, expand_file, read_taxonomy  # noqa: E402
from taxoexpan.decisions.additions import AppliedSuggestions  # noqa: E402
from taxoexpan.decisions.decision import Decision  # noqa: E402
from taxoexpan.desk.store.decision_store import DecisionStore  # noqa: E402
from taxoexpan.formats.concept_list import read_concepts  # noqa: E402
from taxoexpan.formats.format import Format  # noqa: E402
from taxoexpan.formats.taxonomy_file import TaxonomyFile  # noqa: E402
from taxoexpan.taxonomy import Additions  # noqa: E402
from tests.support.review_cases import Review, open_review  # noqa: E402

EXAMPLE = ROOT / "examples" / "instruments.ttl"
NEW = ROOT / "examples" / "new-instruments.csv"
FORMS = (Suggestion, Decision, Additions, AppliedSuggestions)
"""The forms of a decision, besides an entry of the log."""


class Journey:
    """The classes of which objects were made, and the modules whose functions ran."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.records: Counter[str] = Counter()
        self.modules: Counter[str] = Counter()
        self.handling: Counter[str] = Counter()
        self.parses = 0

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow all threads."""
        threading.setprofile_all_threads(self._note) if sys.version_info >= (3, 12) else None
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("taxoexpan"):
            return
        code = frame.f_code
        if code.co_name == "__init__" and "self" in frame.f_locals:
            self._note_made(type(frame.f_locals["self"]))
        elif code.co_name == "__new__" and "_cls" in frame.f_locals:
            self._note_made(frame.f_locals["_cls"])
        if code.co_filename.startswith("<"):  # a method that a dataclass has made
            return
        self.modules[module] += 1
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(_is_decision(frame.f_locals.get(name)) for name in given):
            self.handling[module] += 1
        if code.co_name == "read" and isinstance(frame.f_locals.get("self"), Format):
            self.parses += 1

    def _note_made(self, made: type) -> None:
        name = f"{made.__module__}.{made.__qualname__}"
        if name.startswith("taxoexpan"):
            self.made[name] += 1
            if is_dataclass(made) or issubclass(made, tuple):
                self.records[name] += 1

    def print(self, title: str, without_decision: Journey) -> None:
        """Print the numbers, those outside the file formats, and the names of these."""
        print(f"{title}: {len(self.made)} classes, {len(self.modules)} modules")
        own = {name: n for name, n in self.modules.items() if name not in without_decision.modules}
        kinds = {
            "classes outside formats": self.made,
            "records among them": self.records,
            "modules outside formats": self.modules,
            "modules among them that get the decision": self.handling,
            "modules that are entered only for a decision": Counter(own),
        }
        for kind, counted in kinds.items():
            names = _without_formats(counted)
            shown = ", ".join(name.removeprefix("taxoexpan.") for name in names)
            print(f"  {len(names)} {kind}: {shown}")


class FromRanking(Journey):
    """A journey that begins when the model has ranked all parents."""

    has_begun = False

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_name, frame.f_globals.get("__name__")
        if event == "return" and name == ("suggest", "taxoexpan.model"):
            self.has_begun = True
        elif self.has_begun:
            super()._note(frame, event, argument)


def _is_decision(value: object) -> bool:
    """Return whether a value is a form of a decision, or a list of such."""
    if isinstance(value, list | tuple) and value:
        value = value[0]
    return isinstance(value, FORMS) or type(value).__name__ == "LogEntry"


def _without_formats(names: Counter[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith("taxoexpan.formats"))


def without_decision(folder: Path) -> Journey:
    """Follow a page without a decision, and a file that is written without additions."""
    journey = Journey()
    with open_desk(folder / "nothing.db") as review:
        file = TaxonomyFile.open(EXAMPLE)
        with journey.followed():
            review.get("/help")
            file.write(Additions((), ()), folder / "nothing.ttl")
    return journey


def follow_policy(folder: Path, nothing: Journey) -> None:
    """Follow the concepts that `expand` places."""
    whole, journey = Journey(), FromRanking()
    for each in (journey, whole):
        output = folder / f"{type(each).__name__}.ttl"
        with each.followed():
            expand_file(EXAMPLE, NEW, output, preset="fast", quiet=True)
    journey.print("policy: from ranking to byte", nothing)
    for name in ("Additions", "Taxonomy"):
        count = sum(n for made, n in whole.made.items() if made.endswith(f".{name}"))
        print(f"  expand makes {count} {name}")
    print(f"  expand parses the taxonomy {whole.parses} times")


@contextmanager
def open_desk(path: Path) -> Iterator[Review]:
    """Open a review of the example in a new store."""
    model = TaxoExpan("fast").fit(read_taxonomy(EXAMPLE))
    with DecisionStore.open(str(path)) as store:
        yield open_review(model, store, read_concepts(NEW), EXAMPLE)


def follow_person(folder: Path, nothing: Journey) -> None:
    """Follow a decision that a person takes in the browser."""
    with open_desk(folder / "reviews.db") as review:
        label = "talking drum"
        parent = review.proposed(label)[0]
        to_row, to_byte, both = Journey(), Journey(), Journey()
        review.get("/")  # what is computed only once
        with to_row.followed():
            review.decide(label, accept=parent)
        with to_byte.followed():
            review.get("/export/taxonomy")
        both.made = to_row.made + to_byte.made
        both.records = to_row.records + to_byte.records
        both.modules = to_row.modules + to_byte.modules
        both.handling = to_row.handling + to_byte.handling
    to_row.print("person: from browser to row", nothing)
    to_byte.print("person: from row to byte", nothing)
    both.print("person: from browser to byte", nothing)


def main() -> None:
    """Follow both."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        nothing = without_decision(Path(folder))
        follow_policy(Path(folder), nothing)
        follow_person(Path(folder), nothing)


if __name__ == "__main__":
    main()
