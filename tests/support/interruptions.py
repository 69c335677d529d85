"""Interrupts commands at random moments, and checks what is left."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from taxoexpan.files import recover_output
from tests.support.interrupted_commands import (
    Command,
    digest,
    ended_early,
    is_complete,
    replace_by_copy,
)

LIMIT = 120.0
"""After so many seconds a command counts as hanging."""
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
RESUME_SHARE = 0.34
AGAIN_SHARE = 0.3
"""The share of rounds with a second signal, which may stop the removal of temporary files."""


class Runner:
    """Runs commands in a folder, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, temporary = folder, folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        own = {"TMPDIR": str(temporary), "TAXOEXPAN_CACHE": str(folder / "cache")}
        self._environment = os.environ | own | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}

    def run(
        self, *arguments: str, number: int | None = None, delays: Sequence[float] = ()
    ) -> tuple[int | None, str]:
        """Return the status and the messages of a command; send a signal after each delay.

        The signal goes to the whole process group, as a terminal sends it.
        """
        process = subprocess.Popen(
            [sys.executable, "-m", "taxoexpan", *arguments],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        for delay in delays:
            time.sleep(delay)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number or 0)
        try:
            _, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        code = process.returncode
        return 128 - code if code < 0 else code, errors.decode(errors="replace")

    def finish(self, *arguments: str) -> float:
        """Run a command to its end, and return its duration in seconds."""
        began = time.monotonic()
        status, errors = self.run(*arguments)
        assert status in (0, 1), (arguments, status, errors)
        return time.monotonic() - began


@dataclass
class Tally:
    """What happened in the rounds of one command."""

    name: str
    signals: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, fault: str, example: str) -> None:
        """Count a fault, and keep an example of it."""
        self.faults[fault] += 1
        self.examples.append(f"{self.name}: {fault}: {example[-1500:]}")

    def row(self) -> str:
        """Return the row of the table."""
        counts = [self.signals[number.name] for number in dict.fromkeys(SIGNALS)]
        found = [self.faults[fault] for fault in FAULTS]
        cells = [self.name, sum(counts), *counts, self.finished, *found]
        return "| " + " | ".join(map(str, cells)) + " |"


FAULTS = ("loss", "changed input", "traceback", "status", "hang", "leftover")
HEADER = (
    "| command | rounds | SIGKILL | SIGTERM | SIGINT | ended before | losses | changed inputs "
    "| tracebacks | wrong exit status | hangs | leftovers |\n" + "|---" * 12 + "|"
)


class Interrupted:
    """One command that is interrupted again and again in a folder of its own."""

    def __init__(self, runner: Runner, command: Command, seed: int) -> None:
        self.runner, self.command = runner, command
        self.random, self.tally = random.Random(f"{seed} {command.name}"), Tally(command.name)
        self.out = runner.folder / "out"
        self.old, self.new = runner.folder / "old", runner.folder / "new"
        self.inputs = self._inputs()
        self._measure()

    def _inputs(self) -> dict[str, str]:
        names = ("taxonomy.csv", "newer.csv", "new.txt", "corpus.txt", "decisions.csv", "model")
        return {name: digest(self.runner.folder / name) for name in (*names, "reviews.db")}

    def _measure(self) -> None:
        """Write the old and the new outputs, and measure the duration of the command."""
        for folder in (self.out, self.old, self.new):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for name in self.command.outputs:
            if name == "m":
                shutil.copytree(self.runner.folder / "model", self.old / name)
            elif name != "demo" and not name.endswith(".db"):
                (self.old / name).write_text("old", encoding="utf-8")
        self.duration = 4.0
        if self.command.endless:
            return
        self._restore(with_old=True)
        self.duration = self.runner.finish(*self.command.all_arguments)
        for name in self.command.outputs:
            replace_by_copy(self.out / name, self.new / name)

    def _restore(self, with_old: bool) -> None:
        for name in self.command.outputs:
            source = self.old / name
            replace_by_copy(source if with_old else self.old / "nothing", self.out / name)

    def interrupt(self) -> None:
        """Run the command once, send it a signal at a random moment, and check what is left."""
        in_place = self.command.name == "update in place"
        with_old = in_place or self.random.random() < 0.5
        self._restore(with_old)
        before = self._states()
        number = self.random.choice(SIGNALS)
        self.tally.signals[number.name] += 1
        delays = [self.random.uniform(0, 1.05 * self.duration)]
        if self.random.random() < AGAIN_SHARE:
            delays.append(self.random.uniform(0, 0.2))
        arguments = self.command.all_arguments
        status, errors = self.runner.run(*arguments, number=number, delays=delays)
        place = f"{number.name} after {delays} s of {self.duration:.3f} s"
        self._check_end(status, errors, number, place)
        self._check_files(before, place)
        if self.command.name == "train":
            self._check_resumption(place)

    def _check_end(self, status: int | None, errors: str, number: int, place: str) -> None:
        if status is None:
            self.tally.add("hang", place)
        # Before the first line of the package runs, an interrupt belongs to Python.
        if ("Traceback" in errors and "taxoexpan" in errors) or "Exception ignored" in errors:
            self.tally.add("traceback", f"{place}: {errors}")
        elif status in (0, 1) and "Traceback" not in errors:
            self.tally.finished += 1
        elif status not in (128 + number, None) and "Traceback" not in errors:
            self.tally.add("status", f"{place}: {status} {errors}")

    def _check_files(self, before: dict[str, str], place: str) -> None:
        if self._inputs() != self.inputs:
            self.tally.add("changed input", place)
            self.inputs = self._inputs()
        for name in self.command.outputs:
            path = self.out / name
            recover_output(path)
            try:
                state = digest(path)
                whole = state in (before[name], digest(self.new / name))
                whole = whole or (self.command.timed and is_complete(path))
                whole = whole or ended_early(self.out / "m")
            except Exception as error:
                state, whole = repr(error), False
            if not whole:
                self.tally.add("loss", f"{place}: {name} is {state}")

    def _check_resumption(self, place: str) -> None:
        checkpoint = self.out / "m.checkpoint"
        if checkpoint.exists() and self.random.random() < RESUME_SHARE:
            replace_by_copy(self.old / "nothing", self.out / "m")
            status, errors = self.runner.run(*self.command.arguments, "--resume")
            if status != 0 or digest(self.out / "m") != digest(self.new / "m"):
                self.tally.add("loss", f"{place}: resumed with status {status}: {errors}")
        checkpoint.unlink(missing_ok=True)

    def finish(self) -> Tally:
        """Run the command to its end; nothing of the interrupted runs may be left then."""
        if not self.command.endless:
            self._restore(with_old=True)
            status, errors = self.runner.run(*self.command.all_arguments)
            if status not in (0, 1):
                self.tally.add("loss", f"the last run: {status} {errors}")
            self._check_files(dict.fromkeys(self.command.outputs, ""), "the last run")
            if self._leftovers():
                self.tally.add("leftover", f"after the last run: {self._leftovers()}")
        return self.tally

    def _states(self) -> dict[str, str]:
        return {name: digest(self.out / name) for name in self.command.outputs}

    def _leftovers(self) -> set[str]:
        """Return the names of temporary files, and of others that are no outputs."""
        kept = {*self.command.outputs, "m.checkpoint", "c.csv.folds", "r.db-journal"}
        hidden = {path.name for path in self.out.rglob(".*")}
        return hidden | {path.name for path in self.out.iterdir()} - kept
