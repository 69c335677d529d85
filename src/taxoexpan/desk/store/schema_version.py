"""Bringing the tables of a store to the version that this code needs."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext, RevisionStep
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from taxoexpan.desk.store.database import Database
from taxoexpan.desk.store.store_errors import StoreError
from taxoexpan.desk.store.tables import VERSION_TABLE, metadata


def migrate(database: Database) -> bool:
    """Create the tables, or bring them to the newest version; return whether anything changed.

    A store from a newer version, and a database of another program, are refused.
    """
    script = ScriptDirectory(str(Path(__file__).parent / "migrations"))
    newest = script.get_current_head()
    with database.reading() as connection:
        if _version(database, connection, script) == newest:
            return False
    with database.writing() as connection:
        # Another process may have migrated it in the meantime.
        if _version(database, connection, script) == newest:
            return False
        _upgrade(connection, script)
    return True


def _version(database: Database, connection: Connection, script: ScriptDirectory) -> str | None:
    """Return the version of the tables, or None if there are none."""
    names = set(inspect(connection).get_table_names())
    if VERSION_TABLE not in names:
        foreign = names if database.is_sqlite else names & set(metadata.tables)
        if foreign:
            found = f"the table {min(foreign)} of another program"
            raise StoreError(f"{database.name}: has {found}; give another name")
        return None
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    version = context.get_current_revision()
    known = {revision.revision for revision in script.walk_revisions()}
    if version is not None and version not in known:
        message = f"was written by a newer version of taxoexpan (schema {version})"
        raise StoreError(f"{database.name}: {message}; update taxoexpan")
    return version


def _upgrade(connection: Connection, script: ScriptDirectory) -> None:
    """Run the migrations that are missing, in the transaction of the connection."""

    def missing(version: object, _: MigrationContext) -> list[RevisionStep]:
        # Alembic's own commands call this; its public ones need a configuration file.
        return script._upgrade_revs("head", version)  # type: ignore[arg-type]

    with EnvironmentContext(Config(), script, fn=missing) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE)
        environment.run_migrations()
