from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from discovery_corpus import corpus, texts

from taxoexpan.cli import discover as command
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.concept_list import read_concepts


def run(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(argument) for argument in arguments]))


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.csv"
    path.write_text("child,parent\ngrammar,\nmachine translation,grammar\n", encoding="utf-8")
    return path


def test_the_command_writes_a_list_of_new_concepts(
    tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(tmp_path, texts("We like slot filling."))
    output = tmp_path / "new.csv"
    assert run(path, "--taxonomy", topics, "-o", output, "--workers", "1") == 0
    assert "slot filling" in [concept.label for concept in read_concepts(output)]
    assert "may be in the taxonomy already" in capsys.readouterr().err
    with pytest.raises(FormatError, match="already exists"):
        run(path, "--taxonomy", topics, "-o", output)


def test_the_command_prints_csv_or_json(
    tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(tmp_path, texts("We like slot filling."))
    assert run(path, "--taxonomy", topics, "--quiet") == 0
    header = "label,definition,synonyms,count,documents,score,might_duplicate,example"
    assert capsys.readouterr().out.splitlines()[0] == header
    assert run(path, "--taxonomy", topics, "--quiet", "--json", "--top", "1") == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert list(only) == header.split(",")


def test_the_command_refuses_a_corpus_without_new_phrases(tmp_path: Path, topics: Path) -> None:
    path = corpus(tmp_path, ["The grammar is this."] * 9)
    with pytest.raises(
        FormatError, match="no new phrase occurs at least 5 times; lower --min-count"
    ):
        run(path, "--taxonomy", topics, "--quiet")


def test_the_command_works_in_shards(
    tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(tmp_path, texts("We like slot filling.", "Of style transfer (ST) we know."))
    common = ("--taxonomy", topics, "--quiet", "--workers", "1")
    counts, found = ([tmp_path / f"{name}-{n}.gz" for n in (1, 2)] for name in ("counts", "found"))
    phrases, whole, merged = (tmp_path / name for name in ("phrases.gz", "whole.csv", "merged.csv"))
    for number, file in enumerate(counts, start=1):
        assert run(path, *common, "--shard", f"{number}/2", "-o", file) == 0
    with pytest.raises(ConfigurationError, match="--top has no effect in this step"):
        run("--merge", *counts, *common, "-o", phrases, "--top", 3)
    assert run("--merge", *counts, *common, "-o", phrases) == 0
    for number, file in enumerate(found, start=1):
        options = ("--shard", f"{number}/2", "--phrases", phrases, "-o", file)
        assert run(path, *common, *options) == 0
    with pytest.raises(ConfigurationError, match="--min-count has no effect in this step"):
        run("--merge", *found, *common, "-o", merged, "--min-count", 3)
    assert run("--merge", *found, *common, "-o", merged) == 0
    assert run(path, *common, "-o", whole) == 0
    assert merged.read_bytes() == whole.read_bytes()
    messages = capsys.readouterr().err
    assert "merge the counts of all shards next" in messages
    assert "observe them in every shard next, with --phrases" in messages
    with pytest.raises(FormatError, match="has chosen phrases, which are not merged"):
        run("--merge", phrases, *common)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "either a corpus or --merge"),
        (("corpus.txt", "--merge", "a.gz"), "either a corpus or --merge"),
        (("corpus.txt", "--phrases", "a.gz"), "add --shard"),
        (("corpus.txt", "--shard", "1/2"), "name it with -o"),
        (("corpus.txt", "--shard", "3/2", "-o", "x.gz"), "such as 2/8"),
        (("corpus.txt", "--shard", "1/2", "-o", "x.gz", "--top", "9"), "observations are merged"),
        (("corpus.txt", "--shard", "1/2", "-o", "x.gz", "--json"), "observations are merged"),
        (("corpus.txt", "--shard", "1/2", "-o", "x.gz", "--min-count", "9"), "counts are merged"),
    ],
)
def test_the_command_refuses_an_unclear_step(
    topics: Path, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run(*arguments, "--taxonomy", topics)


def test_merged_counts_need_a_name(tmp_path: Path, topics: Path) -> None:
    path, file = corpus(tmp_path, texts("We like slot filling.")), tmp_path / "counts.gz"
    run(path, "--taxonomy", topics, "--quiet", "--shard", "1/1", "-o", file)
    with pytest.raises(ConfigurationError, match="name it with -o"):
        run("--merge", file, "--taxonomy", topics)


PASSES = ("counting", "reading")

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")


class Endless(threading.Thread):
    """Writes a corpus into a pipe: a finite one for the earlier passes, then an endless one."""

    def __init__(self, path: Path, doing: str) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._earlier = PASSES.index(doing)
        self.begun = threading.Event()
        os.mkfifo(path)

    def run(self) -> None:
        block = ("\n".join(texts("We like slot filling.", times=900)) + "\n").encode()
        for _ in range(self._earlier):
            with self._path.open("wb", buffering=0) as file:
                # The next pass opens another pipe, so this one can end.
                self._path.unlink()
                os.mkfifo(self._path)
                for _ in range(4):
                    file.write(block)
        with suppress(BrokenPipeError), self._path.open("wb") as file:
            self.begun.set()
            while True:
                file.write(block)


def children(parent: int) -> list[int]:
    """The running child processes of a process."""
    running = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, owner = path.read_text().rpartition(")")[2].split()[:2]
            if int(owner) == parent and state != "Z":
                running.append(int(path.parent.name))
    return running


def is_running(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def discovering(topics: Path, doing: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """The command and its two workers during a pass; afterwards all of them must be gone."""
    path, output = topics.with_name("corpus.txt"), topics.with_name("new.csv")
    feeder = Endless(path, doing)
    feeder.start()
    command = f"-m taxoexpan.cli.main discover {path} --taxonomy {topics} -o {output} --workers 2"
    process = subprocess.Popen(
        [sys.executable, *command.split()],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers: list[int] = []
    try:
        assert feeder.begun.wait(60)
        wait_until(lambda: len(children(process.pid)) == 2)
        workers = children(process.pid)
        yield process, workers
        wait_until(lambda: not any(map(is_running, workers)))
        assert not output.exists()
    finally:
        for number in [process.pid, *workers]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.communicate()


@on_linux
@pytest.mark.parametrize("doing", PASSES)
def test_an_interrupt_ends_either_pass(topics: Path, doing: str) -> None:
    with discovering(topics, doing) as (process, _):
        os.killpg(process.pid, signal.SIGINT)  # to the workers too, as a terminal does
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "taxoexpan: stopped"


@on_linux
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_workers_end_with_the_command(topics: Path, number: signal.Signals, status: int) -> None:
    with discovering(topics, "counting") as (process, _):
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert errors == ""


@on_linux
@pytest.mark.parametrize("doing", PASSES)
def test_a_worker_that_is_killed_ends_the_command(topics: Path, doing: str) -> None:
    with discovering(topics, doing) as (process, workers):
        os.kill(workers[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.startswith(
        "taxoexpan: a process that reads the corpus ended unexpectedly; if memory"
    )
    assert len(errors.splitlines()) == 1
