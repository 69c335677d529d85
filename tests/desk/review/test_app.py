"""The review pages as a browser without scripts sees them."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.decisions.suggestion import SuggestionKind
from taxoexpan.desk.store import database
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, LogEntry, Reason, Status
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.taxonomy import Concept
from tests.support.messy_pantry import shop
from tests.support.review_cases import NEW, Review, field, open_review, text_of
from tests.support.small_models import SMALL


@pytest.fixture
def review(model: TaxoExpan, tmp_path: Path) -> Iterator[Review]:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        yield open_review(model, store)


def test_the_first_page_shows_the_queue_and_its_first_concept(review: Review) -> None:
    page = review.get("/")
    text = text_of(page)
    assert "0 of 5 decided" in text
    for concept in NEW:
        assert concept.label in text
    first = review.store.queue().concepts[0]
    assert f'<h1 id="name" tabindex="-1" data-focus><bdi>{first.concept.label}</bdi>' in page
    assert first.proposals[0].parent.label in text


def test_a_concept_shows_its_texts_its_proposals_and_the_tree_around_the_first(
    review: Review,
) -> None:
    page = review.get("/?concept=hemp+milk")
    text = text_of(page)
    assert "also called hemp drink" in text
    assert "a drink made of hemp seeds" in text
    assert len(re.findall('<li class="proposal', page)) == len(
        review.concept("hemp milk").proposals
    )
    assert "oat milk" in text  # a child of the first proposal, milk
    assert "tea" in text  # a sibling of milk


def test_reasons_are_loaded_when_the_concept_is_open(review: Review) -> None:
    parent = review.concept("hemp milk").proposals[0].parent.id
    part = review.get(f"/why?concept=hemp+milk&parent={parent}", **{"HX-Request": "true"})
    assert "shares the word 'milk'" in text_of(part)
    assert "<html" not in part
    whole = review.get(f"/why?concept=hemp+milk&parent={parent}")
    assert "<html" in whole


def test_the_tree_around_a_runner_up_is_loaded_on_request(review: Review) -> None:
    other = review.concept("hemp milk").proposals[1].parent
    part = review.get(f"/around?concept=hemp+milk&parent={other.id}", **{"HX-Request": "true"})
    assert f'aria-keyshortcuts="t"><bdi>{other.label}</bdi>' in part
    assert '<li class="new"><bdi>hemp milk</bdi>' in part
    assert "similar to" in text_of(part)
    branch = review.get("/branch?parent=milk", **{"HX-Request": "true"})
    assert "oat milk" in branch


def test_accepting_opens_the_next_concept_and_says_what_was_done(review: Review) -> None:
    parent = review.concept("hemp milk").proposals[0].parent
    url = review.decide("hemp milk", accept=parent.id, next="white tea")
    accepted = review.concept("hemp milk")
    assert accepted.status == Status.ACCEPTED
    assert [each.parent.id for each in accepted.accepted] == [parent.id]
    assert accepted.accepted[0].rank == 1
    page = review.get(url)
    assert f"hemp milk: accepted below {parent.label}." in text_of(page)
    assert '<h1 id="name" tabindex="-1" data-focus><bdi>white tea</bdi>' in page


def test_a_searched_parent_is_accepted_without_a_rank(review: Review) -> None:
    found = review.get("/search?find=SAUC&panel=parent", **{"HX-Request": "true"})
    assert 'name="accept" value="sauce"' in found
    review.decide("white tea", accept="sauce")
    placement = review.concept("white tea").accepted[0]
    assert (placement.parent.id, placement.rank, placement.confidence) == ("sauce", 0, None)
    assert placement.path == ("food", "sauce")


@pytest.fixture(scope="module")
def deep_model() -> TaxoExpan:
    """A model with a confidence, of a taxonomy with three levels."""
    settings = {**SMALL, "epochs": 3, "validation": "leaves", "validation_fraction": 0.35}
    return TaxoExpan("fast", seed=1, device="cpu", **settings).fit(shop())


def test_a_concept_is_accepted_further_up_to_be_refined(
    deep_model: TaxoExpan, tmp_path: Path
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        review = open_review(deep_model, store)
        first = review.concept("hemp milk").proposals[0]
        assert first.path[:2] == ("shop", "food")
        assert len(first.levels) == len(first.path) > 2
        page = review.get("/?concept=hemp+milk")
        assert 'name="coarse" value="food"' in page
        assert len(re.findall('data-key="(?:a Enter )?s\\b', page)) == 1
        assert f"food {first.levels[1]:.2f}" in text_of(page)
        done = review.decide("hemp milk", coarse="food")
        assert "hemp milk: accepted below food." in text_of(review.get(done))
        (accepted,) = review.concept("hemp milk").accepted
        assert "below shop › , then food , to be refined" in text_of(review.get("/?status=coarse"))
        assert not store.feedback()  # a finer proposal may still be right
    found = accepted.parent.id, accepted.kind, accepted.rank, accepted.levels
    assert found == ("food", SuggestionKind.COARSE, 0, first.levels[:2])


def test_a_concept_is_not_placed_coarsely_below_a_rejected_parent(
    deep_model: TaxoExpan, tmp_path: Path
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        review = open_review(deep_model, store, [Concept("", "hemp milk")])
        review.propose("hemp milk", "oat milk", "milk", confidence=0.6)
        review.decide("hemp milk", drop="milk")
        levels = (1.0, 0.99, 0.98, 0.1)
        review.propose("hemp milk", "oat milk", confidence=0.6, levels=levels)
        page = review.get("/?concept=hemp+milk")
        assert re.findall('name="coarse" value="(.*?)"', page) == ["food"]
        assert re.findall('name="coarse" value="(.*?)" data-key="s"', page) == ["food"]
        assert "no longer shown" in review.decide("hemp milk", 422, coarse="milk")
        page = review.get("/bulk?rule=safe&min=0.9")
        assert "shop › , then food" in text_of(page)
        form = {"min": "0.9", "rule": "safe", "seen": field(page, "seen"), "confirmed": "1"}
        review.post("/bulk", form)
        assert [each.parent for each in review.placed("hemp milk")] == ["food"]
        rows = csv.DictReader(review.get("/export/decisions.csv").splitlines())
        found = [(row["parent_id"], row["kind"], row["decision"]) for row in rows]
        assert found == [("food", "coarse", "accepted"), ("milk", "attach", "rejected")]


def test_many_concepts_are_accepted_as_deep_as_is_sure_and_listed_to_be_refined(
    deep_model: TaxoExpan, tmp_path: Path
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        review = open_review(deep_model, store)
        queue = store.queue(QueueQuery(merge=False)).concepts
        firsts = [each.proposals[0] for each in queue]
        least = min(firsts, key=lambda first: first.levels[-1])
        assert least.levels[-2] > least.levels[-1]
        limit = round((least.levels[-2] + least.levels[-1]) / 2, 6)
        page = review.get(f"/bulk?rule=safe&unsuitable=1&min={limit}")
        assert "As deep as is sure" in text_of(page)
        form = {"min": str(limit), "rule": "safe", "seen": field(page, "seen"), "request": "r"}
        form |= {"confirmed": "1", "unsuitable": "1"}
        done = review.post("/bulk", form)
        placed = {}
        for queued in store.queue(QueueQuery(statuses=[Status.ACCEPTED])).concepts:
            (own,) = queued.accepted
            placed[queued.key] = own
            assert own.levels[-1] >= limit
            expected = own.levels[-1] if own.rank != 1 else queued.proposals[0].confidence
            assert own.confidence == expected
            first = queued.proposals[0]
            assert own.path == first.path[: len(own.path)]
            deeper = first.levels[len(own.levels) :]
            assert not deeper or deeper[0] < limit
        coarse = {key for key, own in placed.items() if own.kind == SuggestionKind.COARSE}
        assert f"{len(placed)} concepts accepted." in text_of(review.get(done))
        assert coarse
        assert coarse < set(placed)
        listed = store.queue(QueueQuery(coarse=True)).concepts
        assert {each.key for each in listed} == coarse
        listed_text = text_of(review.get("/?status=coarse&view=queue"))
        assert "To refine" in listed_text
        for key in placed:
            assert (key in listed_text) == (key in coarse)


def test_several_parents_are_accepted_together(review: Review) -> None:
    first = review.concept("white tea").proposals[0].parent.id
    review.decide("white tea", accept=first, **{"with": ["soup", first]})
    placements = review.concept("white tea").accepted
    assert [(each.parent.id, each.kind) for each in placements] == [
        (first, placements[0].kind),
        ("soup", SuggestionKind.ALSO),
    ]


def options(page: str) -> list[dict[str, list[str]]]:
    """The fields of the forms that a page offers for redundant parents."""
    panel = page.partition('id="panel"')[2].partition("</section>")[0]
    forms = [form.partition("</form>")[0] for form in panel.split("<form")[1:]]
    read = [re.findall(r'name="([^"]+)" value="([^"]*)"', form) for form in forms]
    return [{n: [v for m, v in fields if m == n] for n, _ in fields} for fields in read]


@pytest.mark.parametrize("order", [("milk", "oat milk"), ("oat milk", "milk")])
def test_a_parent_above_another_one_is_named_before_both_are_accepted(
    review: Review, order: tuple[str, str]
) -> None:
    page = review.decide("hemp milk", 422, accept=order[0], **{"with": [order[1]]})
    text = text_of(page)
    assert "milk is redundant : oat milk is below it" in text
    assert review.store.history() == []
    for fields, expected in zip(options(page), (["oat milk"], ["milk"], order), strict=True):
        version = str(review.concept("hemp milk").version)
        review.post("/decisions", {**fields, "version": version, "request": version})
        found = [each.parent.id for each in review.concept("hemp milk").accepted]
        assert found == [*expected]
        review.post("/undo", {})


def test_the_children_that_move_are_kept_with_the_parent_that_is_kept(review: Review) -> None:
    form = {"accept": "milk", "action": "insert", "move": ["red milk"], "with": ["oat milk", "tea"]}
    page = review.decide("hemp milk", 422, **form)
    narrow, broad, _ = options(page)
    assert "Accept only milk , and move red milk and tea" in text_of(page)
    review.post("/decisions", broad)
    first, second = review.concept("hemp milk").accepted
    assert (first.parent.id, first.moves, second.parent.id) == ("milk", ("red milk",), "tea")
    review.post("/undo", {})
    review.post("/decisions", {**narrow, "version": "2", "request": "r-2"})
    assert [each.moves for each in review.concept("hemp milk").accepted] == [(), ()]


def test_chosen_parents_stay_marked_while_searching(review: Review) -> None:
    values = {"concept": "white tea", "with": ["soup", "berry"], "back": "order=parent"}
    page = review.get(review.post("/choose", values))
    assert 'name="with" value="soup" checked' in page
    assert 'name="with" value="berry" checked' in page
    assert '<option value="parent" selected>' in page


def test_merging_adds_the_name_to_an_existing_concept(review: Review) -> None:
    review.decide("hemp milk", merge="oat milk")
    placement = review.concept("hemp milk").accepted[0]
    assert (placement.parent.id, placement.kind) == ("oat milk", SuggestionKind.MERGE)


def test_inserting_moves_children_of_the_parent(review: Review) -> None:
    page = review.get("/?concept=hemp+milk&panel=insert&parent=milk")
    assert 'name="move" value="oat milk"' in page
    moves = {"move": ["oat milk", "red milk"], "with": ["soup"]}
    done = review.decide("hemp milk", accept="milk", action="insert", **moves)
    told = "hemp milk: accepted below milk and soup, with oat milk and red milk moved below it."
    assert told in text_of(review.get(done))
    assert "below milk , with oat milk , red milk moved below it" in text_of(review.get("/history"))
    placement, further = review.concept("hemp milk").accepted
    assert (placement.kind, placement.moves) == (SuggestionKind.INSERT, ("oat milk", "red milk"))
    assert (further.parent.id, further.kind) == ("soup", SuggestionKind.ALSO)


def propose_insert(review: Review) -> None:
    """Let the first proposal for hemp milk move two existing milks."""
    queued = review.concept("hemp milk")
    first, *others = queued.proposals
    moves = ("oat milk", "red milk")
    first = replace(first, kind=SuggestionKind.INSERT, moves=moves, query=queued.concept)
    review.store.set_proposals("pantry 1", [first, *others])


def test_a_plain_accept_of_an_insert_moves_nothing(review: Review) -> None:
    propose_insert(review)
    done = review.decide("hemp milk", accept="milk")
    assert "hemp milk: accepted below milk." in text_of(review.get(done))
    (placement,) = review.concept("hemp milk").accepted
    assert (placement.kind, placement.moves) == (SuggestionKind.ATTACH, ())
    assert placement.rank == 1


def test_an_insert_has_a_button_that_names_what_it_moves(review: Review) -> None:
    propose_insert(review)
    page = review.get("/?concept=hemp+milk")
    assert "Accept, and move oat milk and red milk here" in text_of(page)
    shown = re.findall(r'name="moves:milk" value="([^"]*)"', page)
    assert shown == ["oat milk", "red milk"]
    # What was shown is moved, even if another model has proposed something else since.
    queued = review.concept("hemp milk")
    review.store.set_proposals("later", [replace(queued.proposals[0], moves=("goat milk",))])
    done = review.decide("hemp milk", insert="milk", **{"moves:milk": shown})
    told = "hemp milk: accepted below milk, with oat milk and red milk moved below it."
    assert told in text_of(review.get(done))
    (placement,) = review.concept("hemp milk").accepted
    assert (placement.kind, placement.moves) == (SuggestionKind.INSERT, ("oat milk", "red milk"))


def test_a_batch_moves_nothing_and_says_so(review: Review) -> None:
    propose_insert(review)
    page = review.get("/bulk?min=0")
    assert "Nothing is moved: 1 of these proposals would also move" in text_of(page)
    form = {"min": "0", "seen": field(page, "seen"), "confirmed": "1"}
    review.post("/bulk", form)
    (placement,) = review.concept("hemp milk").accepted
    assert (placement.kind, placement.moves) == (SuggestionKind.ATTACH, ())


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ({"merge": "tea", "with": ["soup"]}, "merged"),
        ({"accept": "tea", "action": "insert", "move": "oat milk"}, "children"),
        ({"accept": "tea", "action": "insert"}, "No child"),
        ({"action": "reject"}, "reason"),
        ({"action": "comment", "comment": "x" * 3000}, "2,000"),
    ],
)
def test_a_form_that_makes_no_decision_is_explained(
    review: Review, form: dict[str, object], word: str
) -> None:
    page = review.decide("white tea", 422, **form)
    assert word in text_of(page)
    assert review.store.history() == []


def test_a_request_that_is_too_large_is_refused(review: Review) -> None:
    values = {"concept": "white tea", "version": "0", "comment": "x" * 2_000_000}
    assert review.browser.post("/decisions", data=values).status_code == 413


def test_a_rejection_has_a_reason_and_a_comment(review: Review) -> None:
    review.decide("white tea", action="reject", reason="out-of-scope", comment="a drink")
    assert review.concept("white tea").status == Status.REJECTED
    logged = review.store.history()[0]
    assert (logged.reason, logged.comment) == (Reason.OUT_OF_SCOPE, "a drink")


def test_a_rejected_proposal_makes_room_for_the_next(review: Review) -> None:
    first, second = review.concept("white tea").proposals[:2]
    url = review.decide("white tea", drop=first.parent.id, next="corn bread")
    assert "concept=white+tea" in url
    assert review.concept("white tea").proposals[0] == second
    assert review.concept("white tea").status == Status.TODO


def test_not_sure_comes_back_at_the_end(review: Review) -> None:
    first = review.store.queue().concepts[0]
    review.decide(first.key, action="defer")
    page = review.get("/").partition('<ol class="concepts"')[2].partition("</ol>")[0]
    assert re.findall(r'class="(todo|deferred)"', page) == ["todo"] * 4 + ["deferred"]
    assert first.concept.label in page.rpartition("deferred")[2]


def test_a_comment_leaves_the_concept_to_do(review: Review) -> None:
    review.decide("white tea", action="comment", comment="ask <b>Bob</b>")
    page = review.get("/?concept=white+tea")
    assert "ask &lt;b&gt;Bob&lt;/b&gt;" in page
    assert review.concept("white tea").status == Status.TODO


def test_undo_takes_back_one_decision_after_the_other(review: Review) -> None:
    for label in ("white tea", "corn bread"):
        review.decide(label, action="defer")
    assert "concept=corn+bread" in review.post("/undo", {})
    assert review.concept("corn bread").status == Status.TODO
    assert review.concept("white tea").status == Status.DEFERRED
    page = review.get(review.post("/undo", {}))
    assert "Undone: white tea is back." in text_of(page)
    assert "Nothing is left to undo." in text_of(review.get(review.post("/undo", {})))


def test_a_repeated_form_decides_only_once(review: Review) -> None:
    form = {"concept": "white tea", "version": "0", "action": "defer", "request": "r-1"}
    assert review.post("/decisions", form) == review.post("/decisions", form)
    assert len(review.store.history()) == 1


def test_a_repeated_form_drops_only_one_proposal(review: Review) -> None:
    first, second = review.concept("white tea").proposals[:2]
    form = {"concept": "white tea", "version": "0", "drop": first.parent.id, "request": "r-1"}
    assert review.post("/decisions", form) == review.post("/decisions", form)
    assert len(review.store.history()) == 1
    assert review.concept("white tea").proposals[0] == second


def test_the_second_of_two_curators_sees_the_decision_of_the_first(review: Review) -> None:
    version = review.concept("white tea").version
    review.decide("white tea", accept="tea")
    review.post("/curator", {"curator": "Bob"})
    form = {"concept": "white tea", "version": str(version), "accept": "soup"}
    page = review.post("/decisions", form, 409)
    assert "Ada decided about this concept while you were looking at it" in text_of(page)
    assert "accepted below tea" in text_of(page)
    assert review.concept("white tea").accepted[0].parent.id == "tea"
    review.post("/decisions", {**form, "version": field(page, "version")})
    assert review.concept("white tea").accepted[0].parent.id == "soup"
    assert [each.curator for each in review.store.history()] == ["Bob", "Ada"]


def test_the_history_says_who_decided_what_with_which_model(review: Review) -> None:
    parent = review.concept("hemp milk").proposals[0]
    review.decide("hemp milk", accept=parent.parent.id)
    review.decide("white tea", action="reject", reason="wrong-parents", comment="hm")
    text = text_of(review.get("/history"))
    assert f"accepted below {parent.parent.label}" in text
    assert "Ada" in text
    assert "pantry 1" in text
    assert f"{parent.confidence_or_score:.2f}" in text or parent.confidence is None
    assert "rejected no proposal is right hm" in text
    review.post("/undo", {"number": "1", "page": "history"})
    assert review.concept("hemp milk").status == Status.TODO
    assert review.concept("white tea").status == Status.REJECTED
    assert review.store.history()[0].action == Action.UNDO
    refused = review.post("/undo", {"number": "1"}, 409)
    assert "has been undone already" in text_of(refused)


def test_the_queue_is_searched_filtered_and_sorted(review: Review) -> None:
    def shown(url: str) -> list[str]:
        page = review.get(url).partition('<ol class="concepts"')[2].partition("</ol>")[0]
        return re.findall(r'<span class="label"><bdi>([^<]+)', page)

    assert shown("/?q=DRINK") == ["hemp milk"]
    assert shown("/?branch=bread") == ["corn bread"]
    assert shown("/?order=listed") == [concept.label for concept in NEW]
    by_confidence = review.store.queue().concepts
    assert shown("/") == [each.concept.label for each in by_confidence]
    limit = by_confidence[2].proposals[0].confidence_or_score
    assert shown(f"/?low={limit!r}") == [each.concept.label for each in by_confidence[:3]]
    assert shown(f"/?high={limit!r}") == [each.concept.label for each in by_confidence[3:]]
    review.decide("white tea", action="reject", reason="other")
    assert shown("/?status=rejected") == ["white tea"]
    assert "white tea" not in shown("/")
    assert "Nothing matches these filters." in text_of(review.get("/?q=zzz"))


def test_groups_have_their_parent_as_heading(model: TaxoExpan, tmp_path: Path) -> None:
    concepts = [Concept("", f"{kind} bread") for kind in ("corn", "wheat", "soda")]
    with DecisionStore.open(str(tmp_path / "groups.db")) as store:
        review = open_review(model, store, [*concepts, Concept("", "white tea")])
        page = review.get("/?order=parent")
        review.decide("white tea", action="reject", reason="wrong-parents")
        assert "Without a proposal white tea" in text_of(review.get("/?order=parent&status=all"))
    assert page.count('class="group"') == 2
    assert 'href="/bulk?parent=bread"' in page
    assert 'href="/bulk?parent=tea"' not in page  # one concept is not a group


def test_when_all_are_decided_the_page_leads_to_the_export(review: Review) -> None:
    for concept in NEW:
        review.decide(concept.label, action="reject", reason="other")
    assert "All 5 concepts are decided." in text_of(review.get("/"))


@pytest.mark.parametrize(
    "url",
    ["/?concept=nothing&offset=99&low=x&status=none&order=none&branch=none", "/?did=99&count=x"],
)
def test_wrong_parameters_count_as_not_given(review: Review, url: str) -> None:
    assert "0 of 5 decided" in text_of(review.get(url))


@pytest.mark.parametrize("count", ["²", "9" * 5_000])
def test_a_wrong_number_of_decisions_counts_as_one(review: Review, count: str) -> None:
    review.decide("hemp milk", accept="milk")
    number = review.store.history()[0].number
    assert "1 of 5 decided" in text_of(review.get(f"/?did={number}&count={count}"))


@pytest.mark.parametrize("url", ["/nothing", "/export/nothing", "/static/x", "/branch?parent=x"])
def test_unknown_pages_are_not_found(review: Review, url: str) -> None:
    assert review.browser.get(url).status_code == 404


def test_a_form_of_another_page_is_refused(review: Review) -> None:
    values = {"concept": "white tea", "version": "0", "action": "defer"}
    foreign = {"Origin": "http://evil.example"}
    wrong = review.browser.post("/decisions", data=values, headers=foreign)
    assert wrong.status_code == 403
    assert "open the page again" in wrong.text
    assert review.store.history() == []


def test_pages_allow_no_script_but_their_own(review: Review) -> None:
    response = review.browser.get("/")
    assert "script-src 'self'" in response.headers["content-security-policy"]
    assert "unsafe" not in response.headers["content-security-policy"]
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=|javascript:", response.text)


def test_the_page_is_light(review: Review) -> None:
    page = review.get("/")
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert len(files) == 5
    sizes = [len(review.browser.get(file).content) for file in files]
    assert len(page.encode()) + sum(sizes) < 200_000


HOSTILE = (
    "<script>window.hit = 1</script> milk",
    "'; DROP TABLE decisions; -- tea",
    "\u202eevil \u05e9\u05d5\u05e7\u05d5 milk",
    "\U0001f96f bagel \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "{{ 7 * 7 }} ${7*7} soup",
    "milk" * 240,
    "javascript:alert(1)",
)
SCRIPT_ADDRESS = re.compile(r"""(?:href|src|action|hx-\w+)=["']?\s*javascript:""", re.IGNORECASE)


def test_hostile_names_are_shown_as_text(model: TaxoExpan, tmp_path: Path) -> None:
    huge = "x" * 1_000_000
    concepts = [Concept(f"h{i}", name, (name,), name) for i, name in enumerate(HOSTILE[:-1])]
    concepts.append(Concept(HOSTILE[-1], HOSTILE[-1], (), HOSTILE[-1]))
    with DecisionStore.open(str(tmp_path / "hostile.db")) as store:
        review = open_review(model, store, concepts)
        store.add_concepts([Concept("h9", "plain milk", (huge,), huge)])
        assert "&lt;script&gt;window.hit" in review.get("/")
        keys = [each.key for each in store.queue().concepts]
        assert len(keys) == len(concepts) + 1
        for key in keys:
            page = review.browser.get("/", params={"concept": key}).text
            assert "<script>window" not in page
            assert not SCRIPT_ADDRESS.search(page)
            assert len(page) < 100_000
            version = review.concept(key).version
            form = {"concept": key, "version": str(version), "accept": "milk"}
            review.post("/decisions", form)
        assert "49 soup" not in review.get("/history")
        assert review.store.counts()[Status.ACCEPTED] == len(keys)


def test_undoing_says_if_the_decision_of_another_curator_stands(review: Review) -> None:
    review.decide("hemp milk", accept="milk")
    later = LogEntry("hemp milk", Action.REJECT, 1, reason=Reason.OUT_OF_SCOPE)
    review.store.append([later], "Bob")
    page = review.get(review.post("/undo", {}))
    told = "Undone: a decision about hemp milk; another one stands (rejected)."
    assert told in text_of(page)


def test_a_locked_store_is_named_as_it_is_and_may_be_tried_again(
    model: TaxoExpan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0)
    monkeypatch.chdir(tmp_path)
    with DecisionStore.open("late.db") as store, closing(sqlite3.connect("late.db")) as other:
        review = open_review(model, store)
        other.execute("BEGIN IMMEDIATE")
        page = review.decide("hemp milk", 503, accept="milk")
        assert " late.db: another program has used it" in text_of(page)
        review.post("/undo", {}, 503)


def test_equal_labels_are_told_apart_when_inserting(review: Review) -> None:
    milk = [Concept("m1", "oat milk"), Concept("m2", "oat milk"), Concept("milk", "milk")]
    taxonomy = Taxonomy(milk, [("milk", "m1"), ("milk", "m2")])
    object.__setattr__(review.desk, "taxonomy", taxonomy)
    text = text_of(review.get("/?concept=hemp+milk&panel=insert&parent=milk"))
    assert "oat milk m1" in text
    assert "oat milk m2" in text


def test_concepts_that_are_not_in_the_list_are_not_shown_but_exported(
    review: Review, model: TaxoExpan
) -> None:
    review.decide("hemp milk", accept="milk")
    shorter = open_review(model, review.store, NEW[1:3])
    text = text_of(shorter.get("/?status=all"))
    assert "0 of 2 decided" in text
    assert "white tea" in text
    assert "corn bread" not in text
    assert "of 2 to do" in text_of(shorter.get("/bulk?min=0"))
    page = shorter.get("/export")
    assert "the decisions about 3 concepts of other lists" in text_of(page)
    assert "hemp milk" in shorter.get("/export/decisions.csv")
    assert "hemp milk" in shorter.get("/history")


def test_undoing_a_comment_says_so(review: Review) -> None:
    review.decide("hemp milk", action="comment", comment="which plant?")
    page = review.get(review.post("/undo", {}))
    assert "Undone: the comment on hemp milk." in text_of(page)


def test_a_decided_concept_is_decided_again_only_on_request(review: Review) -> None:
    first, second = review.concept("hemp milk").proposals[:2]
    review.decide("hemp milk", accept=second.parent.id)
    page = review.get("/?status=accepted")
    assert 'name="accept"' not in page
    assert f'aria-keyshortcuts="t"><bdi>{second.parent.label}</bdi>' in page  # the accepted place
    assert "Decide again" in page
    again = review.get("/?status=accepted&concept=hemp+milk&again=1")
    assert f'name="accept" value="{first.parent.id}"' in again


def test_rejected_proposals_are_shown_again_when_a_concept_is_decided_again(
    review: Review,
) -> None:
    proposals = review.concept("hemp milk").proposals
    review.decide("hemp milk", action="reject", reason="wrong-parents")
    assert "rejected before" not in review.get("/?status=rejected&concept=hemp+milk")
    page = review.get("/?status=rejected&concept=hemp+milk&again=1")
    assert page.count('<span class="tag">rejected before</span>') == len(proposals)
    assert "No proposal is left" not in page
    review.decide("hemp milk", accept=proposals[1].parent.id)
    (placement,) = review.concept("hemp milk").accepted
    assert (placement.parent.id, placement.rank) == (proposals[1].parent.id, 2)
    again = review.get("/?status=accepted&concept=hemp+milk&again=1")
    assert again.count('<span class="tag">rejected before</span>') == len(proposals) - 1
    review.post("/undo", {})
    review.post("/undo", {})
    assert review.concept("hemp milk").proposals == proposals
    assert "rejected before" not in review.get("/?concept=hemp+milk")


def test_a_rejected_proposal_leaves_the_concept_in_its_place(review: Review) -> None:
    names = [each.concept.label for each in review.store.queue().concepts]
    first = review.concept(names[1]).proposals[0]
    url = review.decide(names[1], drop=first.parent.id, at="2", next=names[2])
    page = review.get(url)
    assert "2 of 5" in text_of(page)
    shown = re.findall(r'<span class="label"><bdi>(.*?)</bdi>', page)
    assert shown.index(names[1]) == 1
    assert f'aria-current="true" class="todo">\n    <span class="label"><bdi>{names[1]}' in page
    assert field(page, "next") == names[2]


def test_the_last_decision_can_be_undone_when_the_queue_is_empty(review: Review) -> None:
    for each in review.store.queue().concepts:
        review.decide(each.key, accept=each.proposals[0].parent.id)
    page = review.get("/")
    assert "All 5 concepts are decided." in text_of(page)
    assert 'data-key="u"' in page
    review.post("/undo", {"request": field(page, "request")})
    assert review.store.counts()[Status.TODO] == 1


def test_known_names_are_under_already_present(model: TaxoExpan, tmp_path: Path) -> None:
    known = Concept("", "Oat-Milk"), Concept("", "white tea")
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        review = open_review(model, store, known)
        page = text_of(review.get("/"))
        assert "Already present 1" in page
        assert "To do 1" in page
        assert "Oat-Milk" not in page
        assert "Oat-Milk" in text_of(review.get("/?status=present"))
        (same,) = review.concept("oat milk").proposals
        assert (same.kind, same.parent.label) == (SuggestionKind.MERGE, "oat milk")
        reasons = review.get(f"/why?concept=oat+milk&parent={same.parent.id}")
        assert "It is a name of 'oat milk'." in text_of(reasons)
        url = review.decide("oat milk", drop=same.parent.id)
        assert "Oat-Milk is not the same as oat milk." in text_of(review.get(url))
        page = review.get("/?concept=oat+milk")
        assert "The taxonomy has a concept of this name" in text_of(page)
        assert 'data-key="t"' in page  # the tree begins with the roots
        assert "Oat-Milk" in text_of(review.get("/"))  # it may become a concept of its own


def test_similar_names_are_under_already_present(model: TaxoExpan, tmp_path: Path) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        review = open_review(model, store, [Concept("", "Oat milks"), Concept("", "white tea")])
        assert "Already present 1" in text_of(review.get("/"))
        assert "Oat milks = oat milk" in text_of(review.get("/?status=present"))
        same, parent, *_ = review.concept("oat milks").proposals
        assert (same.kind, same.parent.label) == (SuggestionKind.SIMILAR, "oat milk")
        reasons = text_of(review.get(f"/why?concept=oat+milks&parent={same.parent.id}"))
        assert "'Oat milks' and 'oat milk' differ only in singular and plural" in reasons
        review.decide("oat milks", merge=same.parent.id)
        (merged,) = review.concept("oat milks").accepted
        assert (merged.kind, merged.parent.id) == (SuggestionKind.MERGE, same.parent.id)
        review.post("/undo", {"request": field(review.get("/"), "request")})
        review.decide("oat milks", accept=parent.parent.id)
        (placed,) = review.concept("oat milks").accepted
        assert (placed.kind, placed.parent.id) == (SuggestionKind.ATTACH, parent.parent.id)


def test_the_pace_of_the_curator_is_shown_after_some_decisions(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taxoexpan.desk.review.desk.MIN_PACE", 2)
    review.decide("hemp milk", action="defer")
    assert "an hour" not in text_of(review.get("/"))
    review.decide("white tea", action="defer")
    assert re.search(
        r"you decide [\d,]+ an hour, so the rest takes about 1 min", text_of(review.get("/"))
    )


def test_an_edited_concept_is_exported_as_edited(review: Review) -> None:
    form = {"label": " Hemp  drink ", "synonyms": "hemp milk\n\nHemp drink", "definition": "d"}
    page = text_of(review.get(review.decide("hemp milk", action="edit", **form)))
    assert "changes saved" in page
    queued = review.concept("hemp milk")
    assert (queued.status, queued.version) == (Status.TODO, 1)
    edited = queued.concept
    assert (edited.label, edited.synonyms, edited.definition) == ("Hemp drink", ("hemp milk",), "d")
    review.decide("hemp milk", accept=queued.proposals[0].parent.id)
    (exported,) = review.store.export_suggestions()
    assert exported.query == edited
    review.store.undo("Ada", 1)
    assert review.concept("hemp milk").concept.label == "hemp milk"
    refused = review.decide("white tea", 422, action="edit", label=" ")
    assert "the label is empty" in text_of(refused)


@pytest.mark.parametrize("label", ["oat milk", "Oat-Milk"])
def test_a_new_name_that_the_taxonomy_has_causes_a_warning(review: Review, label: str) -> None:
    warning = "The taxonomy has a concept of this name: food › , then milk › , then oat milk"
    page = text_of(review.get(review.decide("hemp milk", action="edit", label=label)))
    assert warning in page
    review.decide("hemp milk", accept="tea")
    assert warning in text_of(review.get("/?concept=hemp+milk&status=all"))
    assert f"concepts of the same names as some of the new ones: {label} ." in text_of(
        review.get("/export")
    )
    review.decide("hemp milk", merge="oat milk")
    assert warning not in text_of(review.get("/?concept=hemp+milk&status=all"))
    assert "same names" not in text_of(review.get("/export"))


def test_a_decision_of_another_curator_is_announced(review: Review) -> None:
    address = "/change?concept=hemp+milk&version=0"
    assert review.browser.get(address).status_code == 204
    queued = review.concept("hemp milk")
    review.store.append([LogEntry(queued.key, Action.DEFER, 0)], "Grace")
    assert "Grace has just decided about this concept: not sure" in text_of(review.get(address))


def test_curators_who_decide_at_the_same_time_get_different_concepts(review: Review) -> None:
    for number, name in enumerate(("Ada", "Grace")):
        key = review.store.queue().concepts[number].key
        review.store.append([LogEntry(key, Action.COMMENT, 0, comment="look")], name)
    opened = {}
    for name in ("Ada", "Grace"):
        review.post("/curator", {"curator": name})
        opened[name] = field(review.get("/"), "concept")
    assert opened["Ada"] != opened["Grace"]


def test_the_queue_has_orders_to_learn_from_and_a_list_of_comments(review: Review) -> None:
    def shown(address: str) -> list[str]:
        return re.findall(r'<span class="label"><bdi>(.*?)</bdi>', review.get(address))

    assert shown("/?order=least") == shown("/")[::-1]
    assert sorted(shown("/?order=sample")) == sorted(shown("/"))
    assert shown("/?order=sample") == shown("/?order=sample")
    review.decide("white tea", action="comment", comment="really?")
    assert shown("/?status=commented") == ["white tea"]


def test_parents_that_were_chosen_lately_are_offered_before_a_search(review: Review) -> None:
    review.decide("white tea", accept="sauce")
    found = text_of(review.get("/search?panel=parent", **{"HX-Request": "true"}))
    assert found.startswith("Recent parents food , then sauce".replace(" , then", " › , then"))
