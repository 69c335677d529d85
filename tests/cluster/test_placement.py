from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from taxoexpan.cli.main import main
from taxoexpan.cluster import placement
from taxoexpan.cluster.placement import MAX_WORKERS, WorkerPool, check_ray
from taxoexpan.errors import ConfigurationError
from tests.support.ray_runs import (
    descendants,
    new_concepts,
    running_cli,
    wait_until,
    workers_of,
)


@pytest.mark.parametrize(
    ("workers", "nodes", "expected"),
    [
        (None, [1], WorkerPool(1, 1)),
        (None, [4], WorkerPool(4, 1)),
        (None, [64], WorkerPool(MAX_WORKERS, 8)),
        (2, [8], WorkerPool(2, 4)),
        (3, [8], WorkerPool(3, 2)),
        (5, [2], WorkerPool(5, 1)),
        (None, [4, 4], WorkerPool(8, 1)),
        (3, [24, 24, 16], WorkerPool(3, 16)),  # no worker needs more than a machine has
    ],
)
def test_cores_are_divided_among_workers(
    workers: int | None, nodes: list[int], expected: WorkerPool
) -> None:
    pool = WorkerPool.plan(workers, nodes)
    assert pool == expected
    assert pool.workers * pool.threads <= max(sum(nodes), pool.workers)


def test_every_gpu_gets_one_worker() -> None:
    assert WorkerPool.plan(None, [16, 16], gpus=4) == WorkerPool(4, 8, 1)
    assert WorkerPool.plan(2, [16, 16], gpus=4) == WorkerPool(2, 8, 1)
    assert WorkerPool.plan(9, [16, 16], gpus=4) == WorkerPool(4, 8, 1)


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    check_ray()
    monkeypatch.setattr(placement, "find_spec", lambda name: None if name == "ray" else name)
    with pytest.raises(ConfigurationError, match=r"needs ray; pip install 'taxoexpan\[cluster\]'"):
        check_ray()


pytest.importorskip("ray")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

RAY = ("--engine", "ray", "--workers", "2", "--device", "cpu")


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bits of a score depend on the number of threads."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def local(model: Path, new: Path, *options: str) -> bytes:
    output = new.with_name("local.out")
    command = ["suggest", str(model), str(new), "-o", str(output), "--device", "cpu", *options]
    run = [sys.executable, "-m", "taxoexpan.cli.main", *command]
    subprocess.run(run, check=True, capture_output=True)
    return output.read_bytes()


@pytest.mark.slow
def test_two_workers_write_what_one_process_writes(model_directory: Path, tmp_path: Path) -> None:
    new, output = new_concepts(tmp_path / "new.txt", 2100), tmp_path / "ray.csv"
    with running_cli("suggest", model_directory, new, "-o", output, *RAY) as process:
        out, errors = process.communicate(timeout=500)
    assert (process.returncode, out) == (0, ""), errors
    assert output.read_bytes() == local(model_directory, new)
    *notes, last = errors.splitlines()
    assert last == f"2,100 new concepts ranked; suggestions written to {output}"
    assert [note.split(";")[0] for note in notes if note.startswith("ray: ")] == [
        "ray: starting on this machine",
        "ray: 2 workers load the model",
    ]
    expected = ("ray: ", "warning: no confidence", "suggestions: ")  # and nothing from Ray itself
    assert all(note.startswith(expected) for note in notes), notes


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(model_directory: Path, tmp_path: Path) -> None:
    new, output = new_concepts(tmp_path / "new.txt", 30_000), tmp_path / "ray.csv"
    with running_cli("suggest", model_directory, new, "-o", output, *RAY) as process:
        wait_until(lambda: staged(output) > 100_000)
        first, second = workers_of(process.pid)
        os.kill(first, signal.SIGKILL)
        assert not output.exists()
        wait_until(lambda: first not in workers_of(process.pid))
        assert second in workers_of(process.pid)
        _, errors = process.communicate(timeout=500)
    assert process.returncode == 0, errors
    died = [line for line in errors.splitlines() if "died" in line]
    assert len(died) == 1
    assert f"{platform.node()} {first}" in died[0]
    assert output.read_bytes() == local(model_directory, new)


@pytest.mark.slow
def test_a_quiet_run_prints_only_warnings(model_directory: Path, tmp_path: Path) -> None:
    new, output = new_concepts(tmp_path / "new.txt", 10), tmp_path / "ray.csv"
    with running_cli("suggest", model_directory, new, "-o", output, *RAY, "--quiet") as process:
        _, errors = process.communicate(timeout=500)
    assert process.returncode == 0, errors
    assert all(line.startswith("warning: ") for line in errors.splitlines()), errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "message"),
    [(signal.SIGINT, 130, "taxoexpan: stopped"), (signal.SIGTERM, 143, "")],
)
def test_a_signal_ends_all_processes(
    model_directory: Path, tmp_path: Path, number: signal.Signals, status: int, message: str
) -> None:
    new, output = new_concepts(tmp_path / "new.txt", 30_000), tmp_path / "ray.csv"
    with running_cli("suggest", model_directory, new, "-o", output, *RAY) as process:
        wait_until(lambda: staged(output) > 100_000)
        os.killpg(process.pid, number)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == status
    progress = ("suggestions: ", "ray: ")
    lines = [line for line in errors.splitlines() if not line.startswith(progress)]
    assert "\n".join(lines).strip() == message  # besides the progress
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--json", "--evidence"), ("--table",)])
def test_evidence_and_other_forms_are_the_same(
    model_directory: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    new, output = new_concepts(tmp_path / "new.txt", 1100), tmp_path / "ray.out"
    command = ["suggest", model_directory, new, "-o", output, *RAY, *options]
    with running_cli(*command) as process:
        _, errors = process.communicate(timeout=500)
    assert process.returncode == 0, errors
    assert output.read_bytes() == local(model_directory, new, *options)


@pytest.mark.slow
def test_a_worker_error_is_one_message(model_directory: Path, tmp_path: Path) -> None:
    new, output = new_concepts(tmp_path / "new.txt", 10), tmp_path / "ray.csv"
    device = ("--device", "abacus")
    with running_cli("suggest", model_directory, new, "-o", output, *RAY, *device) as process:
        _, errors = process.communicate(timeout=500)
    assert process.returncode == 2
    lines = [line for line in errors.splitlines() if not line.startswith("ray: ")]
    assert lines[0].startswith("taxoexpan: the device 'abacus' cannot be used here")
    assert len(lines) == 1
    assert not output.exists()


def staged(output: Path) -> int:
    """The size of the output as far as it is written."""
    return sum(path.stat().st_size for path in output.parent.glob(f".{output.name}.*"))


def test_no_ray_is_started_for_nothing(
    model_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new, before = tmp_path / "new.txt", descendants(os.getpid())
    new.write_text("oat milk\n", encoding="utf-8")  # the taxonomy has it
    output = tmp_path / "ray.csv"
    assert main(["suggest", str(model_directory), str(new), "-o", str(output), *RAY]) == 0
    assert len(output.read_text(encoding="utf-8").splitlines()) == 1
    assert main(["suggest", str(tmp_path / "none"), str(new), *RAY]) == 2
    assert "no such model directory" in capsys.readouterr().err
    assert descendants(os.getpid()) == before
