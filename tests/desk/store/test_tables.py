"""Migrations: from an older version, from a newer one, and the tables that result."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import inspect, text

from tests.support.desk_cases import (
    NEW,
    DecisionStore,
    StoreError,
    accept,
    append,
    connection,
    counts,
    first_proposals,
    queued,
)
from tests.support.postgresql_server import PostgresqlServer

VERSION = "taxoexpan_schema"
"""The table with the version of the others."""


def change(url: str, *statements: str) -> None:
    """Change the tables behind the back of the store."""
    with connection(url) as opened:
        for statement in statements:
            opened.execute(text(statement))


def tables(url: str) -> set[str]:
    with connection(url) as opened:
        return set(inspect(opened).get_table_names())


@pytest.fixture
def contents(store: DecisionStore) -> tuple[object, object]:
    """The queue and the log of a store with a decision."""
    append(store, "Ada", accept(queued(store, "oat milk")))
    return store.queue(), store.history()


def test_a_store_of_the_first_version_is_migrated(
    contents: tuple[object, object], store_url: str
) -> None:
    """The first version had no queue and no edits."""
    change(
        store_url,
        "DROP TABLE queue",
        "ALTER TABLE decisions DROP COLUMN edited",
        f"UPDATE {VERSION} SET version_num = '0001'",
    )
    with DecisionStore.open(store_url) as store:
        assert (store.queue(), store.history()) == contents
        assert counts(store) == {"accepted": 1, "todo": 2}


def test_a_newer_version_is_refused(store_url: str) -> None:
    DecisionStore.open(store_url).close()
    change(store_url, f"UPDATE {VERSION} SET version_num = '0099'")
    with pytest.raises(StoreError, match="newer"):
        DecisionStore.open(store_url)


def test_a_migration_that_fails_changes_nothing(
    contents: tuple[object, object], store_url: str
) -> None:
    """The column that the migration adds is there already; the queue was dropped before that."""
    with connection(store_url) as opened:
        (version,) = opened.scalars(text(f"SELECT version_num FROM {VERSION}"))
    before = tables(store_url)
    change(store_url, f"UPDATE {VERSION} SET version_num = '0001'")
    with pytest.raises(StoreError, match="edited"):
        DecisionStore.open(store_url)
    assert tables(store_url) == before
    change(store_url, f"UPDATE {VERSION} SET version_num = '{version}'")
    with DecisionStore.open(store_url) as store:
        assert (store.queue(), store.history()) == contents


def test_tables_that_cannot_all_be_created_are_not_created_at_all(
    postgresql: PostgresqlServer,
) -> None:
    url = postgresql.new_schema()
    taken = "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS"
    change(url, f"{taken} $$ BEGIN RETURN NEW; END $$")
    with pytest.raises(StoreError, match="refuse_change"):
        DecisionStore.open(url)
    assert tables(url) == set()
    change(url, "DROP FUNCTION refuse_change")
    with DecisionStore.open(url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        assert counts(store) == {"todo": len(NEW)}


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
