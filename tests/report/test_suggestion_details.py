from __future__ import annotations

from taxoexpan.report.html import Neighbor, TreePosition
from taxoexpan.report.suggestion_details import with_moves

MOVES = ("oat milk", "goat milk")


def test_children_that_may_move_are_drawn_under_the_new_concept() -> None:
    position = TreePosition(("food",), [Neighbor("tea", 0.2), Neighbor("oat milk", 0.9)], 1)
    drawn = with_moves(position, MOVES)
    assert [each.label for each in drawn.siblings] == ["tea"]
    assert [each.label for each in drawn.children] == ["oat milk", "goat milk"]
    assert drawn.more_siblings == 0


def test_moved_children_are_distinguished_from_those_that_may_move() -> None:
    drawn = with_moves(TreePosition(("food",), [], 3), MOVES, {"oat milk"})
    assert [each.note for each in drawn.children] == ["moved here", "may move here"]
    assert drawn.more_siblings == 1
