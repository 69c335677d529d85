"""The limits of the service: what is larger is refused, what does not fit now is told to wait."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LABEL = 1_000
MAX_DEFINITION = 20_000
MAX_SYNONYMS = 100
MAX_TOP_K = 100
MAX_ID = 2_000
MAX_PAGE = 1_000
MAX_SEARCH_RESULTS = 100
MAX_OFFSET = 2**31


@dataclass(frozen=True)
class ServiceLimits:
    """The limits that the command line sets."""

    max_concepts: int = 100
    """Concepts in one request."""
    max_waiting: int = 1_000
    """Concepts that may wait to be placed."""
    max_requests: int = 256
    """Requests that are answered at the same time."""
    max_body: int = 4 << 20
    """Bytes of a request."""
