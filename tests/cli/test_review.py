"""The command review: what it prints, what it refuses, and the trainings that it starts."""

from __future__ import annotations

import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import make_url

from taxoexpan.cli.serve import REVIEW_PORT
from taxoexpan.taxonomy import Concept
from taxoexpan.thresholds import MIN_FOR_FEEDBACK
from tests.support.command_line import run
from tests.support.desk_cases import (
    Action,
    DecisionStore,
    append,
    below,
    decide,
    history,
    queued,
    state,
)
from tests.support.expanded_files import write_file
from tests.support.postgresql_server import PostgresqlServer
from tests.support.review_cases import field, text_of
from tests.support.review_process import ReviewProcess

Start = Callable[..., ReviewProcess]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label\nhemp milk\noat milk\nwhite tea\n")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the command in the folder of the test; its processes end with the test."""
    with ExitStack() as stack:

        def start(*arguments: object, terminal: bool = False) -> ReviewProcess:
            process = ReviewProcess(tmp_path, *arguments, terminal=terminal)
            stack.callback(process.close)
            return process

        yield start


def refused(*arguments: object) -> str:
    """Return the message with which the command refuses its arguments."""
    return run("review", *arguments, "--no-browser", status=2).err


def test_the_command_fills_the_queue_says_where_it_listens_and_stops_with_the_signal(
    model_directory: Path, new: Path, tmp_path: Path, start: Start
) -> None:
    store = tmp_path / "reviews.db"
    with DecisionStore.open(str(store)) as opened:
        opened.add_concepts([Concept("", "corn bread")])
    with ExitStack() as stack:
        with suppress(OSError):  # it may already be taken
            stack.enter_context(socket.create_server(("127.0.0.1", REVIEW_PORT)))
        review = start(model_directory, new, "--curator", "Ada")
    printed = "".join(review.lines)
    assert "'oat milk'" in printed  # it is in the taxonomy already
    assert "reviews.db has 1 concept of an earlier list" in printed
    assert f"port {REVIEW_PORT} is taken" in review.lines[-2]
    address = urlsplit(review.url)
    assert address.hostname == "127.0.0.1"
    assert address.port is not None
    assert address.port > REVIEW_PORT
    page = review.page()
    assert "hemp milk" in page
    assert "0 of 3 decided" in text_of(page)
    assert "corn bread" not in page
    opened_page = review.page("/?concept=white+tea")
    names = ("concept", "version", "request")
    review.page(
        "/decisions", {name: field(opened_page, name) for name in names} | {"accept": "tea"}
    )
    assert review.stop() == "stopped; the decisions are in reviews.db\n"
    assert review.status == 0
    (logged,) = history(store)
    assert (logged["query"], logged["parent_id"], logged["curator"]) == ("white tea", "tea", "Ada")


TOKEN = "0123456789abcdef"


def test_a_log_does_not_get_the_token_and_a_store_that_is_gone_is_named(
    model_directory: Path, new: Path, tmp_path: Path, start: Start
) -> None:
    review = start(model_directory, new, "--quiet", "--token", TOKEN)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        review.page()
    assert "hemp milk" in review.page(f"?token={TOKEN}")
    store = tmp_path / "reviews.db"
    store.unlink()
    rest = review.stop()
    assert review.status == 2
    assert "TAXOEXPAN_TOKEN" in rest  # it says how to get in
    assert TOKEN not in "".join([*review.lines, rest])
    assert "reviews.db: was deleted" in rest
    assert "the decisions are in" not in rest
    store.with_name("reviews.db-wal").touch()
    assert "journal" in refused(model_directory, new, "--decisions", store)


def test_a_terminal_gets_the_token(model_directory: Path, new: Path, start: Start) -> None:
    options = "--quiet", "--token", TOKEN, "--port", "0"
    review = start(model_directory, new, *options, terminal=True)
    assert review.url.endswith(f"/?token={TOKEN}")
    review.stop()
    assert review.status == 0


NAMES = [f"food {number} of milk" for number in range(MIN_FOR_FEEDBACK + 5)]
DECIDED = NAMES[:MIN_FOR_FEEDBACK]


@pytest.fixture
def prepared(model_directory: Path, pantry: Path, tmp_path: Path) -> Callable[[str], list[object]]:
    """Prepare a store with enough decisions for a training, and return the arguments."""
    shutil.copytree(model_directory, tmp_path / "model")
    write_file(tmp_path / "new.txt", "\n".join(NAMES))

    def prepare(store: str) -> list[object]:
        with DecisionStore.open(store) as opened:
            opened.add_concepts([Concept("", name) for name in NAMES])
            milk = below(Concept("milk", "milk"))
            append(opened, "Ada", *(decide(name, Action.ACCEPT, milk) for name in DECIDED))
        options = ["--quiet", "--taxonomy", pantry, "--device", "cpu"]
        return ["model", "new.txt", "--decisions", store, *options]

    return prepare


@pytest.mark.slow
def test_the_suggestions_are_improved_from_the_pages(
    prepared: Callable[[str], list[object]], tmp_path: Path, start: Start
) -> None:
    to_do = NAMES[-1]
    glossary = write_file(tmp_path / "glossary.tsv", f"{to_do}\ta drink made of milk\n")
    store = str(tmp_path / "reviews.db")
    review = start(*prepared(store), "--glossary", glossary)
    page = text_of(review.page("/improve", {"back": ""}))
    assert "is running" in page
    end = time.monotonic() + 120
    while "is in use" not in page:
        assert "failed" not in page
        assert time.monotonic() < end
        time.sleep(0.1)
        page = text_of(review.page("/improve"))
    assert str(tmp_path / "model-2") in page  # with which the next review is started
    review.stop()
    assert review.status == 0
    with DecisionStore.open(store) as opened:
        model = queued(opened, to_do).model or ""
        assert model.startswith("model-2 (")
        assert model.endswith(") with glossary.tsv")
        assert state(opened, to_do).proposed
        assert sum(opened.counts().values()) == len(NAMES)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs the files of /proc")
def test_a_training_does_not_show_the_password_and_ends_with_the_review(
    prepared: Callable[[str], list[object]],
    postgresql: PostgresqlServer,
    tmp_path: Path,
    start: Start,
) -> None:
    secret = "only-in-the-environment"
    url = make_url(postgresql.new_schema()).set(password=secret)
    review = start(*prepared(url.render_as_string(hide_password=False)))
    review.page("/improve", {"back": ""})
    children = Path(f"/proc/{review.id}/task").glob("*/children")
    (child,) = (pid for path in children for pid in path.read_text().split())
    command = Path(f"/proc/{child}/cmdline").read_text().split("\0")
    assert "train" in command
    assert secret not in " ".join(command)
    assert f"PGPASSWORD={secret}" in Path(f"/proc/{child}/environ").read_text()
    review.stop()
    assert review.status == 0
    assert not Path(f"/proc/{child}").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "new.txt"]


def test_other_addresses_need_a_token(model_directory: Path, new: Path) -> None:
    message = refused(model_directory, new, "--host", "0.0.0.0")
    assert "a token is needed" in message
    assert "--token" in message


def test_a_busy_port_is_refused_before_the_queue_is_filled(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
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
    assert "other.csv" in message
    assert "none of the concepts" in message
    assert not (tmp_path / "reviews.db").exists()


@pytest.mark.parametrize(
    ("size", "message"),
    [(1_001, "1,000"), (1_000_000, "long.csv, line 2")],
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
