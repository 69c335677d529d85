from __future__ import annotations

import copy
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.features.static import StaticEncoder
from tests.support.builders import pantry_csv
from tests.support.desk_fixtures import (  # noqa: F401
    postgresql,
    shared_store_url,
    store,
    store_url,
)
from tests.support.service_fixtures import odd_model, service_client  # noqa: F401
from tests.support.small_models import SMALL
from tests.support.tiny_transformer import save_pantry_transformer

# How long a test takes says more of the machine than of the code. Every run draws new examples.
settings.register_profile("any machine", deadline=None, max_examples=30)
settings.load_profile("any machine")

# Thousands of files are written through to the disk; in memory that takes no time.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# Tests that press Ctrl-C must work in the background too, where a shell lets SIGINT be ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

KEPT = StaticEncoder()
"""It keeps the word vectors, so that they are loaded once."""


def pytest_collection_finish() -> None:
    """Leave the tests out of garbage collections: they stay, and they are many.

    Later collections are rare, because large libraries that tests import are gone through again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Vectors are kept for this run only, and not where the user's are."""
    KEPT.prepare([])
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TAXOEXPAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _signals_are_as_before() -> Iterator[None]:
    """A signal that stays blocked or ignored would change what later tests see."""
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    yield
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.fixture(scope="session")
def pantry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edge list of ninety foods."""
    path = tmp_path_factory.mktemp("pantry") / "pantry.csv"
    path.write_text(pantry_csv(), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def model(pantry: Path) -> TaxoExpan:
    """A small model of the pantry."""
    return TaxoExpan("fast", seed=1, device="cpu", **SMALL).fit(read_taxonomy(pantry))


@pytest.fixture(scope="session")
def scored_model(model: TaxoExpan) -> TaxoExpan:
    """The same model without its confidence, like a model of very few concepts."""
    scored = copy.copy(model)
    calibrators = replace(model.calibrators, calibration=None)
    scored._reset(replace(model._fitted(), calibrators=calibrators))
    return scored


@pytest.fixture(scope="session")
def model_directory(model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model, saved; tests copy it before they change anything."""
    path = tmp_path_factory.mktemp("models") / "model"
    model.save(path)
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser for all tests; they use it by the fixture `driver`, which clears it."""
    from tests.support.chromium import started_browser

    with started_browser() as started:
        yield started


@pytest.fixture(scope="session")
def tiny_transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sentence transformer that knows the words of the pantry."""
    pytest.importorskip("sentence_transformers")
    folder = save_pantry_transformer(tmp_path_factory.mktemp("transformers") / "tiny")
    gc.freeze()  # the library stays, and it is large
    return folder


@pytest.fixture(scope="session")
def tuned_model(pantry: Path, tiny_transformer: Path) -> TaxoExpan:
    """A small model of the pantry with a fine-tuned encoder."""
    settings = SMALL | {
        "epochs": 3,
        "features": f"static+transformer:{tiny_transformer}",
        "tower_epochs": 2,
        "tower_learning_rate": 0.003,
    }
    return TaxoExpan("best", seed=1, device="cpu", **settings).fit(read_taxonomy(pantry))
