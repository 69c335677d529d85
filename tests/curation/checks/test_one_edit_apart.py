from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

from hypothesis import example, given
from hypothesis import strategies as st
from labeled_taxonomies import siblings
from strategies import quickly

from taxoexpan.curation.checks.all_checks import check_taxonomy
from taxoexpan.curation.checks.one_edit_apart import MAX_GROUP_SIZE, one_edit_apart


def distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def shortened(text: str) -> set[str]:
    return {text[:i] + text[i + 1 :] for i in range(len(text))}


def slow_one_edit_apart(texts: Sequence[str]) -> set[tuple[str, str]]:
    found = set()
    for first, second in combinations(texts, 2):
        if distance(first, second) != 1:
            continue
        longer, shorter = sorted((first, second), key=len, reverse=True)
        meetings = shortened(longer) & (shortened(shorter) | {shorter})
        (meeting,) = (text for text in meetings if len(longer) > len(shorter) or text != shorter)
        alike = sum(text == meeting or meeting in shortened(text) for text in texts)
        changed = [c for c in set(longer + shorter) if longer.count(c) != shorter.count(c)]
        if alike <= MAX_GROUP_SIZE and not any(map(str.isdigit, changed)):
            found.add((first, second))
    return found


@quickly
@example([])
@example([""])
@example(["", "a", "1"])
@example(["".join(letters) for size in range(4) for letters in product("abc1", repeat=size)])
@example([f"{a}{b}{c}" for a in "xy" for b in "abcdefghijkl" for c in "mn"])
@given(st.lists(st.text("abcd12水", max_size=4), unique=True, max_size=60))
def test_one_edit_apart_finds_the_same_pairs_as_a_slow_search(texts: list[str]) -> None:
    edits = one_edit_apart(texts)
    pairs = [
        (texts[min(a, b)], texts[max(a, b)])
        for a, b in zip(edits.longer.tolist(), edits.shorter.tolist(), strict=True)
    ]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == slow_one_edit_apart(texts)
    for a, b, place in zip(edits.longer, edits.shorter, edits.positions, strict=True):
        longer, shorter = texts[a], texts[b]
        assert longer[:place] == shorter[:place]
        assert longer[place + 1 :] == shorter[place + 1 + len(shorter) - len(longer) :]


def test_a_pattern_of_many_labels_is_ignored() -> None:
    letters = "bcdfghjklmnp"[: MAX_GROUP_SIZE + 1]
    assert check_taxonomy(siblings(*(f"motorway e{letter}it" for letter in letters))) == []
    assert check_taxonomy(siblings(*(f"motorway e{letter}it" for letter in letters[:-1]))) != []
