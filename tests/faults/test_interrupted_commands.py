"""Commands are killed, terminated and interrupted at random moments, and nothing is lost.

`TAXOEXPAN_FAULT_ROUNDS` is the number of interruptions over all commands, and
`TAXOEXPAN_FAULT_COMMANDS` may name some of them.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.interrupted_commands import COMMANDS, Command, write_inputs, write_model
from tests.support.interruptions import HEADER, Interrupted, Runner, Tally

ROUNDS = int(os.environ.get("TAXOEXPAN_FAULT_ROUNDS", "200"))
CHOSEN = os.environ.get("TAXOEXPAN_FAULT_COMMANDS", "")
SEED = int(os.environ.get("TAXOEXPAN_FAULT_SEED", random.randrange(10**6)))


def interrupt_all(folder: Path, commands: Sequence[Command], rounds: int) -> list[Tally]:
    """Interrupt the commands in turn; print a table, and return the tallies."""
    first = Runner(folder / "inputs")
    write_inputs(first.folder)
    if any(command.heavy for command in commands):
        write_model(first.folder, first.finish)
    interrupted = []
    for command in commands:
        own = shutil.copytree(first.folder, folder / command.name.replace(" ", "-"))
        interrupted.append(Interrupted(Runner(Path(own)), command, SEED))
    for number in range(rounds):
        interrupted[number % len(interrupted)].interrupt()
    tallies = [each.finish() for each in interrupted]
    print_table(tallies)
    return tallies


def print_table(tallies: list[Tally]) -> None:
    print(f"\nseed {SEED}\n\n{HEADER}", *(tally.row() for tally in tallies), sep="\n")
    print("", *faults_of(tallies), sep="\n", flush=True)


def faults_of(tallies: list[Tally]) -> list[str]:
    return [example for tally in tallies for example in tally.examples]


@pytest.mark.slow
def test_a_conversion_loses_nothing_when_it_is_interrupted(tmp_path: Path) -> None:
    commands = [command for command in COMMANDS if command.name == "convert"]
    assert faults_of(interrupt_all(tmp_path, commands, rounds=6)) == []


@pytest.mark.slow
def test_no_command_loses_anything_when_it_is_interrupted(tmp_path: Path) -> None:
    commands = [c for c in COMMANDS if not CHOSEN or c.name in CHOSEN.split(",")]
    assert faults_of(interrupt_all(tmp_path, commands, ROUNDS)) == []
