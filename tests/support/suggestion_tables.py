"""Reading a table of suggestions in tests."""

from tests.support.decisions import read_suggestions

__all__ = ["read_suggestions"]
