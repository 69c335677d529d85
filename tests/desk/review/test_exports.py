from __future__ import annotations

import csv
import io
import re
import shlex
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.cli.main import main
from taxoexpan.desk.review.app import create_app
from taxoexpan.desk.review.exports import MAX_LISTED, _command, next_version
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, Decision, concept_key
from taxoexpan.desk.store.exports import changes_text
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import protect_pages
from taxoexpan.expansion import apply_suggestions
from taxoexpan.formats.changes.change_set import ChangeFormat
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions
from taxoexpan.placement.adding.acceptance import Acceptance
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind, Verdict
from taxoexpan.taxonomy import Additions, Concept
from taxoexpan.training.sampling import Recipe
from tests.support.review_cases import Review, open_review, text_of
from tests.support.suggestion_tables import read_suggestions


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DecisionStore]:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        yield store


def decided(review: Review) -> Review:
    """Accept, accept with two parents, merge and reject."""
    review.decide("hemp milk", accept="milk")
    review.decide("white tea", accept="tea", **{"with": ["soup"]})
    review.decide("corn bread", merge="rye bread")
    review.decide("sheep cheese", action="reject", reason="out-of-scope")
    return review


def test_only_accepted_and_rejected_proposals_are_in_the_table_and_the_page_says_so(
    model: TaxoExpan, store: DecisionStore
) -> None:
    review = open_review(model, store)
    rejected = review.concept("white tea").proposals[0].parent.id
    review.decide("hemp milk", accept="milk")
    review.decide("white tea", drop=rejected)
    review.decide("corn bread", action="defer")
    review.decide("sheep cheese", action="comment", comment="ask the dairy")
    table = review.get("/export/decisions.csv")
    assert [name in table for name in ("hemp milk", "white tea")] == [True, True]
    assert [name in table for name in ("corn bread", "sheep cheese")] == [False, False]
    text = text_of(review.get("/export"))
    assert "The accepted and the rejected proposals, for taxoexpan apply" in text
    assert "neither comments nor concepts that you were not sure about" in text


def test_the_decisions_are_a_table_for_apply(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    review = decided(open_review(model, store))
    path = tmp_path / "decisions.csv"
    path.write_text(review.get("/export/decisions.csv"), encoding="utf-8")
    rows = read_suggestions(path)
    accepted = [
        (row.query.label, row.parent.id, row.kind.value)
        for row in rows
        if row.decision == Verdict.ACCEPTED
    ]
    assert accepted == [
        ("hemp milk", "milk", "attach"),
        ("white tea", "tea", "attach"),
        ("white tea", "soup", "also"),
        ("corn bread", "rye bread", "merge"),
    ]
    assert {row.query.label for row in rows if row.decision == Verdict.REJECTED} == {"sheep cheese"}
    assert rows[0].query.definition == "a drink made of hemp seeds"
    assert rows[0].query.synonyms == ("hemp drink",)


def test_formulas_in_the_table_are_neutralized(model: TaxoExpan, store: DecisionStore) -> None:
    review = open_review(model, store, [Concept("", '=HYPERLINK("x") milk')])
    key = store.queue().concepts[0].key
    review.post("/decisions", {"concept": key, "version": "0", "accept": "milk"})
    assert "'=HYPERLINK" in review.get("/export/decisions.csv")


def test_changes_are_exported_as_kgcl_and_sssom(model: TaxoExpan, store: DecisionStore) -> None:
    review = decided(open_review(model, store))
    page = review.get("/export")
    for name in ("decisions.csv", "decisions.kgcl", "decisions.sssom.tsv"):
        assert f'href="/export/{name}"' in page
    kgcl = review.get("/export/decisions.kgcl")
    assert "'hemp milk'" in kgcl
    assert "soup" in kgcl
    assert "sheep cheese" not in kgcl
    sssom = review.get("/export/decisions.sssom.tsv")
    assert "rye bread" in sssom
    assert "corn bread" in sssom


def test_the_taxonomy_file_has_the_accepted_concepts(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    review = open_review(model, store, taxonomy=pantry)
    review.decide("hemp milk", accept="milk")
    review.decide("white tea", action="reject", reason="other")
    response = review.browser.get("/export/taxonomy")
    assert response.headers["content-disposition"].endswith("pantry-v2.csv")
    path = tmp_path / "new.csv"
    path.write_bytes(response.content)
    new = read_taxonomy(path)
    assert len(new) == len(model.taxonomy) + 1
    assert new.parents("hemp milk") == ("milk",)


def test_a_change_that_the_file_cannot_hold_is_left_out_and_named_on_the_page(
    model: TaxoExpan, store: DecisionStore, pantry: Path
) -> None:
    review = decided(open_review(model, store, taxonomy=pantry))
    page = text_of(review.get("/export"))
    assert "; this file has no synonyms." in page
    assert "--allow-merges" not in page
    response = review.browser.get("/export/taxonomy")
    assert response.status_code == 200
    assert b"hemp milk" in response.content
    # A browser shows no page in answer to a link with this attribute.
    assert not re.search(r"<a [^>]*\bdownload\b[^>/]*>", review.get("/export"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("foods.txt", "food\nfood > milk\nfood > milk > oat milk\nfood > tea\nfood > soup\n"),
        ("foods.md", "- food\n  - milk\n    - oat milk\n  - tea\n  - soup\n"),
        (
            "foods.json",
            """[{"id": "food", "label": "food", "parent": null},
            {"id": "milk", "label": "milk", "parent": "food"},
            {"id": "tea", "label": "tea", "parent": "food"},
            {"id": "soup", "label": "soup", "parent": "food"}]""",
        ),
    ],
)
def test_a_concept_with_two_parents_is_left_out_of_a_file_with_one_parent_and_named(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    file = TaxonomyFile.open(path)
    ids = {each.label: each.id for each in file.taxonomy.concepts}
    review = open_review(model, store, taxonomy=path)
    object.__setattr__(review.desk, "taxonomy", file.taxonomy)
    review.decide("hemp milk", accept=ids["milk"])
    assert review.browser.get("/export/taxonomy").status_code == 200
    review.decide("white tea", accept=ids["tea"], **{"with": [ids["soup"]]})
    below = Suggestion(Concept("", ""), 0, review.concept("white tea").concept)
    store.append([Decision("corn bread", Action.ACCEPT, 0, (below,))], "Ada")
    page = review.get("/export")
    assert "'white tea' is below 'tea' and 'soup', but a concept of this file has" in text_of(page)
    assert 'href="/?status=all&amp;concept=white%20tea&amp;again=1"' in page
    assert "'corn bread' is accepted below 'white tea'" in text_of(page)
    assert "Additions 1 " in text_of(page)
    response = review.browser.get("/export/taxonomy")
    assert response.status_code == 200
    assert b"hemp milk" in response.content
    assert b"white tea" not in response.content
    assert "white tea" in review.get("/export/decisions.csv")


def test_a_concept_with_two_parents_is_in_a_file_that_has_room_for_both(
    model: TaxoExpan, store: DecisionStore, pantry: Path
) -> None:
    review = open_review(model, store, taxonomy=pantry)
    review.decide("white tea", accept="tea", **{"with": ["soup"]})
    assert "only one parent" not in text_of(review.get("/export"))
    assert b"white tea" in review.browser.get("/export/taxonomy").content


FOODS = "id,label,parents,synonyms\nfood,food,,\nmilk,milk,food,\ntea,tea,food,\n"


@pytest.mark.parametrize(
    ("name", "text", "lost"),
    [
        ("foods.csv", FOODS, "definitions"),
        ("foods.txt", "food\nfood > milk\nfood > tea\n", "synonyms and definitions"),
    ],
)
def test_texts_that_the_file_has_no_place_for_are_named_before_the_download(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path, name: str, text: str, lost: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    review = open_review(model, store, taxonomy=path)
    object.__setattr__(review.desk, "taxonomy", TaxonomyFile.open(path).taxonomy)
    ids = {each.label: each.id for each in review.desk.taxonomy.concepts}
    review.decide("white tea", accept=ids["tea"])
    assert "no place for" not in text_of(review.get("/export"))
    review.decide("hemp milk", accept=ids["milk"])
    assert f"The file has no place for {lost}" in text_of(review.get("/export"))
    assert "a drink made of hemp seeds" not in review.get("/export/taxonomy")
    assert "a drink made of hemp seeds" in review.get("/export/decisions.csv")


def test_texts_that_the_file_has_a_place_for_are_not_named(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    path = tmp_path / "foods.csv"
    path.write_text(FOODS.replace("synonyms", "definition"), encoding="utf-8")
    review = open_review(model, store, taxonomy=path)
    review.decide("hemp milk", accept="milk")
    assert "no place for synonyms;" in text_of(review.get("/export"))
    assert "a drink made of hemp seeds" in review.get("/export/taxonomy")


@pytest.mark.parametrize(
    ("name", "text", "concept", "merge"),
    [
        ("foods.csv", FOODS, Concept("", "kimchi", ("kim|chee",)), False),
        ("foods.csv", FOODS, Concept("", "kim|chee"), True),
        ("foods.txt", "food\nfood > milk\nfood > tea\n", Concept("", "kim > chi"), False),
    ],
)
def test_a_concept_that_the_file_cannot_hold_is_left_out_named_and_linked(
    model: TaxoExpan,
    store: DecisionStore,
    tmp_path: Path,
    name: str,
    text: str,
    concept: Concept,
    merge: bool,
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    others = [Concept("", f"hemp, number {number}") for number in range(5)]
    review = open_review(model, store, [*others, concept], taxonomy=path)
    object.__setattr__(review.desk, "taxonomy", TaxonomyFile.open(path).taxonomy)
    ids = {each.label: each.id for each in review.desk.taxonomy.concepts}
    for each in others:
        review.decide(each.label, accept=ids["milk"])
    review.decide(concept.label, **{"merge" if merge else "accept": ids["tea"]})
    page, response = review.get("/export"), review.browser.get("/export/taxonomy")
    assert response.status_code == 200
    assert b"hemp, number 4" in response.content
    assert b"kim" not in response.content
    assert f"{concept.label!r}" in text_of(page)
    key = quote(concept_key(concept.label))
    assert f'href="/?status=all&amp;concept={key}&amp;again=1"' in page
    assert concept.label in review.get("/export/decisions.csv")


def test_a_concept_below_one_that_the_file_cannot_hold_is_named_too(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    path = tmp_path / "foods.csv"
    path.write_text(FOODS, encoding="utf-8")
    kimchi = Concept("", "kimchi", ("kim|chee",))
    review = open_review(model, store, [kimchi, Concept("", "white kimchi")], taxonomy=path)
    review.decide("kimchi", accept="milk")
    below = Suggestion(Concept("", ""), 0, review.concept("kimchi").concept)
    store.append([Decision("white kimchi", Action.ACCEPT, 0, (below,))], "Ada")
    page = text_of(review.get("/export"))
    assert "'kim|chee' of 'kimchi'" in page
    assert "'white kimchi' is accepted below 'kimchi'" in page
    assert review.browser.get("/export/taxonomy").content == path.read_bytes()


def test_a_known_name_that_a_person_has_placed_is_written_once(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    review = open_review(model, store, [Concept("", "Oat-Milk")], taxonomy=pantry)
    review.decide("oat milk", drop=review.concept("oat milk").proposals[0].parent.id)
    review.decide("oat milk", accept="tea")
    assert "Additions 1" in text_of(review.get("/export"))
    written = tmp_path / "pantry-v2.csv"
    written.write_bytes(review.browser.get("/export/taxonomy").content)
    again = open_review(model, store, [Concept("", "Oat-Milk")], taxonomy=written)
    added = [c.label for c in read_taxonomy(written).concepts if c.label == "Oat-Milk"]
    assert added == ["Oat-Milk"]
    assert "1 accepted placement is in the taxonomy already" in text_of(again.get("/export"))
    assert again.browser.get("/export/taxonomy").content == written.read_bytes()


def test_decisions_about_concepts_that_a_later_model_has_learned_are_exported(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    old = tmp_path / "pantry.json"
    assert main(["convert", str(pantry), str(old)]) == 0
    first = open_review(model, store, taxonomy=old)
    first.decide("hemp milk", accept="milk")
    learned = first.concept("hemp milk").concept
    grown = model.taxonomy.expanded(Additions((learned,), (("milk", learned.id),)))
    desk = replace(first.desk, taxonomy=grown)
    later = Review(
        desk, TestClient(protect_pages(create_app(desk), Access()), "http://127.0.0.1:8000")
    )
    later.browser.follow_redirects = False
    later.decide("white tea", accept=learned.id)
    later.decide("corn bread", merge=learned.id)
    for name in ("decisions.kgcl", "decisions.sssom.tsv"):
        assert "hemp" in later.get(f"/export/{name}")
    path = tmp_path / "new.json"
    path.write_bytes(later.browser.get("/export/taxonomy").content)
    new = read_taxonomy(path)
    (hemp_milk,) = [each for each in new.concepts if each.label == "hemp milk"]
    assert hemp_milk.synonyms == ("hemp drink", "corn bread")
    assert [new.concept(id).label for id in new.children(hemp_milk.id)] == ["white tea"]


def test_several_files_are_downloaded_as_an_archive(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    terms = "".join(f"{id}\t{id}\n" for id in model.taxonomy)
    pairs = "".join(f"{child}\t{parent}\n" for parent, child in model.taxonomy.relations)
    (tmp_path / "pantry.terms").write_text(terms, encoding="utf-8")
    (tmp_path / "pantry.taxo").write_text(pairs, encoding="utf-8")
    review = open_review(model, store, taxonomy=tmp_path / "pantry.terms")
    review.decide("hemp milk", accept="milk")
    response = review.browser.get("/export/taxonomy")
    assert response.status_code == 200, response.text
    names = zipfile.ZipFile(io.BytesIO(response.content)).namelist()
    assert sorted(names) == ["pantry-v2.taxo", "pantry-v2.terms"]
    assert response.headers["content-disposition"].endswith("pantry-v2.zip")


def test_the_page_quotes_the_command_with_what_it_needs(
    model: TaxoExpan, store: DecisionStore
) -> None:
    review = open_review(model, store)
    page = text_of(review.get("/export"))
    assert "taxoexpan apply TAXONOMY decisions.csv -o NEW" in page
    assert "--taxonomy FILE" in page
    decided(review)
    assert "--allow-merges -o NEW" in text_of(review.get("/export"))
    assert review.browser.get("/export/taxonomy").status_code == 404


def test_the_command_reads_the_file_as_the_review_did(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    rows = [f"{id},{'|'.join(model.taxonomy.parents(id))}" for id in model.taxonomy]
    path = tmp_path / "foods.csv"
    path.write_text("\n".join(["Item,Up", *rows, ""]), encoding="utf-8")
    options = ReadOptions(columns={"id": "Item", "label": "Item", "parents": "Up"})
    review = open_review(model, store)
    desk = replace(review.desk, file=TaxonomyFile.open(path, options=options))
    command = _command(desk.file, [])
    assert command.endswith("-o foods-v2.csv"), command
    assert shlex.split(command)[4:6] == ["--columns", 'id="Item",label="Item",parents="Up"']


@pytest.fixture
def learned(
    model: TaxoExpan, model_directory: Path, store: DecisionStore, tmp_path: Path
) -> Review:
    """A second review, with a model that has learned the accepted hemp milk; the file has not."""
    open_review(model, store).decide("hemp milk", accept="milk")
    second = TaxoExpan.load(model_directory)
    second.refit(model.taxonomy, store.feedback(), recipe=Recipe(epochs=0, tower_epochs=0))
    rows = [f"{id},{id},{'|'.join(model.taxonomy.parents(id))}," for id in model.taxonomy]
    path = tmp_path / "foods.csv"
    path.write_text("\n".join(["id,label,parents,synonyms", *rows, ""]), encoding="utf-8")
    return open_review(second, store, taxonomy=path)


def new_id(review: Review, label: str) -> str:
    return next(id for id in review.desk.taxonomy if review.desk.label_of(id) == label)


def test_a_concept_below_a_learned_one_is_in_every_file(learned: Review, tmp_path: Path) -> None:
    learned.decide("white tea", accept=new_id(learned, "hemp milk"))
    file = learned.desk.file
    assert file is not None
    decided = learned.store.export_suggestions()
    text, _ = changes_text(file.taxonomy, file, decided, ChangeFormat.KGCL)
    assert learned.get("/export/decisions.kgcl") == text
    assert "hemp milk" in text
    assert "white tea" in text
    path = tmp_path / "new.csv"
    path.write_text(learned.get("/export/taxonomy"), encoding="utf-8")
    new = read_taxonomy(path)
    (tea,) = (id for id in new if new.concept(id).label == "white tea")
    assert [new.concept(id).label for id in new.parents(tea)] == ["hemp milk"]


def test_a_merge_with_a_learned_concept_is_its_synonym(learned: Review, tmp_path: Path) -> None:
    learned.decide("white tea", merge=new_id(learned, "hemp milk"))
    learned.decide("corn bread", accept="rye bread")
    assert "left out" not in learned.get("/export")
    page = tmp_path / "page.csv"
    page.write_text(learned.get("/export/taxonomy"), encoding="utf-8")
    table = tmp_path / "decisions.csv"
    table.write_text(learned.get("/export/decisions.csv"), encoding="utf-8")
    assert learned.desk.file is not None
    allowed = Acceptance(allow_merges=True)
    apply_suggestions(learned.desk.file, read_suggestions(table), tmp_path / "applied.csv", allowed)
    for path in (page, tmp_path / "applied.csv"):
        new = read_taxonomy(path)
        (milk,) = (each for each in map(new.concept, new) if each.label == "hemp milk")
        assert milk.synonyms == ("hemp drink", "white tea")
        assert "corn bread" in new.labels
    assert "white tea" in learned.get("/export/decisions.sssom.tsv")
    assert "white tea" in learned.get("/export/decisions.kgcl")


def test_a_decision_without_a_place_is_named_and_does_not_block_the_others(
    learned: Review,
) -> None:
    learned.decide("white tea", merge=new_id(learned, "hemp milk"))
    learned.decide("corn bread", accept="rye bread")
    learned.store.undo("Ada", 1)
    page = text_of(learned.get("/export"))
    assert "'white tea' is merged with 'hemp milk'" in page
    assert "undo this decision" in page
    for name in ("taxonomy", "decisions.kgcl"):
        text = learned.get(f"/export/{name}")
        assert "corn bread" in text
        assert "white tea" not in text


def test_a_learned_concept_is_not_its_own_parent(learned: Review) -> None:
    page = learned.decide("hemp milk", 422, accept=new_id(learned, "hemp milk"))
    assert "This is the concept itself" in text_of(page)


def rows_of(page: str) -> list[str]:
    """The visible text of every row of the page's tables."""
    rows = re.findall("<tr>.*?</tr>", page, re.DOTALL)
    return [text_of(row).replace(" › , then ", " > ") for row in rows]


def figures_of(page: str) -> dict[str, str]:
    pairs = re.findall(r'<dt>(.*?)</dt><dd class="value">(.*?)</dd>', page)
    return dict(pairs)


def test_the_page_shows_what_will_change_by_branch_and_curator(
    model: TaxoExpan, store: DecisionStore
) -> None:
    review = open_review(model, store)
    review.decide("hemp milk", action="insert", accept="milk", move=["oat milk"])
    review.decide("white tea", accept="tea", **{"with": ["soup"]})
    review.decide("sheep cheese", action="reject", reason="out-of-scope")
    review.browser.cookies.set("taxoexpan_curator", "Bob")
    review.decide("corn bread", merge="rye bread")
    coarse = Suggestion(
        *(Concept("", ""), 0, model.taxonomy.concept("soup"), ("food", "soup")),
        kind=SuggestionKind.COARSE,
    )
    key = concept_key("green apple juice")
    accepted = Decision(key, Action.ACCEPT, 0, (coarse,), batch="b")
    store.append([accepted], "Cy <b>")  # who has confirmed a bulk action
    page = review.get("/export")
    assert figures_of(page) == {"Additions": "3", "To refine": "1", "Moves": "1", "Merges": "1"}
    rows = rows_of(page)
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


def test_the_decision_that_stands_names_the_curator(model: TaxoExpan, store: DecisionStore) -> None:
    review = open_review(model, store)
    review.decide("white tea", accept="soup")
    review.browser.cookies.set("taxoexpan_curator", "Bob")
    review.decide("white tea", accept="tea")
    review.browser.cookies.set("taxoexpan_curator", "Cy")
    review.decide("white tea", drop=review.concept("white tea").proposals[-1].parent.id)
    assert "white tea new below food > tea Bob" in rows_of(review.get("/export"))
    exported = [(s.parent.id, s.curator) for s in store.export_suggestions() if s.is_decided]
    assert exported == [("tea", "Bob")]
    store.undo("Cy")
    store.undo("Bob")
    assert "white tea new below food > soup Ada" in rows_of(review.get("/export"))


def test_concepts_that_the_file_has_already_are_not_listed_again(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    first = open_review(model, store, taxonomy=pantry)
    first.decide("hemp milk", accept="milk")
    written = tmp_path / "pantry-v2.csv"
    written.write_bytes(first.browser.get("/export/taxonomy").content)
    second = open_review(model, store, taxonomy=written)
    page = text_of(second.get("/export"))
    assert "1 accepted placement is in the taxonomy already." in page
    assert "no accepted decision changes the taxonomy" in page
    second.decide("white tea", accept="tea")
    page = second.get("/export")
    assert figures_of(page)["Additions"] == "1"
    assert "pantry-v3.csv" in page


def test_a_move_that_is_not_possible_is_explained(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    parents = {id: "|".join(model.taxonomy.parents(id)) for id in model.taxonomy}
    rows = [f"{id},{id},{parent}" for id, parent in (parents | {"oat milk": "soup"}).items()]
    path = tmp_path / "foods.csv"
    path.write_text("\n".join(["id,label,parents", *rows, ""]), encoding="utf-8")
    review = open_review(model, store, taxonomy=path)
    review.decide("hemp milk", action="insert", accept="milk", move=["oat milk"])
    page = review.get("/export")
    assert figures_of(page) == {"Additions": "1", "To refine": "0", "Moves": "0", "Merges": "0"}
    assert "'oat milk' is not moved from 'milk' below 'hemp milk'" in text_of(page)


def test_only_some_hundred_changes_are_listed(model: TaxoExpan, store: DecisionStore) -> None:
    review = open_review(model, store)
    many = [Concept(f"m{i}", f"milk number {i}") for i in range(MAX_LISTED + 50)]
    store.add_concepts(many)
    below = Suggestion(Concept("", ""), 0, model.taxonomy.concept("milk"), ("food", "milk"))
    accepted = [Decision(concept_key(c.label), Action.ACCEPT, 0, (below,)) for c in many]
    store.append(accepted, "Ada")
    page = review.get("/export")
    assert figures_of(page)["Additions"] == f"{len(many)}"
    assert sum("milk number" in row for row in rows_of(page)) == MAX_LISTED
    assert "And 50 more in this branch." in text_of(page)
    review.decide("white tea", accept="tea")  # the branches share the rows
    assert "And 200 more in this branch." in text_of(review.get("/export"))


def test_the_history_is_a_table_with_comments(model: TaxoExpan, store: DecisionStore) -> None:
    review = decided(open_review(model, store))
    review.decide("green apple juice", action="comment", comment="=1+1 ask the press")
    assert 'href="/export/history.csv"' in review.get("/export")
    response = review.browser.get("/export/history.csv")
    assert response.headers["content-disposition"].endswith("history.csv")
    table = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["action"] for row in table] == ["comment", "reject", *["accept"] * 3]
    assert table[0]["comment"] == "'=1+1 ask the press"
    assert {row["curator"] for row in table} == {"Ada"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("topics.ttl", "topics-v2.ttl"),
        ("topics-v2.ttl", "topics-v3.ttl"),
        ("topics-v9.csv.gz", "topics-v10.csv.gz"),
        ("go.2024.01.obo", "go.2024.01-v2.obo"),
        ("my v2.csv", "my v2-v2.csv"),
        ("-v2", "-v2-v2"),
    ],
)
def test_the_next_version_of_a_file_has_the_next_number(name: str, expected: str) -> None:
    assert next_version(Path(name)) == expected


def test_a_directory_has_no_suffix(tmp_path: Path) -> None:
    (tmp_path / "wn3.1").mkdir()
    assert next_version(tmp_path / "wn3.1") == "wn3.1-v2"


def test_download_and_command_write_the_same_note_with_the_curator(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    taxonomy = tmp_path / "pantry.obo"
    assert main(["convert", str(pantry), str(taxonomy)]) == 0
    review = open_review(model, store, taxonomy=taxonomy)
    review.decide("white tea", drop=review.concept("white tea").proposals[0].parent.id)
    for label in ("hemp milk", "white tea"):
        review.decide(label, accept=review.concept(label).proposals[0].parent.id)
    table = tmp_path / "decisions.csv"
    table.write_text(review.get("/export/decisions.csv"), encoding="utf-8")
    assert {row.curator for row in read_suggestions(table)} == {"Ada"}
    output = tmp_path / "pantry-v2.obo"
    assert main(["apply", str(taxonomy), str(table), "-o", str(output)]) == 0
    date = re.compile("creation_date: .*")
    applied = date.sub("", output.read_text(encoding="utf-8"))
    assert applied == date.sub("", review.get("/export/taxonomy"))
    assert applied.count("created_by: Ada\n") == 2
    assert "taxoexpan" not in applied
