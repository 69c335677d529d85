from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.names import name_key

LABELS = st.lists(
    st.lists(st.sampled_from(["oat", "Milk", "milks", "soy-milk"]), min_size=1, max_size=3).map(
        " ".join
    ),
    min_size=2,
    max_size=8,
)


@given(LABELS, st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=16))
@quickly
def test_children_are_found_by_the_last_words_of_their_labels(
    labels: list[str], relations: list[tuple[int, int]]
) -> None:
    size = len(labels)
    downwards = [(str(a), str(b)) for a, b in relations if a < b < size]
    concepts = [Concept(str(i), label) for i, label in enumerate(labels)]
    taxonomy = Taxonomy(concepts, downwards)
    for names in ({"milk"}, {"oat"}, {"oat milk", "milk"}, {"soy milk"}):
        endings = tuple(f" {name}" for name in names)
        for parent in range(size):
            expected = [
                child
                for child in taxonomy.children_of.of(parent).tolist()
                if name_key(labels[child]).endswith(endings)
            ]
            assert taxonomy.label_endings.children(parent, names) == expected


def test_a_label_without_words_is_no_child_to_find() -> None:
    taxonomy = Taxonomy([Concept("a", "food"), Concept("b", "-")], [("a", "b")])
    assert taxonomy.label_endings.children(0, {"food", ""}) == []
