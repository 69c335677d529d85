"""What is made from a private file is private."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.interrupted_commands import COMMANDS, write_inputs, write_model

OTHERS = 0o077
"""The permissions of all users except the owner."""


def set_modes(folder: Path, others: int) -> None:
    """Set the permissions of other users for all files and directories in a folder."""
    for path in folder.rglob("*"):
        path.chmod((0o700 if path.is_dir() else 0o600) | others)


def open_files(folder: Path) -> list[str]:
    """Return the files and directories that other users may read."""
    return [str(path) for path in folder.rglob("*") if path.stat().st_mode & OTHERS]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the inputs of all commands."""
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    set_modes(tmp_path, 0)
    return tmp_path


@pytest.mark.slow
def test_outputs_of_private_inputs_are_private_and_stay_private(folder: Path) -> None:
    write_model(folder, run)
    assert open_files(folder / "model") == []
    (folder / "reviews.db").chmod(0o600)
    unsuitable = ("demo", "update in place")  # without an input, and without a new output
    for command in COMMANDS:
        if not command.outputs or command.endless or command.name in unsuitable:
            continue
        outputs = [folder / "out" / name for name in command.outputs]
        run(*command.arguments)
        assert open_files(folder / "out") == [], command.name
        set_modes(folder, 0o055)  # an output keeps its permissions, although the inputs are public
        for path in outputs:
            path.chmod(0o700)
        run(*command.all_arguments)
        assert not any(path.stat().st_mode & OTHERS for path in outputs), command.name
        for path in outputs:
            path.rename(folder / f"old-{command.name}-{path.name}")
        set_modes(folder, 0)


@pytest.mark.slow
def test_the_store_of_a_private_model_is_private(folder: Path) -> None:
    write_model(folder, run)
    (line,) = (each.arguments for each in COMMANDS if each.name == "review")
    process = subprocess.Popen([sys.executable, "-m", "taxoexpan", *line])
    try:
        store, end = folder / "out" / "r.db", time.monotonic() + 120
        while not (store.exists() and store.stat().st_size) and time.monotonic() < end:
            assert process.poll() is None
            time.sleep(0.05)
        assert store.stat().st_size
        assert open_files(folder / "out") == []
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def test_outputs_of_public_inputs_and_of_pipes_have_the_usual_permissions(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        for others, mode in ((0, 0o600), (0o040, 0o640), (0o044, 0o644)):
            (folder / "taxonomy.csv").chmod(0o600 | others)
            run("convert", "taxonomy.csv", "out/a.ttl")
            assert (folder / "out" / "a.ttl").stat().st_mode & 0o777 == mode
            (folder / "out" / "a.ttl").unlink()
        reader, writer = os.pipe()
        os.write(writer, b"child,parent\nb,a\n")
        os.close(writer)
        run("convert", f"/dev/fd/{reader}", "out/a.ttl")
        os.close(reader)
        assert (folder / "out" / "a.ttl").stat().st_mode & 0o777 == 0o644
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
