"""Moves and merges on the command line, in every format that takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.difference import Difference
from tests.support.builders import KINDS, SORTS
from tests.support.command_line import run
from tests.support.expanded_files import write_file

QUICK = [
    "--preset",
    "fast",
    "--features",
    "static",
    "--epochs",
    "15",
    "--device",
    "cpu",
    "--seed",
    "1",
]
BASE = "http://example.org/"
DRINKS = Taxonomy(
    [
        Concept(BASE + "drink", "drink"),
        Concept(BASE + "vegan", "vegan"),
        Concept(BASE + "tea", "tea", ("chai",)),
        Concept(BASE + "oat-milk", "oat milk"),
    ],
    [
        (BASE + "drink", BASE + "tea"),
        (BASE + "drink", BASE + "oat-milk"),
        (BASE + "vegan", BASE + "oat-milk"),
    ],
)
HEADER = "query,query_id,rank,parent_id,score,confidence,kind,moves\n"


def table_of(folder: Path, taxonomy: Taxonomy) -> Path:
    """Decisions that insert milk between drink and oat milk, and merge cuppa into tea."""
    ids = {label: id for id, label in zip(taxonomy.ids, taxonomy.labels, strict=True)}
    rows = f"milk,{BASE}milk,1,{ids['drink']},0.9,,insert,{ids['oat milk']}\n"
    rows += f"cuppa,{BASE}cuppa,1,{ids['tea']},0.8,0.8,merge,\n"
    return write_file(folder / "decisions.csv", HEADER + rows)


MOVED = ["x.terms", "edges.csv", "x.csv", "x.tsv", "x.obo", "x.ttl", "x.nt", "x.json"]
MERGED = ["x.csv", "x.tsv", "x.obo", "x.ttl", "x.nt", "x.json", "x.rdf", "x.jsonld"]
OF = {"terms": "terms", "csv": "rows", "tsv": "rows", "obo": "obo", "json": "json"}


def file_of(folder: Path, name: str) -> Path:
    """The drinks in a file of this name."""
    format = "edges" if name.startswith("edges") else OF.get(name.partition(".")[2], "skos")
    for path, text in FORMATS[format].write(DRINKS, Target(folder / name)).files.items():
        write_file(path, text)
    return folder / name


@pytest.mark.parametrize("name", MOVED)
def test_a_child_moves_where_that_is_allowed(name: str, tmp_path: Path) -> None:
    path, out = file_of(tmp_path, name), tmp_path / f"out{Path(name).suffix}"
    old = read_taxonomy(path)
    table = table_of(tmp_path, old)
    messages = run("apply", path, table, "-o", out, "--allow-moves").err
    assert (
        "1 concept and 1 relation added, 1 relation moved below new concepts; expanded" in messages
    )
    assert "'cuppa' is probably (0.80) a synonym of" in messages
    difference = Difference(old, read_taxonomy(out))
    ids = {label: id for id, label in zip(old.ids, old.labels, strict=True)}
    (milk,) = difference.added
    assert difference.relations_removed == [(ids["drink"], ids["oat milk"])]
    assert set(difference.relations_added) == {(ids["drink"], milk.id), (milk.id, ids["oat milk"])}
    assert difference.changed == []
    assert ids["vegan"] in difference.new.parents(ids["oat milk"])


@pytest.mark.parametrize("name", MERGED)
def test_a_merge_becomes_a_synonym_where_that_is_allowed(name: str, tmp_path: Path) -> None:
    path, out = file_of(tmp_path, name), tmp_path / f"out{Path(name).suffix}"
    table = table_of(tmp_path, DRINKS)
    messages = run("apply", path, table, "-o", out, "--allow-merges").err
    assert "added, 1 synonym added; expanded" in messages
    assert "; not added" not in messages
    grown = read_taxonomy(out)
    assert set(grown.concept(BASE + "tea").synonyms) == {"chai", "cuppa"}
    assert set(DRINKS.relations) <= set(grown.relations)
    messages = run("apply", out, table, "-o", tmp_path / f"2{out.suffix}", "--allow-merges").err
    assert "'cuppa' is not added as a synonym: it is already a name of 'tea'" in messages
    assert "0 concepts and 0 relations added, 0 synonyms" in messages
    assert read_taxonomy(tmp_path / f"2{out.suffix}") == grown


@pytest.mark.parametrize("name", MOVED)
def test_without_the_options_every_old_byte_stays(name: str, tmp_path: Path) -> None:
    path, out = file_of(tmp_path, name), tmp_path / f"out{Path(name).suffix}"
    table = table_of(tmp_path, read_taxonomy(path))
    messages = run("apply", path, table, "-o", out).err
    assert "1 concept and 1 relation added; expanded taxonomy" in messages
    assert "(0.80) a synonym of 'tea'; not added" in messages
    difference = Difference(read_taxonomy(path), read_taxonomy(out))
    assert not difference.relations_removed
    assert not difference.changed
    if name != "x.json":
        assert out.read_bytes().startswith(path.read_bytes())


def test_in_a_file_of_paths_those_below_go_along(tmp_path: Path) -> None:
    old = "1 : Drink\n2 : Drink > Oat milk\n3 : Drink > Oat milk > Barista\n"
    path, out = write_file(tmp_path / "x.txt", old), tmp_path / "out.txt"
    table = write_file(tmp_path / "t.csv", f"{HEADER}Milk,,1,1,0.9,,insert,2\n")
    run("apply", path, table, "-o", out, "--allow-moves")
    assert out.read_text() == (
        "1 : Drink\n2 : Drink > Milk > Oat milk\n3 : Drink > Milk > Oat milk > Barista\n"
        "4 : Drink > Milk\n"
    )


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("edges.csv", "--allow-merges"),
        ("x.terms", "--allow-merges"),
        ("x.rdf", "--allow-moves"),
        ("x.jsonld", "--allow-moves"),
    ],
)
@pytest.mark.parametrize("command", ["apply", "expand"])
def test_a_file_without_a_place_is_refused_before_any_work(
    command: str, name: str, option: str, tmp_path: Path
) -> None:
    path, out = file_of(tmp_path, name), tmp_path / f"out{Path(name).suffix}"
    given = table_of(tmp_path, DRINKS)
    if command == "expand":
        given = write_file(tmp_path / "new.txt", "milk\n")
    messages = run(command, path, given, "-o", out, option, status=2).err
    assert f"first run taxoexpan convert {name} " in messages
    assert f"(option {option})" in messages
    assert not out.exists()


def test_a_stale_table_is_refused_with_its_line_where_moves_are_allowed(tmp_path: Path) -> None:
    path, out = file_of(tmp_path, "x.csv"), tmp_path / "out.csv"
    table = table_of(tmp_path, DRINKS)
    table.write_text(table.read_text().replace(f"insert,{BASE}oat-milk", f"insert,{BASE}gone"))
    command = ["apply", path, table, "-o", out]
    messages = run(*command, "--allow-moves", status=2).err
    assert (
        f"{table}, line 2: moves contains '{BASE}gone', but no concept of the taxonomy has that "
        "id; remove it from the cell, put | between ids, or suggest again" in messages
    )
    assert not out.exists()
    run(*command)


def test_conflicting_and_outdated_moves_are_reported(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "x.csv", "child,parent\ntea,drink\nraw oat milk,drink\noat milk tea,tea\n"
    )
    rows = "milk,,1,drink,0.9,,insert,raw oat milk|oat milk tea\n"
    rows += "oat milk,,1,drink,0.1,,insert,raw oat milk\n"
    table, out = write_file(tmp_path / "t.csv", HEADER + rows), tmp_path / "out.csv"
    messages = run("apply", path, table, "-o", out, "--allow-moves").err
    below = (
        "'raw oat milk' is not moved from 'drink' below 'milk': it already moves below 'oat milk'"
    )
    assert f"warning: {below}" in messages
    assert (
        "warning: 'oat milk tea' is not moved from 'drink' below 'milk': it is not below"
        in messages
    )
    assert "2 concepts and 2 relations added, 1 relation moved below new concepts" in messages
    assert out.read_text() == (
        "child,parent\ntea,drink\nraw oat milk,oat milk\noat milk tea,tea\n"
        "milk,drink\noat milk,drink\n"
    )


@pytest.fixture(scope="module")
def pantry_without_soup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pantry, where soups are foods like any other: they have no kind of their own."""
    lines = ["child,parent", "food,", *(f"{kind},food" for kind in KINDS if kind != "soup")]
    lines += [f"{s} {k},{'food' if k == 'soup' else k}" for k in KINDS for s in SORTS]
    path = tmp_path_factory.mktemp("soupless") / "pantry.csv"
    return write_file(path, "\n".join(lines) + "\n")


def test_expand_moves_children_named_after_a_new_concept_and_reports_it(
    pantry_without_soup: Path, tmp_path: Path
) -> None:
    new, out = write_file(tmp_path / "new.txt", "soup\n"), tmp_path / "out.csv"
    report = tmp_path / "report.html"
    command = ["expand", pantry_without_soup, new, "-o", out, *QUICK]
    messages = run(*command, "--allow-moves", "--min-confidence", "0", "--report", report).err
    assert "1 concept and 1 relation added, 10 relations moved below new concepts" in messages
    grown = read_taxonomy(out)
    assert set(grown.children("soup")) == {f"{sort} soup" for sort in SORTS}
    assert grown.parents("soup") == ("food",)
    page = report.read_text()
    assert "moved here" in page
    assert "1 added; 10 existing concepts moved under them" in page
    assert "were not moved" not in page


def test_a_model_moves_only_if_it_may(pantry_without_soup: Path) -> None:
    taxonomy = read_taxonomy(pantry_without_soup)
    small = {
        "features": "static",
        "epochs": 15,
        "hidden_dim": 8,
        "embedding_dim": 32,
        "num_negatives": 64,
        "batch_size": 32,
    }
    model = TaxoExpan("fast", seed=1, device="cpu", **small).fit(taxonomy)
    assert set(taxonomy.relations) <= set(model.expand(["soup"], min_confidence=0).relations)
    grown = model.expand(["soup"], min_confidence=0, allow_moves=True, allow_merges=True)
    assert grown.parents("soup") == ("food",)
    assert len(grown.children("soup")) == len(SORTS)
    assert all(set(taxonomy.ancestors(id)) <= set(grown.ancestors(id)) for id in taxonomy)


def test_a_name_that_a_file_cannot_hold_is_refused_before_any_training(tmp_path: Path) -> None:
    path, new = file_of(tmp_path, "x.csv"), write_file(tmp_path / "new.txt", "chai\nbrew|cuppa\n")
    messages = run("expand", path, new, "-o", tmp_path / "out.csv", "--allow-merges", status=2).err
    assert "the name 'brew|cuppa' would differ" in messages
    assert "training on" not in messages


def test_a_merge_into_a_deprecated_concept_is_reported(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "x.csv",
        "id,label,parents,synonyms,deprecated\nd,drink,,,\nt,tea,d,,true\nm,milk,d,,\n",
    )
    table = write_file(tmp_path / "decisions.csv", HEADER + "cuppa,q1,1,t,0.8,0.8,merge,\n")
    out = tmp_path / "out.csv"
    messages = run("apply", path, table, "-o", out, "--allow-merges").err
    assert "warning: 'tea', which gets the synonym 'cuppa', is deprecated" in messages
    assert "'cuppa' is probably (0.80) a synonym of 'tea'" in messages
    own = write_file(tmp_path / "own.csv", "query,parent_id,kind\ncuppa,m,merge\n")
    ran = run("apply", path, own, "-o", tmp_path / "o.csv", "--allow-merges")
    assert "'cuppa' is a synonym of 'milk'\n" in ran.err
    assert read_taxonomy(out).concept("t").synonyms == ("cuppa",)
