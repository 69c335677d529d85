from __future__ import annotations

import http.cookiejar
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import make_url

from taxoexpan.cli.serve import REVIEW_PORT
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, Decision, QueuedConcept
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.desk.web.server import listen
from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept
from taxoexpan.thresholds import MIN_FOR_FEEDBACK
from tests.support.command_line import run
from tests.support.expanded_files import write_file
from tests.support.postgresql_server import PostgresqlServer
from tests.support.review_cases import text_of


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label\nhemp milk\noat milk\nwhite tea\n")


def refused(*arguments: object) -> str:
    """Return the message with which the command refuses its arguments."""
    return run("review", *arguments, "--no-browser", status=2).err


def started(folder: Path, *arguments: object) -> tuple[subprocess.Popen[str], list[str]]:
    """Start the command in a folder, and return it and its messages when it listens."""
    command = [sys.executable, "-m", "taxoexpan.cli.main", "review", *map(str, arguments)]
    command.append("--no-browser")
    server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    lines: list[str] = []
    while "review at" not in "".join(lines[-1:]):
        lines.append(server.stderr.readline())
        assert lines[-1], lines
    return server, lines


def test_the_command_fills_the_queue_says_where_it_listens_and_stops_with_the_signal(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        store.add_concepts([Concept("", "corn bread")])
    server, lines = started(tmp_path, model_directory, new, "--curator", "Ada")
    assert any("'oat milk' is 'oat milk'" in line for line in lines)
    assert any("reviews.db has 1 concept of an earlier list" in line for line in lines)
    url = lines[-1].split()[2]
    assert url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(url) as response:
        page = response.read().decode()
    assert "hemp milk" in page
    assert "0 of 3 decided" in page  # one of them is in the taxonomy already
    assert "corn bread" not in page
    server.send_signal(signal.SIGINT)
    rest = server.communicate(timeout=30)[1]
    assert server.returncode == 0
    assert rest == "stopped; the decisions are in reviews.db\n"


def test_a_store_that_is_gone_is_named_at_the_end_and_at_the_next_start(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    server, _ = started(tmp_path, model_directory, new)
    store = tmp_path / "reviews.db"
    store.unlink()
    server.send_signal(signal.SIGINT)
    rest = server.communicate(timeout=30)[1]
    assert server.returncode == 2
    assert "reviews.db: was deleted" in rest
    assert "the decisions are in" not in rest
    store.with_name("reviews.db-wal").touch()
    message = refused(model_directory, new, "--decisions", store)
    assert "is missing, but its journal" in message


class Server:
    """The command `review` in a process of its own, with enough decisions for a training."""

    def __init__(self, folder: Path, store: str, *options: object) -> None:
        names = [f"food {number} of milk" for number in range(MIN_FOR_FEEDBACK + 5)]
        concepts = [Concept("", name) for name in names]
        with DecisionStore.open(store) as opened:
            opened.add_concepts(concepts)
            below = (Suggestion(concepts[0], 0, Concept("milk", "milk")),)
            accepts = [Decision(name, Action.ACCEPT, 0, below) for name in names[:MIN_FOR_FEEDBACK]]
            opened.append(accepts, "Ada")
        write_file(folder / "new.txt", "\n".join(names))
        command = [sys.executable, "-m", "taxoexpan.cli.main", "review", "model", "new.txt"]
        command += ["--decisions", store, "--no-browser", "--quiet", *map(str, options)]
        self.process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = " "
        while "review at" not in line:
            line = self.process.stderr.readline()
            assert line
        self.url = line.split()[2]
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.browser = urllib.request.build_opener(cookies)

    def get(self, form: dict[str, str] | None = None) -> str:
        """Return the page about the training, perhaps after sending its form."""
        data = urllib.parse.urlencode(form).encode() if form else None
        with self.browser.open(f"{self.url}improve", data) as response:
            return str(response.read().decode())

    def improve(self) -> str:
        return self.get({"back": ""})

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0


@pytest.fixture
def serve(model_directory: Path, pantry: Path, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []
    shutil.copytree(model_directory, tmp_path / "model")

    def serve(store: str, *options: object) -> Server:
        servers.append(Server(tmp_path, store, "--taxonomy", pantry, "--device", "cpu", *options))
        return servers[-1]

    yield serve
    for server in servers:
        server.process.kill()
        server.process.communicate()


def to_do(store: str, number: int) -> QueuedConcept:
    with DecisionStore.open(store) as opened:
        found = opened.concept(f"food {number} of milk")
    assert found is not None
    return found


def test_the_suggestions_are_improved_from_the_pages(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    glossary = write_file(tmp_path / "glossary.tsv", "food 22 of milk\ta drink made of milk\n")
    store = str(tmp_path / "reviews.db")
    server = serve(store, "--glossary", glossary)
    assert "A training is running" in text_of(server.improve())
    page, end = "", time.monotonic() + 120
    while "The new model is in use." not in page:
        assert "has failed" not in page
        assert time.monotonic() < end
        time.sleep(0.2)
        page = text_of(server.get())
    assert f"Start the next review with {tmp_path / 'model-2'}." in page
    server.stop()
    name = to_do(store, MIN_FOR_FEEDBACK + 2).model
    assert name is not None
    assert name.startswith("model-2 (")
    assert name.endswith(") with glossary.tsv")
    with DecisionStore.open(store) as opened:
        assert len(opened.queue(QueueQuery(limit=None)).concepts) == MIN_FOR_FEEDBACK + 5


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs the files of /proc")
def test_a_training_does_not_show_the_password_and_ends_with_the_review(
    serve: Callable[..., Server], postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    secret = "only-in-the-environment"
    url = make_url(postgresql.new_schema()).set(password=secret)
    server = serve(url.render_as_string(hide_password=False))
    server.improve()
    children = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    (child,) = (pid for path in children for pid in path.read_text().split())
    command = Path(f"/proc/{child}/cmdline").read_text().split("\0")
    assert "train" in command
    assert secret not in " ".join(command)
    assert f"PGPASSWORD={secret}" in Path(f"/proc/{child}/environ").read_text()
    while not list(tmp_path.glob(".model-2.*")):
        time.sleep(0.02)
    server.stop()
    assert not Path(f"/proc/{child}").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "new.txt"]


def test_the_port_stays_the_same_and_the_next_one_is_used_if_it_is_taken(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        with suppress(ConfigurationError):  # it may already be taken
            stack.enter_context(listen("127.0.0.1", REVIEW_PORT))
        server, lines = started(tmp_path, model_directory, new, "--quiet")
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


TOKEN = "0123456789abcdef"


def test_a_log_does_not_get_the_token(model_directory: Path, new: Path, tmp_path: Path) -> None:
    server, lines = started(tmp_path, model_directory, new, "--quiet", "--token", TOKEN)
    url = lines[-1].split()[2]
    with urllib.request.urlopen(f"{url}?token={TOKEN}") as response:
        assert "hemp milk" in response.read().decode()
    assert server.stderr is not None
    advice = server.stderr.readline()
    assert "TAXOEXPAN_TOKEN" in advice  # it says how to get in
    server.send_signal(signal.SIGINT)
    rest = server.communicate(timeout=30)[1]
    assert TOKEN not in "".join([*lines, advice, rest])


def test_a_terminal_gets_the_token(model_directory: Path, new: Path, tmp_path: Path) -> None:
    leader, follower = os.openpty()
    command = [sys.executable, "-m", "taxoexpan.cli.main", "review", model_directory, new]
    command += ["--quiet", "--no-browser", "--token", TOKEN, "--port", "0"]
    with (
        os.fdopen(leader, encoding="utf-8") as terminal,
        subprocess.Popen(command, cwd=tmp_path, stderr=follower) as server,
    ):
        os.close(follower)
        line = next(line for line in terminal if "review at" in line)
        server.send_signal(signal.SIGINT)
    assert line.split()[2].endswith(f"/?token={TOKEN}")


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
