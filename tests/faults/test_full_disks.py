"""Outputs on a disk that is full: the old ones stay, and one message says what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.interrupted_commands import COMMANDS, digest, write_inputs, write_model
from tests.support.interruptions import Runner

SIZE = "24k"


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a small file system on a folder."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if os.getuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a file system")
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_one_message_and_the_old_output_stays(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    write_inputs(runner.folder)
    write_model(runner.folder, runner.finish)
    out = runner.folder / "out"
    for command in COMMANDS:
        if not command.outputs or command.endless or command.name == "update in place":
            continue
        with small_disk(out):
            fill(out, command.outputs[0])
            before = {path.name: digest(path) for path in out.iterdir()}
            status, errors = runner.run(*command.all_arguments)
            assert status == 2, (command.name, status, errors)
            assert "Traceback" not in errors
            assert "No space left on device" in errors, command.name
            after = {path.name: digest(path) for path in out.iterdir()}
            assert after == before, command.name


def fill(out: Path, name: str) -> None:
    """Write an old output, and fill the rest of the disk."""
    if name not in ("m", "demo"):
        (out / name).write_bytes(b"old")
    with (out / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            pass
