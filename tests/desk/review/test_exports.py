"""The export page, and the expanded taxonomy that is downloaded from it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.taxonomy import Concept
from taxoexpan.training.continuation import Recipe
from tests.support.command_line import run
from tests.support.desk_cases import DecisionStore
from tests.support.expanded_files import write_file
from tests.support.review_cases import (
    Review,
    decide_again,
    downloaded,
    figures_of,
    left_out,
    open_review,
    parents_of,
    printed_command,
    table_rows,
    text_of,
)
from tests.support.tiny_wordnet import write_wordnet


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DecisionStore]:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        yield store


def test_the_taxonomy_has_the_accepted_concepts(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    review = open_review(model, store, taxonomy=pantry)
    review.decide("hemp milk", accept="milk")
    review.decide("white tea", accept="tea", **{"with": ["soup"]})
    review.decide("sheep cheese", action="reject", reason="other")
    page = review.get("/export")
    assert left_out(page) == ""
    for name in ("taxonomy", "decisions.csv", "decisions.kgcl", "decisions.sssom.tsv"):
        assert f'href="/export/{name}"' in page
    # A browser shows no page in answer to a link with this attribute.
    assert not re.search(r"<a [^>]*\bdownload\b[^>/]*>", page)
    new = downloaded(review, tmp_path / "new.csv")
    assert len(new) == len(model.taxonomy) + 2
    assert parents_of(new, "hemp milk") == ["milk"]
    assert parents_of(new, "white tea") == ["tea", "soup"]


def test_without_a_file_the_page_offers_no_taxonomy(model: TaxoExpan, store: DecisionStore) -> None:
    review = open_review(model, store)
    page = review.get("/export")
    assert 'href="/export/taxonomy"' not in page
    assert "--taxonomy" in page  # how to get it
    assert review.browser.get("/export/taxonomy").status_code == 404
    assert printed_command(page) == ["apply", "TAXONOMY", "decisions.csv", "-o", "NEW"]
    review.decide("corn bread", merge="rye bread")
    review.decide("hemp milk", action="insert", accept="milk", move=["oat milk"])
    printed = printed_command(review.get("/export"))
    assert printed == ["apply", "TAXONOMY", "decisions.csv", "-o", "NEW"]
    assert "'hemp milk'" in review.get("/export/decisions.kgcl")
    assert "corn bread" in review.get("/export/decisions.sssom.tsv")


def items_csv(model: TaxoExpan, path: Path) -> Path:
    """The taxonomy of a model with column names of its own."""
    rows = [f"{id},{id},{'|'.join(model.taxonomy.parents(id))}" for id in model.taxonomy]
    return write_file(path, "\n".join(["Code,Item,Up", *rows, ""]))


@pytest.mark.parametrize("name", ["items.csv", "pantry.obo", "pantry.json"])
def test_the_command_on_the_page_writes_the_file_that_the_page_offers(
    model: TaxoExpan,
    store: DecisionStore,
    pantry: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    columns = None
    if name == "items.csv":
        items_csv(model, tmp_path / name)
        columns = {"id": "Code", "label": "Item", "parents": "Up"}
    else:
        run("convert", pantry, tmp_path / name)
    review = open_review(model, store, taxonomy=tmp_path / name, columns=columns)
    review.decide("hemp milk", accept="milk")
    review.decide("white tea", drop=review.proposed("white tea")[0])
    review.decide("white tea", accept="soup")
    if name == "pantry.json":
        review.decide("corn bread", merge="rye bread")
        review.decide("sheep cheese", action="insert", accept="cheese", move=["goat cheese"])
    write_file(tmp_path / "decisions.csv", review.get("/export/decisions.csv"))
    command = printed_command(review.get("/export"))
    run(*command)
    (written,) = tmp_path.glob("*-v2.*")
    assert str(written.name) == command[-1]
    date = re.compile("creation_date: .*")
    applied = date.sub("", written.read_text(encoding="utf-8"))
    assert applied == date.sub("", review.get("/export/taxonomy"))
    assert "white tea" in applied
    assert applied.count("created_by: Ada\n") == (2 if name == "pantry.obo" else 0)


FOODS = "id,label,parents,synonyms\nfood,food,,\nmilk,milk,food,\ntea,tea,food,\n"


def test_the_new_file_has_the_next_number(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    def offered(path: Path) -> str:
        review = open_review(model, store, taxonomy=path, known=read_taxonomy(path))
        page = review.get("/export")
        assert 'href="/export/taxonomy"' in page
        return printed_command(page)[-1]

    expected = {
        "foods.csv": "foods-v2.csv",
        "foods-v2.csv": "foods-v3.csv",
        "foods-v19.csv": "foods-v20.csv",
        "foods.2024.01.csv": "foods.2024.01-v2.csv",
        "my v2.csv": "my v2-v2.csv",
        "-v2.csv": "-v2-v2.csv",
    }
    for name, new in expected.items():
        path = write_file(tmp_path / name, FOODS)
        assert offered(path) == new
    run("convert", path, tmp_path / "foods-v3.csv.gz")
    assert offered(tmp_path / "foods-v3.csv.gz") == "foods-v4.csv.gz"
    folder = tmp_path / "wn3.1"
    folder.mkdir()
    assert offered(write_wordnet(folder)) == "wn3.1-v2"


def test_several_files_are_downloaded_as_an_archive(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    run("convert", pantry, tmp_path / "pantry.terms")
    review = open_review(model, store, taxonomy=tmp_path / "pantry.terms")
    review.decide("hemp milk", accept="milk")
    response = review.browser.get("/export/taxonomy")
    assert response.status_code == 200, response.text
    archive = zipfile.ZipFile(io.BytesIO(response.content))
    assert sorted(archive.namelist()) == ["pantry-v2.taxo", "pantry-v2.terms"]
    assert b"hemp milk" in archive.read("pantry-v2.terms")
    assert response.headers["content-disposition"].endswith("pantry-v2.zip")


def test_concepts_that_the_file_has_already_are_written_once(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    first = open_review(model, store, [Concept("", "Oat-Milk")], taxonomy=pantry)
    first.decide("oat milk", drop=first.proposed("oat milk")[0])  # it is not the same as oat milk
    first.decide("oat milk", accept="tea")
    assert figures_of(first.get("/export"))["Additions"] == "1"
    written = tmp_path / "pantry-v2.csv"
    assert downloaded(first, written).labels.count("Oat-Milk") == 1
    second = open_review(model, store, taxonomy=written)
    page = second.get("/export")
    assert figures_of(page) == {}
    assert re.search(r"\b1 accepted [^.]*already", text_of(page))
    assert second.browser.get("/export/taxonomy").content == written.read_bytes()
    second.decide("white tea", accept="tea")
    page = second.get("/export")
    assert figures_of(page)["Additions"] == "1"
    assert printed_command(page)[-1] == "pantry-v3.csv"


def test_a_new_concept_renamed_to_a_child_of_its_parent_is_named_and_linked(
    model: TaxoExpan, store: DecisionStore, pantry: Path
) -> None:
    review = open_review(model, store, [Concept("", "verdant tea")], taxonomy=pantry)
    review.decide("verdant tea", action="edit", label="green tea")
    review.decide("verdant tea", accept="tea")
    page = review.get("/export")
    assert "1 accepted placement is in the taxonomy already: 'green tea' is" in text_of(page)
    assert decide_again("verdant tea") in page


@pytest.fixture(scope="module")
def second(
    model: TaxoExpan, model_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> TaxoExpan:
    """A model that has learned the accepted hemp milk."""
    with DecisionStore.open(str(tmp_path_factory.mktemp("first") / "reviews.db")) as store:
        open_review(model, store).decide("hemp milk", accept="milk")
        feedback = store.feedback()
    second = TaxoExpan.load(model_directory)
    second.refit(model.taxonomy, feedback, recipe=Recipe(epochs=0, tower_epochs=0))
    return second


@pytest.fixture
def learned(model: TaxoExpan, second: TaxoExpan, store: DecisionStore, tmp_path: Path) -> Review:
    """A second review, with a model that has learned the accepted hemp milk; the file has not."""
    open_review(model, store).decide("hemp milk", accept="milk")
    rows = [f"{id},{id},{'|'.join(model.taxonomy.parents(id))}," for id in model.taxonomy]
    text = "\n".join(["id,label,parents,synonyms", *rows, ""])
    return open_review(second, store, taxonomy=write_file(tmp_path / "foods.csv", text))


def id_of(review: Review, label: str) -> str:
    return next(id for id in review.desk.taxonomy if review.desk.label_of(id) == label)


def test_a_concept_below_a_learned_one_is_in_every_file(learned: Review, tmp_path: Path) -> None:
    learned.decide("white tea", accept=id_of(learned, "hemp milk"))
    changes = tmp_path / "changes.kgcl"
    run("export", learned.store.name, "-o", changes, "--taxonomy", tmp_path / "foods.csv")
    kgcl = learned.get("/export/decisions.kgcl")
    assert kgcl == changes.read_text(encoding="utf-8")
    assert "'hemp milk'" in kgcl
    assert "'white tea'" in kgcl
    assert parents_of(downloaded(learned, tmp_path / "new.csv"), "white tea") == ["hemp milk"]


def test_a_merge_with_a_learned_concept_is_its_synonym(learned: Review, tmp_path: Path) -> None:
    learned.decide("white tea", merge=id_of(learned, "hemp milk"))
    learned.decide("corn bread", accept="rye bread")
    assert left_out(learned.get("/export")) == ""
    table = write_file(tmp_path / "decisions.csv", learned.get("/export/decisions.csv"))
    applied = tmp_path / "applied.csv"
    run("apply", tmp_path / "foods.csv", table, "-o", applied, "--allow-merges")
    for new in (downloaded(learned, tmp_path / "new.csv"), read_taxonomy(applied)):
        (milk,) = (each for each in new.concepts if each.label == "hemp milk")
        assert milk.synonyms == ("hemp drink", "white tea")
        assert "corn bread" in new.labels
    assert "white tea" in learned.get("/export/decisions.sssom.tsv")
    assert "white tea" in learned.get("/export/decisions.kgcl")


def test_a_decision_without_a_place_is_named_and_does_not_block_the_others(
    learned: Review,
) -> None:
    learned.decide("white tea", merge=id_of(learned, "hemp milk"))
    learned.decide("corn bread", accept="rye bread")
    learned.post("/undo", {"number": "1"})
    named = left_out(learned.get("/export"))
    assert re.search("'white tea'.*merged.*'hemp milk'", named)
    assert "'corn bread'" not in named
    for name in ("taxonomy", "decisions.kgcl"):
        text = learned.get(f"/export/{name}")
        assert "corn bread" in text
        assert "white tea" not in text


def test_a_learned_concept_is_not_its_own_parent(learned: Review) -> None:
    page = learned.decide("hemp milk", 422, accept=id_of(learned, "hemp milk"))
    assert "itself" in text_of(page)


def test_the_page_shows_what_will_change_by_branch_and_curator(
    model: TaxoExpan, store: DecisionStore
) -> None:
    review = open_review(model, store)
    review.decide("hemp milk", action="insert", accept="milk", move=["oat milk"])
    review.decide("white tea", accept="tea", **{"with": ["soup"]})
    review.decide("sheep cheese", action="reject", reason="out-of-scope")
    review.rename_curator("Bob")
    review.decide("corn bread", merge="rye bread")
    review.rename_curator("Cy <b>")
    review.propose("green apple juice", "lentil soup", confidence=0.5, levels=(1.0, 0.9, 0.5))
    review.decide("green apple juice", coarse="soup")
    page = review.get("/export")
    assert figures_of(page) == {"Additions": "3", "To refine": "1", "Moves": "1", "Merges": "1"}
    rows = table_rows(page)
    for row in (
        "hemp milk new below food > milk oat milk moved from milk to hemp milk Ada",
        "white tea new below food > tea Ada",
        "white tea also below food > soup Ada",
        "corn bread synonym of food > bread > rye bread Bob",
        "green apple juice new below food > soup to refine Cy <b>",
        *("Ada 2 0 1 0", "Bob 0 0 0 1", "Cy <b> 1 1 0 0"),
    ):
        assert row in rows, rows
    assert "Cy <b>" not in page
    branches = [text_of(each) for each in re.findall("<h3>(.*?)</h3>", page)]
    assert branches == [f"food › , then {name}" for name in ("bread", "milk", "soup", "tea")]


def test_of_many_changes_the_page_lists_some_of_each_branch(
    model: TaxoExpan, store: DecisionStore
) -> None:
    review = open_review(model, store)
    names = [f"milk number {number}" for number in range(400)]
    store.add_concepts([Concept(f"m{number}", name) for number, name in enumerate(names)])
    review.accept_at_once(names, "milk")
    listed = listed_milks(review, "milk number")
    assert 100 < len(listed) < len(names)
    assert f"{len(names) - len(listed)} more in this branch" in text_of(review.get("/export"))
    review.decide("white tea", accept="tea")  # the branches share the rows
    assert len(listed_milks(review, "milk number")) == len(listed) // 2


def listed_milks(review: Review, name: str) -> list[str]:
    return [row for row in table_rows(review.get("/export")) if name in row]
