from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.desk.review.filters import QueueFilter
from taxoexpan.desk.store.decisions import Status
from taxoexpan.taxonomy import Concept, Taxonomy

FOOD = Taxonomy([Concept("1", "food"), Concept("2", "milk")], [("1", "2")])


@given(
    st.builds(
        QueueFilter,
        status=st.sampled_from(["all", *Status]),
        text=st.text("aä&=%+ 'é漢", max_size=8).map(str.strip),
        low=st.none() | st.floats(0, 1),
        high=st.none() | st.floats(0, 1),
        branch=st.text("a&= /#", max_size=5),
        sure=st.integers(0, 1),
        order=st.sampled_from(["confidence", "parent", "listed"]),
        offset=st.integers(0, 10**6),
    )
)
def test_a_filter_survives_the_address(filter: QueueFilter) -> None:
    assert QueueFilter.parse_query(filter.query) == filter


def test_the_default_has_no_parameters() -> None:
    assert QueueFilter().url() == "/"
    assert QueueFilter().url(concept="a&b") == "/?concept=a%26b"
    assert QueueFilter.parse({}) == QueueFilter()


def test_wrong_values_count_as_not_given() -> None:
    wrong = {"status": "x", "low": "2", "high": "nan", "order": "x", "offset": "-1"}
    assert QueueFilter.parse(wrong) == QueueFilter()
    assert QueueFilter.parse({"low": "0,5"}).low == 0.5


def test_concepts_that_come_back_later_are_to_do() -> None:
    query = QueueFilter(branch="2").to_query(FOOD)
    assert query.statuses == (Status.TODO, Status.DEFERRED)
    assert query.branch == ("food", "milk")
    assert QueueFilter(status="all").to_query(FOOD).statuses == ()
    assert QueueFilter(status="rejected", branch="x").to_query(FOOD).branch == ()


def test_pages_follow_each_other() -> None:
    second = QueueFilter().page(1)
    assert second.offset == 50
    assert second.page(-1) == QueueFilter()
    assert second.with_status("all").offset == 0
