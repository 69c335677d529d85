"""Python values as columns of text that mean the same in SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from taxoexpan.desk.store.proposal import Pair, Proposal
from taxoexpan.desk.store.records import Placement, storable
from taxoexpan.desk.store.store_errors import StoredValueError
from taxoexpan.placement.suggesting.suggestions import Place, SuggestionKind

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")

_DECODER = json.JSONDecoder()


def reads_stored(read: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """Mark a function that only reads stored values: what goes wrong in it is their damage."""

    @wraps(read)
    def checked(*arguments: Arguments.args, **options: Arguments.kwargs) -> Value:
        try:
            return read(*arguments, **options)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise StoredValueError(str(error)) from error

    return checked


class CleanText(TypeDecorator[str]):
    """Text without the characters that databases refuse."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Replace the characters that databases refuse."""
        return None if value is None else storable(value)


class UtcTime(TypeDecorator[datetime]):
    """A time in UTC, in the notation of ISO 8601."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Write a time."""
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    @reads_stored
    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Read a time."""
        return None if value is None else datetime.fromisoformat(value)


class TextTuple(TypeDecorator[tuple[str, ...]]):
    """Several texts, as a list in JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> str:  # noqa: ARG002
        """Write the texts."""
        return json.dumps(list(value or ()))

    @reads_stored
    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...]:  # noqa: ARG002
        """Read the texts."""
        return _texts(json.loads(value or "[]"))


class Placements(TypeDecorator[tuple[Placement, ...]]):
    """Placements, as a list of objects in JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[Placement] | None, dialect: Dialect) -> str:  # noqa: ARG002
        """Write the placements."""
        return json.dumps([_as_object(each) for each in value or ()])

    @reads_stored
    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[Placement, ...]:  # noqa: ARG002
        """Read the placements."""
        return tuple(_placement(each) for each in json.loads(value or "[]"))


class Pairs(TypeDecorator[frozenset[Pair]]):
    """Rejected proposals, as a sorted list of pairs in JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: frozenset[Pair] | None, dialect: Dialect) -> str:  # noqa: ARG002
        """Write the pairs."""
        return json.dumps(sorted(value or ()))

    @reads_stored
    def process_result_value(self, value: str | None, dialect: Dialect) -> frozenset[Pair]:  # noqa: ARG002
        """Read the pairs."""
        return frozenset((parent, merge) for parent, merge in json.loads(value or "[]"))


class Proposals(TypeDecorator[tuple[Proposal, ...]]):
    """Proposals, as a list of objects in JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[Proposal] | None, dialect: Dialect) -> str:  # noqa: ARG002
        """Write the proposals."""
        return json.dumps(
            [
                {**_as_object(each.placement), "place": each.place.value, "why": each.why}
                for each in value or ()
            ]
        )

    @reads_stored
    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[Proposal, ...]:  # noqa: ARG002
        """Read the proposals."""
        return tuple(_proposal(each) for each in json.loads(value or "[]"))


@reads_stored
def first_stored(value: str, rejected: Collection[Pair]) -> Proposal | None:
    """Return the first proposal of a column of `Proposals` that is not rejected."""
    position = 1  # behind the bracket; the objects are read one by one, most often only the first
    while value[position] == "{":
        each, end = _DECODER.raw_decode(value, position)
        if (each["parent_id"], each["kind"] == SuggestionKind.MERGE) not in rejected:
            return _proposal(each)
        position = end + len(", ") if value[end] == "," else end
    return None


def _as_object(placement: Placement) -> dict[str, object]:
    return {
        "parent_id": placement.parent_id,
        "parent_label": placement.parent_label,
        "path": placement.path,
        "kind": placement.kind.value,
        "moves": placement.moves,
        "rank": placement.rank,
        "confidence": placement.confidence,
        "score": placement.score,
    }


def _placement(fields: dict[str, Any]) -> Placement:
    path, moves = _texts(fields["path"]), _texts(fields["moves"])
    _texts([fields["parent_id"], fields["parent_label"]])
    kind = SuggestionKind(fields["kind"])
    return Placement(**{**fields, "path": path, "moves": moves, "kind": kind})


def _proposal(fields: dict[str, Any]) -> Proposal:
    place, why = Place(fields.pop("place")), fields.pop("why")
    return Proposal(_placement(fields), place, why)


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the texts of a list, or refuse another value in it."""
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a value is not a text")
    return tuple(values)
