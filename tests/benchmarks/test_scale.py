"""Tests of `benchmarks/scale.py`: every step is measured, and exponents are computed."""

from __future__ import annotations

import argparse

from scale import Measurement, growth, measure, table


def test_every_step_is_measured() -> None:
    options = argparse.Namespace(device="cpu", threads=1, batches=1, queries=8)
    found = measure(1_200, options)
    assert found.concepts == 1_200
    assert found.relations > 1_200
    assert [*found.seconds] == [
        "setup of the training",
        "one epoch",
        "words of all labels",
        "keys of all anchors",
        "keys again, as in validation",
        "1,000 queries by network",
        "1,000 queries by all signals",
    ]
    assert all(seconds > 0 for seconds in found.seconds.values())
    assert found.memory["peak"] >= found.memory["vectors and taxonomy"] > 100
    assert found.notes[0].startswith("epoch: 1 of ")
    assert found.notes[1] == "ranking: 8 of 1,000 queries measured"


def test_exponents_compare_neighboring_sizes() -> None:
    linear = [
        Measurement(size, size, "cpu", {"a": size / 100, "b": size**2 / 1e4}, {"peak": 7.0})
        for size in (100, 1_000)
    ]
    assert growth(linear) == [{"from": 100, "to": 1000, "exponents": {"a": 1.0, "b": 2.0}}]
    lines = table(linear).splitlines()
    assert lines[0] == "|  | 100 | 1,000 | exponent to 1,000 |"
    assert lines[2] == "| a | 1.00 s | 10.00 s | 1.00 |"
    assert lines[4] == "| memory: peak | 7 MiB | 7 MiB |  |"


def test_the_exponent_of_a_step_without_time_is_left_out() -> None:
    found = [Measurement(10, 9, "cpu", {"a": 0.0}), Measurement(20, 19, "cpu", {"a": 1.0})]
    assert growth(found)[0]["exponents"] == {}
    assert table(found).splitlines()[2] == "| a | 0.00 s | 1.00 s | nan |"
