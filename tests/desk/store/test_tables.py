"""Migrations: from an older version, from a newer one, and the tables that result."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import inspect, text

from taxoexpan.desk.store.database import Database
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Status, StoreError
from taxoexpan.desk.store.tables import migrate, versions
from tests.support.desk_cases import NEW, accept, first_proposals


def test_a_store_of_the_first_version_is_migrated(store_url: str) -> None:
    """Take a store back to its first version, which had no queue, and open it."""
    with DecisionStore.open(store_url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        store.append([accept(store.queue().concepts[0])], "Ada")
        before = store.queue(), store.history()
    database = Database.connect(store_url)
    with database.writing() as connection:
        connection.execute(text("DROP TABLE queue"))
        connection.execute(text("ALTER TABLE decisions DROP COLUMN edited"))
        connection.execute(text(f"UPDATE {versions.name} SET version_num = '0001'"))
    database.close()
    with DecisionStore.open(store_url) as store:
        assert (store.queue(), store.history()) == before
        assert store.counts()[Status.ACCEPTED] == 1


def test_a_newer_version_is_refused(store_url: str) -> None:
    DecisionStore.open(store_url).close()
    database = Database.connect(store_url)
    with database.writing() as connection:
        connection.execute(text(f"UPDATE {versions.name} SET version_num = '0099'"))
    database.close()
    with pytest.raises(StoreError, match="newer version"):
        DecisionStore.open(store_url)


def test_a_migration_that_fails_leaves_nothing_behind(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    database = Database.connect(store_url)
    with monkeypatch.context() as patched:
        patched.setattr("taxoexpan.desk.store.tables._protect_log", fail)  # after the tables
        with pytest.raises(KeyboardInterrupt):
            migrate(database)
    with database.reading() as connection:
        assert inspect(connection).get_table_names() == []
    assert migrate(database)
    database.close()


def test_several_processes_may_open_a_new_store_at_once(store_url: str) -> None:
    problems: list[BaseException] = []

    def open_store() -> None:
        try:
            DecisionStore.open(store_url).close()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=open_store) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
