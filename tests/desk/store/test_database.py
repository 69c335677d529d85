"""Databases that cannot be opened or written, and the protection of the log."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from taxoexpan.desk.store.database import Database, split_password
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, ConflictError, LogEntry, StoreError
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.taxonomy import Concept
from tests.support.desk_cases import NEW, accept, first_proposals
from tests.support.full_disk import no_file_larger_than
from tests.support.postgresql_server import PostgresqlServer

SECRET = "s3cr3t/p@ss"


def filled(url: str) -> None:
    with DecisionStore.open(url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        store.append([accept(each) for each in store.queue().concepts], "Ada")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE decisions SET curator = 'Eve'",
        "UPDATE decisions SET number = 9 WHERE number = 1",
        "DELETE FROM decisions",
        "DELETE FROM decisions WHERE number = 3",
    ],
)
def test_the_log_is_append_only(store_url: str, statement: str) -> None:
    filled(store_url)
    database = Database.connect(store_url)
    with pytest.raises(DBAPIError, match="append-only"), database.engine.begin() as connection:
        connection.execute(text(statement))
    database.close()
    with DecisionStore.open(store_url) as store:
        assert [each.curator for each in store.history()] == ["Ada"] * 3


def test_replacing_and_truncating_are_refused_too(store_url: str) -> None:
    filled(store_url)
    database = Database.connect(store_url)
    columns = "number, concept, version, action, placements, passed_over, comment, label, curator"
    select = f"SELECT {columns}, time FROM decisions WHERE number = 1"
    statement = (
        f"INSERT OR REPLACE INTO decisions ({columns}, time) {select}"
        if database.is_sqlite
        else "TRUNCATE decisions CASCADE"
    )
    with pytest.raises(DBAPIError, match="append-only"), database.engine.begin() as connection:
        connection.execute(text(statement))
    database.close()


def test_another_program_cannot_replace_a_decision(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    filled(str(path))
    with closing(sqlite3.connect(path)) as other:
        select = "SELECT * FROM decisions WHERE number = 1"
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            other.execute(f"INSERT OR REPLACE INTO decisions {select}")


def test_sqlite_writes_every_commit_to_the_disk(tmp_path: Path) -> None:
    database = Database.connect(str(tmp_path / "reviews.db"))
    with database.writing() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "delete"
        assert connection.scalar(text("PRAGMA synchronous")) == 3  # EXTRA
    database.close()


def test_of_many_curators_at_once_one_wins_each_version(store_url: str) -> None:
    filled(store_url)
    outcomes: list[str] = []

    def decide(number: int) -> None:
        with DecisionStore.open(store_url) as store:
            try:
                store.append([LogEntry("oat milk", Action.DEFER, 1)], f"curator {number}")
            except ConflictError as error:
                outcomes.append(error.other.curator)
            else:
                outcomes.append("won")

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with DecisionStore.open(store_url) as store:
        winner = store.history(limit=1)[0].curator
        assert len(store.history()) == 4
    assert sorted(outcomes) == [*[winner] * 5, "won"]


def test_readers_do_not_wait_for_a_writer(store_url: str) -> None:
    filled(store_url)
    database = Database.connect(store_url)
    with DecisionStore.open(store_url) as store, database.writing() as connection:
        connection.execute(text("UPDATE queue SET comment = 'half done'"))
        comments = [each.comment for each in store.queue(QueueQuery()).concepts]
        assert comments == ["", "", ""]
    database.close()


def test_a_file_that_is_not_a_store_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("label\noat milk\n" * 100, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"new\.csv: is not a decision store"):
        DecisionStore.open(str(path))
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_kept(store_url: str) -> None:
    database = Database.connect(store_url)
    with database.engine.begin() as connection:
        connection.execute(text("CREATE TABLE decisions (photo INTEGER)"))
    database.close()
    with pytest.raises(StoreError, match="the table decisions of another program"):
        DecisionStore.open(store_url)


def test_other_tables_in_postgresql_do_not_matter(postgresql: PostgresqlServer) -> None:
    url = postgresql.new_schema()
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE photos (id INTEGER)"))
    engine.dispose()
    filled(url)


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    filled(str(path))
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"reviews\.db: is damaged.*try again.*restore"):
        filled(str(path))


@pytest.mark.parametrize(
    "change",
    [
        """concepts SET synonyms = '["a'""",
        "queue SET rejected = '[1]'",
        "queue SET status = 'perhaps'",
        """proposals SET suggestions = '{"a": 1}'""",
        "proposals SET suggestions = '[{}]'",
    ],
)
def test_a_damaged_value_is_named(change: str, tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    filled(str(path))
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {change}")
    connection.close()
    with DecisionStore.open(str(path)) as store:
        reads = [store.queue, store.export_suggestions]
        with pytest.raises(StoreError, match=r"reviews\.db: is damaged"):
            [read() for read in reads]


def test_a_mistake_of_the_caller_is_not_reported_as_damage(store: DecisionStore) -> None:
    wrong: Any = "high"
    with pytest.raises(KeyError):
        store.queue(QueueQuery(order=wrong))
    with pytest.raises(TypeError):
        store.queue(QueueQuery(min_confidence=wrong))
    with pytest.raises(TypeError):
        store.add_concepts([replace(NEW[0], label=None)])
    assert store.queue().total == 3


def test_a_path_without_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    with pytest.raises(StoreError, match="does not exist"):
        DecisionStore.open(str(path), must_exist=True)
    assert not path.exists()
    with pytest.raises(StoreError, match="is a folder"):
        DecisionStore.open(str(tmp_path))
    for folder in (tmp_path / "missing", Path("/proc/self")):
        with pytest.raises(StoreError, match=r"reviews\.db: .*(not writable|make .* writable)"):
            DecisionStore.open(str(folder / "reviews.db"))


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    filled(str(path))
    with DecisionStore.open(str(path)) as store:
        with sqlite3.connect(path) as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.close()
        limit_pages(store, pages)
        many = [Concept("", f"concept {number}" * 20) for number in range(500)]
        with pytest.raises(StoreError, match="the disk is full"):
            store.add_concepts(many)
        assert store.queue().total == 3


def test_a_disk_that_fails_is_named_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    filled(str(path))
    with DecisionStore.open(str(path)) as store:
        many = [Concept("", f"concept {number}" * 20) for number in range(500)]
        limited = no_file_larger_than(path.stat().st_size)
        with limited, pytest.raises(StoreError, match=r"disk I/O error.*quota.*try again"):
            store.add_concepts(many)
        assert store.queue().total == 3


def limit_pages(store: DecisionStore, pages: int) -> None:
    """Let SQLite report a full disk when the file would grow."""
    from sqlalchemy import event

    def limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    store.close()
    event.listen(store._database.engine, "connect", limit)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://ada:{secret}@localhost/desk", "cannot be stored at mysql://…; give a file, or"),
        ("postgresql://ada:{secret}@localhost:port/desk", "the URL of the database is malformed"),
        ("postgresql://ada:{secret}@localhost:1/desk", "PostgreSQL cannot be reached"),
        ("postgresql://ada@localhost:1/desk?password={secret}", "PostgreSQL cannot be reached"),
        ("postgresql://ada@localhost:1/desk?nonsense={secret}", "localhost:1/desk: "),
    ],
)
def test_a_message_about_a_url_never_shows_the_password(url: str, message: str) -> None:
    for secret in ("s3cr3t", SECRET):
        with pytest.raises(StoreError) as caught:
            DecisionStore.open(url.format(secret=secret))
        assert message in str(caught.value) or "malformed" in str(caught.value)
        assert "s3cr3t" not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "bare", "secret"),
    [
        ("reviews.db", "reviews.db", None),
        ("postgresql://ada@db:5/desk", "postgresql://ada@db:5/desk", None),
        ("postgresql://ada:a%2Fb@db/desk", "postgresql://ada@db/desk", "a/b"),
        ("postgresql://db/desk?password=ab&host=x", "postgresql://db/desk?host=x", "ab"),
    ],
)
def test_the_password_is_split_from_a_url(url: str, bare: str, secret: str | None) -> None:
    assert split_password(url) == (bare, secret)


def test_a_database_that_does_not_exist_is_named(postgresql: PostgresqlServer) -> None:
    url = f"{postgresql.url}nothing{postgresql.query}"
    with pytest.raises(StoreError, match=r'cannot be reached .*"nothing" does not exist'):
        DecisionStore.open(url)


@pytest.mark.slow
def test_a_port_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taxoexpan.desk.store.database.CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(StoreError, match=f"127.0.0.1:{port}/desk: PostgreSQL cannot be"):
            DecisionStore.open(f"postgresql://ada:s3cr3t@127.0.0.1:{port}/desk")
