"""Print which records and modules a decision meets on its way to the expanded file.

journeys.py follows a person's decision from the form in the browser to the bytes of the file, and
a policy's from the ranking to the bytes. It counts the classes of the package of which objects are
made, and the modules whose functions run.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from taxoexpan import TaxoExpan, expand_file, read_taxonomy  # noqa: E402

EXAMPLE = ROOT / "examples" / "instruments.ttl"
NEW = ROOT / "examples" / "new-instruments.csv"


class Journey:
    """The classes of which objects were made, and the modules whose functions ran."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.modules: Counter[str] = Counter()

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
            made = type(frame.f_locals["self"])
            if made.__module__.startswith("taxoexpan"):
                self.made[f"{made.__module__}.{made.__qualname__}"] += 1
        elif code.co_name == "__new__" and "_cls" in frame.f_locals:
            made = frame.f_locals["_cls"]
            self.made[f"{made.__module__}.{made.__qualname__}"] += 1
        if not code.co_filename.startswith("<"):
            self.modules[module] += 1

    def print(self, title: str) -> None:
        """Print the numbers, those outside the file formats, and the names of these."""
        made = _without_formats(self.made)
        modules = _without_formats(self.modules)
        print(f"{title}: {len(self.made)} classes, {len(self.modules)} modules")
        print(f"  outside formats: {len(made)} classes, {len(modules)} modules")
        print("    " + ", ".join(sorted(name.rpartition(".")[2] for name in made)))
        print("    " + ", ".join(name.removeprefix("taxoexpan.") for name in modules))


class FromRanking(Journey):
    """A journey that begins when the model has ranked all parents."""

    has_begun = False

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_name, frame.f_globals.get("__name__")
        if event == "return" and name == ("suggest", "taxoexpan.model"):
            self.has_begun = True
        elif self.has_begun:
            super()._note(frame, event, argument)


def _without_formats(names: Counter[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith("taxoexpan.formats"))


def follow_policy(folder: Path) -> None:
    """Follow the concepts that `expand` places."""
    whole, journey = Journey(), FromRanking()
    for each in (journey, whole):
        output = folder / f"{type(each).__name__}.ttl"
        with each.followed():
            expand_file(EXAMPLE, NEW, output, preset="fast", quiet=True)
    journey.print("policy: from ranking to byte")
    for name in ("Additions", "Taxonomy"):
        count = sum(n for made, n in whole.made.items() if made.endswith(f".{name}"))
        print(f"  expand makes {count} {name}")


def follow_person(folder: Path) -> None:
    """Follow a decision that a person takes in the browser."""
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.formats.concept_list import read_concepts
    from tests.support.review_cases import open_review

    model = TaxoExpan("fast").fit(read_taxonomy(EXAMPLE))
    with DecisionStore.open(str(folder / "reviews.db")) as store:
        review = open_review(model, store, read_concepts(NEW), EXAMPLE)
        label = "talking drum"
        parent = review.proposed(label)[0]
        to_row, to_byte, both = Journey(), Journey(), Journey()
        review.get("/")  # what is computed only once
        with to_row.followed():
            review.decide(label, accept=parent)
        with to_byte.followed():
            review.get("/export/taxonomy")
        both.made = to_row.made + to_byte.made
        both.modules = to_row.modules + to_byte.modules
    to_row.print("person: from browser to row")
    to_byte.print("person: from row to byte")
    both.print("person: from browser to byte")


def main() -> None:
    """Follow both."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        follow_policy(Path(folder))
        follow_person(Path(folder))


if __name__ == "__main__":
    main()
