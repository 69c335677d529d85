"""What other programs get from every kind of decision, on SQLite and on PostgreSQL.

Curators decide on the pages; then the commands `export` and `apply` are run, and the lessons for a
training are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.taxonomy import Concept
from tests.support.command_line import run
from tests.support.desk_cases import DecisionStore, Lesson, cells, exported, history, lessons
from tests.support.review_cases import Review, open_review

PROPOSED = {
    "white tea": ("tea",),
    "corn bread": ("bread",),
    "golden apple": ("apple",),
    "pear": ("soup", "berry"),
    "iced tea": ("tea", "soup"),
    "fennel tea": ("tea",),
    "sheep cheese": ("cheese", "goat cheese"),
    "plum cake": ("bread",),
    "fish sauce": ("sauce", "soup"),
    "kimchi": ("sauce",),
    "fig": ("berry",),
    "tofu": ("cheese",),
    "rice milk": ("milk",),
}
HEMP_MILK = Concept("n1", "hemp milk", ("hemp drink",), "a drink made of hemp seeds")
OTHERS = (*PROPOSED, "pea milk", "soda bread")
LATER = Concept("n1", "plum soup")
"""The concept of a second list, whose ids begin again."""


def decide_everything(model: TaxoExpan, store: DecisionStore) -> Review:
    """Take every kind of decision."""
    review = open_review(model, store, [HEMP_MILK, *(Concept("", label) for label in OTHERS)])
    for label, parents in PROPOSED.items():
        review.propose(label, *parents)
    review.propose("hemp milk", "milk", confidence=0.75)
    review.propose("pea milk", "oat milk", confidence=0.5, levels=(1.0, 0.9, 0.5))
    review.propose("soda bread", "oat bread", kind="merge")
    # Accepted
    review.decide("hemp milk", accept="milk")
    review.decide("pear", accept="berry")
    review.decide("golden apple", accept="berry", **{"with": ["soup"]})
    review.decide("corn bread", merge="rye bread")
    review.decide("white tea", action="insert", accept="tea", move=["green tea"])
    review.decide("pea milk", coarse="milk")
    edited = {"label": "Fennel infusion", "synonyms": "fennel tea", "definition": "of seeds"}
    review.decide("fennel tea", action="edit", **edited)
    review.decide("fennel tea", accept="tea")
    open_review(model, store, [LATER])
    review.propose("plum soup", "soup")
    review.decide("plum soup", accept="soup")
    # Accepted, and then accepted below another parent
    review.decide("iced tea", accept="soup")
    review.rename_curator("Bob")
    review.decide("iced tea", accept="tea")
    review.rename_curator("Ada")
    # Rejected
    review.decide("sheep cheese", action="reject", reason="wrong-parents")
    review.decide("plum cake", action="reject", reason="out-of-scope")
    review.decide("fish sauce", drop="sauce")
    review.decide("soda bread", drop="oat bread")
    # Not decided
    review.decide("kimchi", action="defer")
    review.decide("fig", action="comment", comment="=1+1 ask the grocer")
    # Undone
    review.decide("tofu", accept="cheese")
    review.post("/undo", {})
    review.decide("rice milk", drop="milk")
    review.post("/undo", {"number": str(len(store.log()))})
    return review


@pytest.fixture(scope="module")
def review(model: TaxoExpan, shared_store_url: str) -> Iterator[Review]:
    with DecisionStore.open(shared_store_url) as store:
        yield decide_everything(model, store)


@pytest.fixture(scope="module")
def url(review: Review, shared_store_url: str) -> str:
    """The place of the store with the decisions."""
    assert review.store.log()
    return shared_store_url


@pytest.fixture(scope="module")
def table(url: str) -> list[dict[str, str]]:
    """The decisions as the command `export` prints them."""
    return exported(url)


def test_accepted_places_are_exported_in_the_order_of_the_list(table: list[dict[str, str]]) -> None:
    accepted = [row for row in table if row["decision"] == "accepted"]
    found = cells(accepted, "query", "parent_id", "kind", "moves", "rank", "curator")
    assert found == [
        ("hemp milk", "milk", "attach", "", "1", "Ada"),
        ("white tea", "tea", "insert", "green tea", "1", "Ada"),
        ("corn bread", "rye bread", "merge", "", "0", "Ada"),
        ("golden apple", "berry", "attach", "", "0", "Ada"),
        ("golden apple", "soup", "also", "", "0", "Ada"),
        ("pear", "berry", "attach", "", "2", "Ada"),
        ("iced tea", "tea", "attach", "", "1", "Bob"),
        ("Fennel infusion", "tea", "attach", "", "1", "Ada"),
        ("pea milk", "milk", "coarse", "", "0", "Ada"),
        ("plum soup", "soup", "attach", "", "1", "Ada"),
    ]


def test_rejected_places_are_exported_once_and_without_those_of_undone_decisions(
    table: list[dict[str, str]],
) -> None:
    rejected = [row for row in table if row["decision"] == "rejected"]
    found = cells(rejected, "query", "parent_id", "kind", "rank", "curator")
    assert found == [
        ("sheep cheese", "cheese", "attach", "1", "Ada"),
        ("sheep cheese", "goat cheese", "attach", "2", "Ada"),
        ("plum cake", "bread", "attach", "1", "Ada"),
        ("fish sauce", "sauce", "attach", "1", "Ada"),
        ("soda bread", "oat bread", "merge", "1", "Ada"),
    ]


def test_a_row_has_the_texts_of_the_concept_and_the_numbers_of_the_proposal(
    table: list[dict[str, str]],
) -> None:
    rows = {row["query"]: row for row in table}
    columns = "definition", "synonyms", "confidence", "path", "levels"
    assert cells([rows["hemp milk"], rows["Fennel infusion"], rows["pea milk"]], *columns) == [
        ("a drink made of hemp seeds", "hemp drink", "0.75", "food > milk", ""),
        ("of seeds", "fennel tea", "", "food > tea", ""),
        ("", "", "0.9", "food > milk", "1 > 0.9"),
    ]


def test_of_several_concepts_with_one_id_the_first_keeps_it(table: list[dict[str, str]]) -> None:
    ids = {row["query"]: row["query_id"] for row in table}
    assert (ids["hemp milk"], ids["plum soup"]) == ("n1", "")


def test_the_history_has_every_decision_with_its_reason_and_whether_it_is_undone(url: str) -> None:
    table = history(url)
    columns = "action", "query", "parent_id", "kind", "reason", "undone"
    assert cells(table, *columns) == [
        ("undo", "rice milk", "", "", "", ""),
        ("reject-proposal", "rice milk", "milk", "attach", "", "yes"),
        ("undo", "tofu", "", "", "", ""),
        ("accept", "tofu", "cheese", "attach", "", "yes"),
        ("comment", "fig", "", "", "", ""),
        ("defer", "kimchi", "", "", "", ""),
        ("reject-proposal", "soda bread", "oat bread", "merge", "", ""),
        ("reject-proposal", "fish sauce", "sauce", "attach", "", ""),
        ("reject", "plum cake", "bread", "attach", "out-of-scope", ""),
        ("reject", "sheep cheese", "cheese|goat cheese", "attach|attach", "wrong-parents", ""),
        ("accept", "iced tea", "tea", "attach", "", ""),
        ("accept", "iced tea", "soup", "attach", "", ""),
        ("accept", "plum soup", "soup", "attach", "", ""),
        ("accept", "Fennel infusion", "tea", "attach", "", ""),
        ("edit", "fennel tea", "", "", "", ""),
        ("accept", "pea milk", "milk", "coarse", "", ""),
        ("accept", "white tea", "tea", "insert", "", ""),
        ("accept", "corn bread", "rye bread", "merge", "", ""),
        ("accept", "golden apple", "berry|soup", "attach|also", "", ""),
        ("accept", "pear", "berry", "attach", "", ""),
        ("accept", "hemp milk", "milk", "attach", "", ""),
    ]
    numbers = list(range(len(table), 0, -1))
    assert cells(table, "number") == [(str(number),) for number in numbers]
    assert cells(table[:4], "undoes") == [(str(numbers[1]),), ("",), (str(numbers[3]),), ("",)]
    by_action = {row["action"]: row for row in table}
    assert by_action["comment"]["comment"] == "'=1+1 ask the grocer"  # it is no formula
    assert by_action["edit"]["edited"] == "Fennel infusion"
    assert {row["model"] for row in table} == {"pantry 1"}
    assert {row["curator"] for row in table} == {"Ada", "Bob"}
    assert [row["moves"] for row in table if row["moves"]] == ["green tea"]


@pytest.mark.parametrize(("name", "options"), [("decisions", []), ("history", ["--history"])])
def test_the_page_offers_the_same_tables_as_the_command(
    review: Review, url: str, name: str, options: list[str]
) -> None:
    assert f'href="/export/{name}.csv"' in review.get("/export")
    response = review.browser.get(f"/export/{name}.csv")
    assert response.headers["content-disposition"].endswith(f"{name}.csv")
    assert response.text == run("export", url, *options).out


def test_a_training_learns_from_accepted_and_wrong_places(review: Review) -> None:
    right, wrong = lessons(review.store)
    assert right == [  # without coarse places, because a finer one may still be right
        Lesson("hemp milk", "milk"),
        Lesson("white tea", "tea"),
        Lesson("corn bread", "rye bread", is_merge=True),
        Lesson("golden apple", "berry"),
        Lesson("golden apple", "soup"),
        Lesson("pear", "berry"),
        Lesson("iced tea", "tea"),
        Lesson("Fennel infusion", "tea"),
        Lesson("plum soup", "soup"),
    ]
    assert wrong == [  # without those of a concept that is out of scope
        Lesson("corn bread", "bread"),  # passed over
        Lesson("golden apple", "apple"),  # passed over for parents that were searched for
        Lesson("pear", "soup"),  # passed over for the runner-up
        Lesson("sheep cheese", "cheese"),
        Lesson("sheep cheese", "goat cheese"),
        Lesson("fish sauce", "sauce"),
        Lesson("soda bread", "oat bread", is_merge=True),
    ]


@pytest.fixture(scope="module")
def expanded(url: str, pantry: Path, tmp_path_factory: pytest.TempPathFactory) -> Taxonomy:
    """The taxonomy that the command `apply` writes."""
    folder = tmp_path_factory.mktemp("applied")
    old = folder / "pantry.json"
    decisions = folder / "decisions.csv"
    new = folder / "new.json"
    run("convert", pantry, old)
    run("export", url, "-o", decisions)
    run("apply", old, decisions, "-o", new, "--allow-moves", "--allow-merges")
    return read_taxonomy(new)


def test_the_accepted_concepts_are_applied_and_no_others(
    expanded: Taxonomy, model: TaxoExpan
) -> None:
    before = dict.fromkeys(model.taxonomy.labels)
    new = [each for each in expanded.concepts if each.label not in before]
    parents = {
        each.label: {expanded.concept(id).label for id in expanded.parents(each.id)} for each in new
    }
    assert parents == {
        "hemp milk": {"milk"},
        "white tea": {"tea"},
        "golden apple": {"berry", "soup"},
        "pear": {"berry"},
        "iced tea": {"tea"},
        "Fennel infusion": {"tea"},
        "pea milk": {"milk"},
        "plum soup": {"soup"},
    }
    assert len(expanded) == len(before) + len(new)


def test_texts_merges_and_moves_are_applied(expanded: Taxonomy) -> None:
    concepts = {each.label: each for each in expanded.concepts}
    assert concepts["hemp milk"].definition == "a drink made of hemp seeds"
    assert concepts["hemp milk"].synonyms == ("hemp drink",)
    assert concepts["Fennel infusion"].definition == "of seeds"
    assert concepts["Fennel infusion"].synonyms == ("fennel tea",)
    assert concepts["rye bread"].synonyms == ("corn bread",)
    green_tea = concepts["green tea"].id
    assert expanded.parents(green_tea) == (concepts["white tea"].id,)
    assert expanded.parents(concepts["oat tea"].id) == (concepts["tea"].id,)


@pytest.fixture
def without_soup(pantry: Path, tmp_path: Path) -> Path:
    """A later version of the file, which has lost a parent."""
    lines = [each for each in pantry.read_text(encoding="utf-8").splitlines() if "soup" not in each]
    path = tmp_path / "pantry.csv"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def test_decisions_below_a_concept_that_the_file_has_lost_are_named_and_left_out(
    url: str, without_soup: Path
) -> None:
    changes = without_soup.with_name("changes.kgcl")
    printed = run("export", url, "-o", changes, "--taxonomy", without_soup)
    notes = [line for line in printed.err.splitlines() if "soup" in line]
    assert [label for label in (*OTHERS, "plum soup") if f"'{label}'" in "".join(notes)] == [
        "golden apple",
        "plum soup",
    ]
    written = changes.read_text(encoding="utf-8")
    assert "'hemp milk'" in written
    assert "'plum soup'" not in written


def test_the_table_is_applied_only_to_a_file_that_has_the_parents(
    url: str, without_soup: Path
) -> None:
    decisions = without_soup.with_name("decisions.csv")
    run("export", url, "-o", decisions)
    new = without_soup.with_name("new.csv")
    printed = run("apply", without_soup, decisions, "-o", new, status=2)
    assert "decisions.csv" in printed.err
    assert "soup" in printed.err
    assert not new.exists()
