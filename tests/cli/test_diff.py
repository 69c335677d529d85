from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.expanded_files import write_file

OBO = """format-version: 1.2

[Term]
id: SO:0000110
name: feature

[Term]
id: SO:0000001
name: region
is_a: SO:0000110
"""
TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix so: <http://purl.obolibrary.org/obo/SO_> .
so:0000110 a skos:Concept ; skos:prefLabel "feature"@en .
so:0000001 a skos:Concept ; skos:prefLabel "region"@en ; skos:broader so:0000110 .
"""
TREE = "child,parent\nfeature,\nregion,feature\n"


@pytest.mark.parametrize(
    ("name", "text", "how"),
    [("so.obo", OBO, "2 by id"), ("so.ttl", TURTLE, "2 by CURIE"), ("so.csv", TREE, "2 by label")],
)
def test_formats_with_other_ids_have_the_same_concepts(
    tmp_path: Path, name: str, text: str, how: str
) -> None:
    old = write_file(tmp_path / "old.obo", OBO)
    new = write_file(tmp_path / name, text)
    last = run("diff", old, new).out.splitlines()[-1]
    assert last.startswith(f"same concepts: {how}")
    run("diff", new, old)


def test_a_declared_prefix_counts_for_the_other_file(tmp_path: Path) -> None:
    turtle = TURTLE.replace("purl.obolibrary.org/obo/SO_", "example.org/so#")
    old = write_file(tmp_path / "old.ttl", turtle)
    rows = "id,label,parents\nso:0000110,feature,\nso:0000001,place,so:0000110\n"
    new = write_file(tmp_path / "new.csv", rows)
    found = json.loads(run("diff", old, new, "--json", status=1).out)
    assert found["matched"] == {"CURIE": 2}
    assert [(each["old"], each["new"]) for each in found["relabeled"]] == [("region", "place")]
    assert found["added"] == found["removed"] == found["ids_changed"] == []


def test_another_id_is_reported(tmp_path: Path) -> None:
    old = write_file(tmp_path / "old.csv", "id,label,parents\n1,food,\n2,tea,1\n")
    new = write_file(tmp_path / "new.csv", "id,label,parents\n1,food,\n7,tea,1\n")
    lines = run("diff", old, new, status=1).out.splitlines()
    assert lines[0] == "id changed  tea: 2 → 7"
    assert lines[-1] == "same concepts: 1 by id, 1 by label and path"
    captured = run("diff", old, new, "--to", "sssom", status=1)
    assert "id:2\ttea\tskos:exactMatch\tid:7\ttea\tsemapv:LexicalMatching" in captured.out
    assert "ids that are not IRIs are written below http://example.org/" in captured.err
    printed = run("diff", old, new, "--to", "kgcl", status=1).out
    assert printed.splitlines() == [
        "create node 7 'tea'",
        "create edge 7 rdfs:subClassOf 1",
        "delete 2",
    ]


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://example.org/> .
ex:1 a skos:Concept ; skos:prefLabel "drinks"@en .
ex:2 a skos:Concept ; skos:prefLabel "tea"@en ; skos:altLabel "cha"@en ;
    skos:definition "old"@en ; skos:broader ex:1 .
ex:3 a skos:Concept ; skos:prefLabel "mate"@en ; skos:definition "kept"@en ; skos:broader ex:1 .
"""


def test_changed_ids_are_counted(tmp_path: Path) -> None:
    old = write_file(tmp_path / "old.csv", "id,label,parents\n1,food,\n2,tea,1\n")
    new = write_file(tmp_path / "new.csv", "id,label,parents\n1,food,\n7,tea,1\n")
    assert "0 moved, 1 id changed; 0 relations added" in run("diff", old, new, status=1).out


def test_a_concept_may_be_relabeled_and_redescribed(tmp_path: Path) -> None:
    old = write_file(tmp_path / "old.ttl", SKOS)
    rows = (
        "id,label,parents,definition,synonyms\nex:1,drinks,,,\n"
        "ex:2,herbal tea,ex:1,new,cha|chai\nex:3,mate,ex:2,kept,\n"
    )
    new = write_file(tmp_path / "new.csv", rows)
    text = run("diff", old, new, status=1).out
    assert "relabeled   tea → herbal tea" in text
    assert "redescribed herbal tea" in text
    assert "1 relabeled, 1 redescribed" in text
    printed = run("diff", old, new, "--to", "kgcl", status=1).out
    assert printed.splitlines() == [
        "move ex:3 skos:broader ex:1 from ex:1 to ex:2",
        "rename ex:2 from 'tea'@en to 'herbal tea'@en",
        "create exact synonym 'chai'@en for ex:2",
        "change definition of ex:2 from 'old' to 'new'",
    ]
    printed = run("diff", new, old, "--to", "kgcl", status=1).out
    assert "rename ex:2 from 'herbal tea' to 'tea'" in printed.splitlines()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("child,parent\ndrinks,\ntea,drinks\nmate,drinks\n", "definitions and synonyms"),
        ("label,parent,synonyms\ndrinks,,\ntea,drinks,cha\nmate,drinks,\n", "definitions"),
    ],
)
def test_fields_that_one_format_lacks_are_not_compared(
    tmp_path: Path, text: str, kinds: str
) -> None:
    old, new = write_file(tmp_path / "old.ttl", SKOS), write_file(tmp_path / "new.csv", text)
    for files in ([str(old), str(new)], [str(new), str(old)]):
        captured = run("diff", *files)
        assert "0 redescribed" in captured.out
        note = f"warning: {kinds} are not compared: new.csv has no place for them\n"
        assert captured.err == note


def test_an_apostrophe_in_kgcl_is_announced(tmp_path: Path) -> None:
    old = write_file(tmp_path / "old.csv", "child,parent\nfood,\n")
    new = write_file(tmp_path / "new.csv", "child,parent\nfood,\nshepherd's pie,food\n")
    captured = run("diff", old, new, "--to", "kgcl", status=1)
    assert captured.out.startswith("create node shepherd%27s%20pie 'shepherd’s pie'\n")
    assert "1 text written with ’ or a space" in captured.err


@pytest.mark.parametrize("redirection", ["", pytest.param("2>&1", marks=pytest.mark.slow)])
def test_a_closed_pipe_does_not_change_the_exit_status(tmp_path: Path, redirection: str) -> None:
    rows = [f"{kind}{number},a" for kind in "bc" for number in range(10_000)]
    old = write_file(tmp_path / "old.csv", "\n".join(["child,parent", "a,", *rows[:10_000]]))
    new = write_file(tmp_path / "new.csv", "\n".join(["child,parent", "a,", *rows[10_000:]]))
    for other, status in ((new, 1), (old, 0)):
        command = f"{sys.executable} -m taxoexpan.cli.main diff {old} {other} {redirection}"
        command += " | head -n 1; exit ${PIPESTATUS[0]}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == status
        assert len(done.stdout.splitlines()) == 1
        assert done.stderr == ""


def test_a_note_about_both_versions_is_printed_once(tmp_path: Path) -> None:
    unlabeled = TURTLE.replace('skos:prefLabel "region"@en ; ', "")
    old = write_file(tmp_path / "old.ttl", unlabeled)
    new = write_file(tmp_path / "new.ttl", unlabeled.replace("feature", "part"))
    messages = run("diff", old, new, status=1).err
    iri = "http://purl.obolibrary.org/obo/SO_0000001"
    assert messages == (
        f"warning: {old} and {new}, {iri}: no preferred label; 'SO_0000001' is used\n"
    )
