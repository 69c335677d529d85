"""A damaged or changed model is refused, or gives finite scores: no traceback, no hang, no NaN."""

from __future__ import annotations

import math
import os
import shutil
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from model_mutations import DAMAGE, MUTATIONS

from taxoexpan import Concept, TaxoExpan, Taxonomy
from taxoexpan.errors import TaxoExpanError
from taxoexpan.features.static import StaticEncoder
from taxoexpan.placement.learned.abstention import AbstentionModel
from taxoexpan.placement.learned.confidence import Calibration, Curve, Reliability
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.suggesting.feedback import Rejections

NEW = (Concept("1", "cashew milk", (), "a drink of nuts"), Concept("2", "white tea"))
CALIBRATION = Calibration(
    1.5,
    Curve("platt", (), (1.0, 0.5)),
    Curve("isotonic", (-2.0, 0.0, 1.0), (0.1, 0.5, 0.9)),
    Reliability((0.9, 0.4, 0.2), (True, False, True)),
)
STATIC = StaticEncoder()
MAX_SECONDS = 300
"""A round takes a tenth of a CPU second; the limit finds hangs, even on a machine that is busy."""
Results = list[tuple[object, ...]]


class TooSlow(BaseException):
    """A mutation that takes longer than `MAX_SECONDS`."""


def test_mutated_models(
    model: TaxoExpan, pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = int(os.environ.get("TAXOEXPAN_FAULT_ROUNDS", "33"))
    with capsys.disabled():
        _mutate(*_saved(model, pantry, tmp_path), rounds)


@pytest.mark.slow
def test_mutated_models_with_a_fine_tuned_encoder(
    tuned_model: TaxoExpan, pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = int(os.environ.get("TAXOEXPAN_FAULT_ROUNDS", "3000"))
    with capsys.disabled():
        _mutate(*_saved(tuned_model, pantry, tmp_path), rounds)


def _saved(model: TaxoExpan, pantry: Path, folder: Path) -> tuple[Path, Path]:
    """Save a model that has all optional parts, and another one of the same taxonomy."""
    grown = folder / "grown.csv"
    grown.write_text(f"{pantry.read_text(encoding='utf-8')}moon cheese,cheese\n", encoding="utf-8")
    calibrators = replace(
        model.calibrators,
        calibration=CALIBRATION,
        duplicates=(5.0, 5.0, -9.0),
        abstention=AbstentionModel((0.0,) * 2, (1.0,) * 2, -100.0),
        joint_priors=(NewParentPrior((0.5, 1.0, 0.1), 0.3),),
    )
    rejected = Rejections({"cashew milk": ("soup",)}, {"white tea": ("tea",)})
    archive = replace(model._fitted(), calibrators=calibrators, rejections=rejected)
    whole = TaxoExpan.from_archive(archive, "cpu")
    whole.update(Taxonomy.read(grown))
    whole.save(folder / "intact")
    network = deepcopy(archive.network)
    for parameter in network.parameters():
        parameter.data.mul_(1.1)
    other = TaxoExpan.from_archive(
        replace(archive, network=network, keys=archive.keys * 0.9), "cpu"
    )
    other.save(folder / "other")
    return folder / "intact", folder / "other"


def _mutate(intact: Path, other: Path, rounds: int) -> None:
    """Mutate the model so many times, print a table, and fail with all that went wrong."""
    directory = intact.with_name("model")
    expected, outcomes, failures = _results(intact, 0), Counter[tuple[str, str]](), list[str]()
    for number in range(rounds):
        rng = Random(number)
        kind = list(MUTATIONS)[number % len(MUTATIONS)]
        shutil.copytree(intact, directory)
        MUTATIONS[kind](directory, rng, other)
        outcome = _outcome(directory, expected, number)
        if outcome not in ("refused", "equal") and (kind in DAMAGE or outcome != "other"):
            failures.append(f"{kind}, seed {number}: {outcome}")
            outcome = "failed"
        outcomes[kind, outcome] += 1
        shutil.rmtree(directory)
    _print_table(outcomes)
    seeds = [failure.splitlines()[0] for failure in failures]
    assert not failures, "\n".join([*seeds, *failures[:5]])


def _outcome(directory: Path, expected: Results, number: int) -> str:
    """Use a model: `refused`, `equal`, `other`, or what is wrong."""
    try:
        with _time_limit(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _results(directory, number)
    except TaxoExpanError as error:
        message = str(error)
        is_clear = len(message) < 1000 and str(directory) in message
        return "refused" if is_clear else f"unclear: {message[:300]}"
    except TooSlow:
        return "".join(["too slow", *traceback.format_exc(limit=-8)])
    except Exception:
        return traceback.format_exc(limit=-8)
    if found == expected:
        return "equal"
    numbers = [value for row in found for value in row if isinstance(value, float)]
    return "other" if all(map(math.isfinite, numbers)) else f"not finite: {numbers}"


def _results(directory: Path, number: int) -> Results:
    """Return all that two new concepts get; sometimes also update and save the model."""
    model = TaxoExpan.load(directory, "cpu")
    if model.encoder.name == STATIC.name:
        model.encoder = STATIC  # reading its word vectors again would take most of the time
    suggestions, evidence = model.suggest_with_evidence(NEW, 3)
    together = model.suggest_together(NEW)
    rows: Results = [
        (s.query.id, s.parent.id, s.kind, s.rank, s.score, s.confidence, s.path)
        for s in (*suggestions, *model.suggest(NEW, 3), *together)
    ]
    rows += [(repr(each),) for each in evidence]
    if number % 7 == 3:
        _update(model, directory)
    return rows


def _update(model: TaxoExpan, directory: Path) -> None:
    model.update(Taxonomy.read(directory.with_name("grown.csv")).without(["red tea"]))
    copy = directory.with_name("updated")
    model.save(copy)
    assert TaxoExpan.load(copy, "cpu").suggest(NEW, 1)
    shutil.rmtree(copy)


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _print_table(outcomes: Counter[tuple[str, str]]) -> None:
    names = ("refused", "equal", "other", "failed")
    print(f"\n| {'mutation':<34}| rounds | {' | '.join(names)} |\n|---|---|---|---|---|---|")
    for kind in MUTATIONS:
        counts = [outcomes[kind, name] for name in names]
        cells = [f"{sum(counts):6}", *map("{:>7}".format, counts)]
        print(f"| {kind:<34}| {' | '.join(cells)} |")
