from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from taxoexpan.errors import TaxoExpanError
from taxoexpan.features.corpus import parallel
from taxoexpan.features.corpus.parallel import available_cores, map_blocks

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs several processes")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every text a block of its own."""
    monkeypatch.setattr(parallel, "BLOCK_SIZE", 1)


@pytest.mark.usefixtures("small_blocks")
def test_results_are_in_order_with_any_number_of_workers() -> None:
    texts = [str(number) for number in range(17)]
    for workers in (1, 2, 20, None):
        assert list(map_blocks(lambda block: block[0], iter(texts), workers)) == texts


@only_linux
def test_only_the_cores_that_this_process_may_use_are_counted() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert available_cores() == len(allowed)


def test_a_block_ends_with_the_text_that_fills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "BLOCK_SIZE", 3)
    texts = ["ab", "c", "defgh", "i"]
    for workers in (1, 2):
        assert list(map_blocks(tuple, texts, workers)) == [("ab", "c"), ("defgh",), ("i",)]


@only_linux
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("ahead", "last"), [(6, 29), (1, 4)])
def test_workers_run_ahead_of_a_slow_one_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int, last: int
) -> None:
    monkeypatch.setattr(parallel, "BLOCKS_AHEAD", ahead)
    read: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(30):
            read.append(number)
            (tmp_path / str(number)).touch()
            yield str(number)

    def slow_at_first(block: list[str]) -> str:
        while block == ["0"] and not (tmp_path / str(last)).exists():
            time.sleep(0.01)
        return block[0]

    results = map_blocks(slow_at_first, texts(), 5)
    assert next(results) == "0"
    assert read == list(range(last + 1))
    assert list(results) == [str(number) for number in range(1, 30)]


@pytest.mark.usefixtures("small_blocks")
def test_an_error_in_the_work_is_passed_on() -> None:
    for workers in (1, 2):
        with pytest.raises(ZeroDivisionError):
            list(map_blocks(lambda block: 1 // (block[0] != "e"), iter("abcdef"), workers))


@only_linux
@pytest.mark.usefixtures("small_blocks")
def test_a_killed_worker_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(TaxoExpanError, match="a process that reads the corpus ended unexpectedly"):
        list(map_blocks(lambda _: os._exit(9), iter("abcdef"), 2))


def start_script(folder: Path, work: str) -> subprocess.Popen[str]:
    """Start a script without a `__main__` guard that maps a function over 20 large texts."""
    script = folder / "script.py"
    script.write_text(
        "import os, time\n"
        "from taxoexpan.features.corpus.parallel import map_blocks\n"
        f"def work(block): {work}\n"
        "print(sum(map_blocks(work, ['green tea ' * 20_000] * 20, workers=2)))\n"
    )
    return subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = start_script(tmp_path, "return block[0].count('green tea')")
    assert script.communicate() == ("400000\n", "")


@only_linux
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_a_script_that_is_ended(tmp_path: Path, sent: signal.Signals) -> None:
    # One write per line: two workers may write at the same time.
    script = start_script(tmp_path, "os.write(1, b'ready\\n'); time.sleep(0.2); return 0")
    assert script.stdout is not None
    assert script.stdout.readline() == "ready\n"
    if sent is signal.SIGINT:
        os.killpg(script.pid, sent)  # Ctrl-C reaches the workers, too
    else:
        script.send_signal(sent)
    _, errors = script.communicate(timeout=20)  # waits until the last worker closes the pipes
    assert script.returncode != 0
    assert errors.count("KeyboardInterrupt") == (sent is signal.SIGINT)
