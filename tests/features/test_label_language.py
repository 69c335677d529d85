from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from conftest import SMALL

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.cli.main import main
from taxoexpan.features.embedding import warn_of_language
from taxoexpan.features.encoder_registry import BEST

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
    for features in ("static", BEST, "transformer:/models/all-MiniLM-L6-v2"):
        with pytest.warns(UserWarning, match="multilingual"):
            warn_of_language(features, OTHERS[language].split(", "))


@pytest.mark.parametrize("subject", ENGLISH)
def test_english_latin_and_chemical_labels_get_none(subject: str) -> None:
    warn_of_language(BEST, ENGLISH[subject].split(", "))  # a warning would be an error


def test_letters_may_be_composed_or_not() -> None:
    with pytest.warns(UserWarning, match="do not seem to be English"):
        warn_of_language("static", ["Ka\u0308se", "Mo\u0308bel"])


@pytest.mark.parametrize(
    "features", ["transformer:multilingual", "vectors:cc.de.vec", "static+skipgram:texts.gz"]
)
def test_an_encoder_that_may_know_the_language_gets_no_warning(features: str) -> None:
    warn_of_language(features, OTHERS["Russian"].split(", "))


def test_no_labels_are_no_language() -> None:
    warn_of_language("static", [])


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
        model.fit(Taxonomy.read(vegetables))


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
        TaxoExpan("fast", device="cpu", **SMALL | {"epochs": 1}).fit(Taxonomy.read(pantry))
