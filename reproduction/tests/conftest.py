from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.builders import pantry_csv

settings.register_profile("any machine", deadline=None, max_examples=30)
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Vectors are kept for this run only, and not where the user's are."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TAXOEXPAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def pantry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edge list of ninety foods."""
    path = tmp_path_factory.mktemp("pantry") / "pantry.csv"
    path.write_text(pantry_csv(), encoding="utf-8")
    return path
