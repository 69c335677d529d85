from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.cli.main import main
from taxoexpan.features import embedding
from taxoexpan.features.embedding import (
    embed_concepts,
    head_word,
    warn_of_language,
    warn_of_wordless,
)
from taxoexpan.features.static import StaticEncoder
from taxoexpan.taxonomy import Concept
from tests.support.small_models import SMALL

ENCODER = StaticEncoder()


def test_names_and_definition_are_added() -> None:
    plain, defined = Concept("1", "skyr"), Concept("2", "skyr", (), "a thick yogurt")
    name, text = ENCODER.encode(["skyr", "a thick yogurt"])
    both = embed_concepts(ENCODER, [plain, defined])[0]
    assert np.allclose(both[0], name, atol=1e-6)
    total = name + text
    assert np.allclose(both[1], total / np.linalg.norm(total), atol=1e-6)


@pytest.mark.parametrize("weights", [(1.0, 2.0), (3.0, 0.5), (0.0, 1.0), (1.0, 0.0)])
def test_name_and_definition_are_weighted(weights: tuple[float, float]) -> None:
    plain, defined = Concept("1", "skyr"), Concept("2", "skyr", (), "a thick yogurt")
    name, text = ENCODER.encode(["skyr", "a thick yogurt"])
    both = embed_concepts(ENCODER, [plain, defined], *weights)[0]
    assert np.allclose(both[0], name, atol=1e-6)
    total = weights[0] * name + weights[1] * text
    assert np.allclose(both[1], total / np.linalg.norm(total), atol=1e-6)


def test_synonyms_are_averaged_with_the_label() -> None:
    concept = Concept("1", "pop", ("soda water", "fizzy drink"))
    total = ENCODER.encode(["pop", "soda water", "fizzy drink"]).sum(0)
    assert np.allclose(
        embed_concepts(ENCODER, [concept])[0, 0], total / np.linalg.norm(total), atol=1e-6
    )


def test_the_second_vector_is_the_head_word() -> None:
    vectors = embed_concepts(ENCODER, [Concept("1", "oat milk"), Concept("2", "milk")])
    assert np.allclose(vectors[1, 0], vectors[1, 1], atol=1e-6)
    assert head_word(" ") == ""


def test_a_name_and_its_definition_can_be_encoded_as_one_text() -> None:
    encoder = StaticEncoder()
    concepts = [Concept("a", "oak", ("oak tree",), "a tree"), Concept("b", "elm", ("elm tree",))]
    joined = embed_concepts(encoder, concepts, name_weight=0.0, joined=True)
    separate = embed_concepts(encoder, concepts)
    np.testing.assert_allclose(joined[0, 0], encoder.encode(["oak: a tree"])[0], rtol=1e-6)
    np.testing.assert_array_equal(joined[0, 1], separate[0, 1])
    np.testing.assert_array_equal(joined[1], separate[1])


@pytest.mark.parametrize("joined", [False, True])
def test_blocks_of_any_size_give_the_same_vectors(
    joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    concepts = [
        Concept(str(i), f"tea {i}", ("brew", "cup")[: i % 3], "a drink" * (i % 2))
        for i in range(11)
    ]
    whole = embed_concepts(ENCODER, concepts, 2.0, 1.0, joined)
    for size in (1, 4, 5):
        monkeypatch.setattr(embedding, "BLOCK_SIZE", size)
        in_blocks = embed_concepts(ENCODER, iter(concepts), 2.0, 1.0, joined)
        np.testing.assert_allclose(in_blocks, whole, atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["\N{EM DASH}", "tea"], "'\N{EM DASH}' has no letter or digit; "),
        (
            ["!", "tea", "\N{SLICE OF PIZZA}"],
            "'!' and '\N{SLICE OF PIZZA}' have no letter or digit; ",
        ),
        (["+"] * 7, "'+', '+', '+', '+', '+' and 2 others have no letter or digit; "),
    ],
)
def test_labels_without_words_are_named_in_one_warning(labels: list[str], named: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_wordless([Concept("", label) for label in labels])
    assert len(caught) == 1
    assert str(caught[0].message).startswith(named)


def test_words_of_any_script_digits_and_definitions_are_enough() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        concepts = [Concept("", label) for label in ("茶", "чай", "7", "\N{SUPERSCRIPT TWO}")]
        pizza = Concept("", "\N{SLICE OF PIZZA}", (), "a flat bread with cheese")
        warn_of_wordless([*concepts, pizza, Concept("", "+", ("plus",))])


OTHERS = {
    "German": "Gemüse, Obst und Früchte, Käse, Brot für Kinder, Getränke, Möbel, Stühle, Tisch",
    "French": "Fruits et légumes, Boissons, Chaises de jardin, Jouets pour enfants, Thé, Épices",
    "Italian": "Sedie da giardino, Giocattoli per bambini, Frutta, Abiti da sera, Pane, Bevande",
    "Dutch": "Stoelen voor buiten, Speelgoed, Brood, Kaas, Onderdelen van fietsen, Groente",
    "Czech": "Zelenina, Nápoje, Židle, Dětské hračky, Koření, Kola a příslušenství, Sýry",
    "Russian": "Овощи, Фрукты, Сыр, Хлеб, Мебель для сада, Игрушки",
    "Chinese": "蔬菜, 水果, 奶酪, 面包, 花园家具, 玩具",
    "Hindi": "सब्ज़ी, फल, रोटी, दूध, चाय",
}
ENGLISH = {
    "products": "Café Tables, Garden Chairs, Toys for Kids, Bread, Cheese, Vehicle Parts, Spices, "
    "Fruits & Vegetables, Lamps, Bicycle Tires, Curtains, Hats, Belts",
    "species": "Abelmoschus esculentus, Canis lupus, Petasites vulgaris, Quercus alba, Rosaceae, "
    "Escherichia coli, Mus musculus domesticus, Homo sapiens neanderthalensis",
    "chemicals": "2,4-dinitrophenol, α-pinene, β-carotene, γ-aminobutyric acid, Δ9-THC, urea, "
    "N-methyl-D-aspartic acid, 3-methoxy-4-hydroxybenzaldehyde, per-O-acetylglucose",
    "diseases": "Ménière disease, von Willebrand disease, asthma, influenza, type 2 diabetes, "
    "cardiac arrest, migraine, gout, otitis media, lupus, measles, mumps, cholera, malaria, "
    "typhus, rubella, scurvy, rickets, anemia, jaundice, angina",
}


@pytest.mark.parametrize("language", OTHERS)
def test_labels_in_another_language_get_a_warning(language: str) -> None:
    for features in ("static", "static+pretrained", "transformer:/models/all-MiniLM-L6-v2"):
        with pytest.warns(UserWarning, match="multilingual"):
            warn_of_language(features, OTHERS[language].split(", "))


@pytest.mark.parametrize("subject", ENGLISH)
def test_english_latin_and_chemical_labels_get_none(subject: str) -> None:
    warn_of_language(
        "static+pretrained", ENGLISH[subject].split(", ")
    )  # a warning would be an error


def test_letters_may_be_composed_or_not() -> None:
    with pytest.warns(UserWarning, match="do not seem to be English"):
        warn_of_language("static", ["Ka\u0308se", "Mo\u0308bel"])


@pytest.mark.parametrize(
    "features", ["transformer:multilingual", "vectors:cc.de.vec", "static+vectors:texts.vec.gz"]
)
def test_an_encoder_that_may_know_the_language_gets_no_warning(features: str) -> None:
    warn_of_language(features, OTHERS["Russian"].split(", "))


@pytest.fixture
def vegetables(tmp_path: Path) -> Path:
    path = tmp_path / "gemüse.csv"
    kinds = ["Möhre", "Rübe", "Kürbis", "Kräuter"]
    rows = [f"{kind},Gemüse\n" for kind in kinds]
    rows += [f"{kind} {n},{kind}\n" for kind in kinds for n in range(6)]
    path.write_text("child,parent\n" + "".join(rows), encoding="utf-8")
    return path


def test_training_warns_before_it_begins(vegetables: Path) -> None:
    model = TaxoExpan("fast", device="cpu", **SMALL | {"epochs": 1})
    message = "the encoder 'static' knows only English; .*: transformer:NAME_OR_PATH$"
    with pytest.warns(UserWarning, match=message):
        model.fit(read_taxonomy(vegetables))


@pytest.mark.filterwarnings("always")
def test_a_command_warns_once(
    vegetables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = SMALL | {"epochs": 1}
    changes = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    command = ["clean", str(vegetables), "-o", str(tmp_path / "found.csv"), "--folds", "3"]
    assert main([*command, "--preset", "fast", "--quiet", *changes]) == 0
    messages = capsys.readouterr().err
    assert messages.count("do not seem to be English") == 1
    assert "multilingual" in messages
    new = tmp_path / "new.csv"
    new.write_text(vegetables.read_text(encoding="utf-8") + "Lauch,Gemüse\n", encoding="utf-8")
    command = ["evaluate", str(vegetables), str(new), "--features", "static", "--quiet"]
    assert main([*command, "--methods", "closest-parent"]) == 0
    assert capsys.readouterr().err.count("do not seem to be English") == 1


def test_english_taxonomies_train_without_a_warning(pantry: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TaxoExpan("fast", device="cpu", **SMALL | {"epochs": 1}).fit(read_taxonomy(pantry))
