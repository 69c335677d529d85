from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from command_line import run
from expanded_files import write_file

from taxoexpan.cli.serve import REVIEW_PORT
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.web.server import listen
from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy import Concept


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label\nhemp milk\noat milk\nwhite tea\n")


def refused(*arguments: object) -> str:
    """Return the message with which the command refuses its arguments."""
    return run("review", *arguments, "--no-browser", status=2).err


def test_the_command_fills_the_queue_says_where_it_listens_and_stops_with_the_signal(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        store.add_concepts([Concept("", "corn bread")])
    command = [sys.executable, "-m", "taxoexpan.cli.main", "review", str(model_directory)]
    command += [str(new), "--no-browser", "--curator", "Ada"]
    server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    lines = []
    while "review at" not in "".join(lines[-1:]):
        lines.append(server.stderr.readline())
        assert lines[-1], lines
    assert any("'oat milk' is 'oat milk'" in line for line in lines)
    assert any("1 concept in reviews.db is not in" in line for line in lines)
    url = lines[-1].split()[2]
    assert url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(url) as response:
        page = response.read().decode()
    assert "hemp milk" in page
    assert "0 of 2 decided" in page
    assert "corn bread" not in page
    server.send_signal(signal.SIGINT)
    rest = server.communicate(timeout=30)[1]
    assert server.returncode == 0
    assert rest == "stopped; the decisions are in reviews.db\n"


def test_the_port_stays_the_same_and_the_next_one_is_used_if_it_is_taken(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        with suppress(ConfigurationError):  # it may already be taken
            stack.enter_context(listen("127.0.0.1", REVIEW_PORT))
        command = [sys.executable, "-m", "taxoexpan.cli.main", "review", str(model_directory)]
        command += [str(new), "--no-browser", "--quiet"]
        server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        lines = []
        while "review at" not in "".join(lines[-1:]):
            lines.append(server.stderr.readline())
            assert lines[-1], lines
        assert f"port {REVIEW_PORT} is taken" in lines[-2]
        port = urlsplit(lines[-1].split()[2]).port
        assert port is not None
        assert port > REVIEW_PORT
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)


def test_other_addresses_need_a_token(model_directory: Path, new: Path) -> None:
    message = refused(model_directory, new, "--host", "0.0.0.0")
    assert "a token is needed" in message
    assert "--token" in message


def test_a_busy_port_is_refused_before_the_queue_is_filled(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    with listen("127.0.0.1", 0) as busy:
        port = busy.getsockname()[1]
        options = "--port", port, "--decisions", tmp_path / "early.db"
        message = refused(model_directory, new, *options)
    assert f"port {port}" in message
    assert not (tmp_path / "early.db").exists()


def test_a_file_of_another_taxonomy_is_refused(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    other = write_file(tmp_path / "other.csv", "child,parent\ncity,place\ntown,place\n")
    message = refused(model_directory, new, "--taxonomy", other)
    assert "has none of the concepts of the model's taxonomy; give the file" in message
    assert not (tmp_path / "reviews.db").exists()


@pytest.mark.parametrize(
    ("size", "message"),
    [(1_001, "at most 1,000 are allowed"), (1_000_000, "long.csv, line 2: the table is not")],
)
def test_too_long_a_name_is_refused(
    model_directory: Path,
    tmp_path: Path,
    size: int,
    message: str,
) -> None:
    path = write_file(tmp_path / "long.csv", f"label\n{'x' * size}\n")
    assert message in refused(model_directory, path)


def test_a_model_that_cannot_be_read_is_refused(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "model"
    shutil.copytree(model_directory, broken)
    (broken / "weights.safetensors").unlink()
    assert "weights.safetensors" in refused(broken, new)
