"""Filters of the queue, as URL parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import parse_qs, urlencode

from taxoexpan.desk.store.decisions import Status
from taxoexpan.desk.store.queue import QueueOrder, QueueQuery
from taxoexpan.taxonomy import Taxonomy

PAGE_SIZE = 50
"""The number of concepts on one page of the queue."""
MAX_TEXT = 200
"""The number of characters of a search that count."""
ALL = "all"
"""The status that stands for all of them."""
COARSE = "coarse"
"""The status of accepted concepts whose place is to be refined."""
PRESENT = "present"
"""The status of concepts to do that are probably in the taxonomy already."""
COMMENTED = "commented"
"""The status that stands for all concepts with a comment."""


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """The filter, order and offset of the queue that is shown."""

    status: str = Status.TODO.value
    text: str = ""
    low: float | None = None
    high: float | None = None
    branch: str = ""
    sure: int = 0
    """1 for only the concepts that can be placed as deep as is sure."""
    order: str = QueueOrder.CONFIDENCE.value
    offset: int = 0

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> QueueFilter:
        """Parse URL parameters; invalid values are ignored."""
        status = values.get("status", "")
        order = values.get("order", "")
        return cls(
            status=status
            if status in (ALL, COARSE, PRESENT, COMMENTED, *Status)
            else Status.TODO.value,
            text=values.get("q", "").strip()[:MAX_TEXT],
            low=fraction(values.get("low", "")),
            high=fraction(values.get("high", "")),
            branch=values.get("branch", ""),
            sure=int(values.get("sure") == "1"),
            order=order if order in tuple(QueueOrder) else QueueOrder.CONFIDENCE.value,
            offset=natural(values.get("offset", "")) or 0,
        )

    @classmethod
    def parse_query(cls, query: str) -> QueueFilter:
        """Parse a query string, as `query` returns it."""
        return cls.parse({name: values[0] for name, values in parse_qs(query).items()})

    @property
    def query(self) -> str:
        """The parameters as a query string, without default values."""
        values = [(field.name, getattr(self, field.name), field.default) for field in fields(self)]
        changed = [(name, value) for name, value, default in values if value != default]
        return urlencode([("q" if name == "text" else name, value) for name, value in changed])

    def url(self, **others: str | int) -> str:
        """Return the URL of the queue with these and other parameters."""
        return queue_url(self.query, **others)

    @property
    def bulk_url(self) -> str:
        """The URL of the page that accepts many concepts of this part of the queue."""
        query = QueueFilter(text=self.text, branch=self.branch).query
        return f"/bulk?{query}" if query else "/bulk"

    @property
    def is_narrowed(self) -> bool:
        """Whether a confidence limit or a branch is set, or branches must be sure."""
        return bool(self.low is not None or self.high is not None or self.branch or self.sure)

    @property
    def without_limits(self) -> QueueFilter:
        """The same filter without confidence limits and branches."""
        return replace(self, low=None, high=None, branch="", sure=0, offset=0)

    def with_status(self, status: str) -> QueueFilter:
        """Return the filter for the first page of another status."""
        return replace(self, status=status, offset=0)

    def page(self, step: int) -> QueueFilter:
        """Return the filter for another page."""
        return replace(self, offset=max(self.offset + step * PAGE_SIZE, 0))

    def to_query(self, taxonomy: Taxonomy, limit: int | None = PAGE_SIZE) -> QueueQuery:
        """Return the query for the store; concepts to do include deferred ones, but no merges."""
        is_open = Status.TODO, Status.DEFERRED
        statuses = {
            ALL: (),
            COMMENTED: (),
            COARSE: (Status.ACCEPTED,),
            PRESENT: is_open,
            Status.TODO.value: is_open,
        }
        merge = {PRESENT: True, Status.TODO.value: False}
        return QueueQuery(
            statuses=statuses[self.status] if self.status in statuses else (Status(self.status),),
            coarse=self.status == COARSE,
            merge=merge.get(self.status),
            commented=self.status == COMMENTED,
            text=self.text,
            min_confidence=self.low,
            max_confidence=self.high,
            branch=taxonomy.path(self.branch) if self.branch in taxonomy else (),
            order=QueueOrder(self.order),
            offset=self.offset,
            limit=limit,
        )


def queue_url(query: str, **others: str | int) -> str:
    """Return the URL of the queue with the query string of a filter and other parameters."""
    joined = "&".join(filter(None, [query, urlencode(others)]))
    return f"/?{joined}" if joined else "/"


def fraction(text: str) -> float | None:
    """Parse a number from 0 to 1, with a decimal point or comma; return None for other strings."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def natural(text: str) -> int | None:
    """Parse a natural number of up to nine digits; return None for other strings."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
