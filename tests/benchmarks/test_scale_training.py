"""Tests of `benchmarks/scale_training.py`: its encoder, and the measurement of stages."""

from __future__ import annotations

import numpy as np
import pytest
from scale_training import STAGES, LetterEncoder, Recorder


def test_vectors_depend_only_on_the_words() -> None:
    encoder, other = LetterEncoder(), LetterEncoder()
    tea, milk, both, nothing = encoder.encode(["tea", "milk", "milk tea", ""])
    assert np.linalg.norm([tea, milk, both], axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert both @ tea > 0.5
    assert both @ milk > 0.5
    assert abs(tea @ milk) < 0.3
    assert not nothing.any()
    assert np.allclose(other.encode(["coffee", "tea"])[1], tea)


def test_stages_are_measured_where_they_are_called() -> None:
    assert all(callable(getattr(place, name)) for place, name, _ in STAGES)
    recorder = Recorder()
    assert recorder.measured(lambda one, two: one + two, "sum")(1, two=2) == 3
    (stage,) = recorder.stages
    assert stage["stage"] == "sum"
    assert stage["seconds"] >= 0
    assert stage["peak_mib"] > 0
