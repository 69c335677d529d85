from __future__ import annotations

from taxoexpan.placement.suggesting.feedback import Feedback, JudgedPlacement
from taxoexpan.taxonomy import Concept


def test_feedback_without_decisions_is_false() -> None:
    oat_milk = JudgedPlacement(Concept("", "oat milk"), "milk")
    assert not Feedback()
    assert Feedback(accepted=[oat_milk])
    assert Feedback(rejected=[oat_milk])
