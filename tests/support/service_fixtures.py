"""Fixtures for the tests of the service: a model with odd names, and a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from taxoexpan import TaxoExpan


@pytest.fixture(scope="session")
def odd_model() -> TaxoExpan:
    """A small model of the odd taxonomy."""
    from taxoexpan import TaxoExpan
    from tests.support.service_cases import SMALL, odd_taxonomy

    return TaxoExpan("fast", seed=1, device="cpu", **SMALL).fit(odd_taxonomy())


@pytest.fixture(scope="module")
def service_client(odd_model: TaxoExpan) -> Iterator[TestClient]:
    """A client of the service of the odd taxonomy."""
    from tests.support.service_cases import client_of

    with client_of(odd_model) as client:
        yield client
