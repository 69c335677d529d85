"""Fixtures for the tests of the desk: a PostgreSQL server, and a store in both databases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.postgresql_server import PostgresqlServer, find_programs, running_server

if TYPE_CHECKING:
    from tests.support.desk_cases import DecisionStore


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """A PostgreSQL server: that of TAXOEXPAN_TEST_POSTGRESQL, or an own one."""
    given = os.environ.get("TAXOEXPAN_TEST_POSTGRESQL")
    if given:
        url, _, query = given.partition("?")
        yield PostgresqlServer(f"{url.rpartition('/')[0]}/", f"?{query}" if query else "")
        return
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (apt install postgresql)")
    with running_server(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The place of a store that does not exist yet, in both kinds of database."""
    if request.param == "sqlite":
        return str(tmp_path / "reviews.db")
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.new_schema()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_store_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The place of a store for all tests of a module, in both kinds of database."""
    if request.param == "sqlite":
        return str(tmp_path_factory.mktemp("store") / "reviews.db")
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.new_schema()


@pytest.fixture
def store(store_url: str) -> Iterator[DecisionStore]:
    """A store with three new concepts and the proposals of a model."""
    from tests.support.desk_cases import NEW, DecisionStore, first_proposals

    with DecisionStore.open(store_url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        yield store
