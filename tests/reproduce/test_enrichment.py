from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tinywordnet import write_task, write_wordnet

from taxoexpan.cli.main import main
from taxoexpan.errors import FormatError
from taxoexpan.mentions import FIRST
from taxoexpan.reproduce.cells import find_cells
from taxoexpan.reproduce.enrichment import Enrichment
from taxoexpan.reproduce.tasks import load_task
from taxoexpan.wu_palmer import WuPalmer

FIRST_WORD = "semeval/02-first-word"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A WordNet and the task's files, with both parts prepared, and the first word run on them."""
    folder = tmp_path_factory.mktemp("semeval")
    wordnet = write_wordnet(folder)
    write_task(folder)
    for part in ("noun", "verb"):
        task = str(folder / f"{part}.npz")
        given = ["--semeval", str(folder), "--part", part, "--joined", "-o", task]
        assert main(["reproduce", "prepare", str(wordnet), *given]) == 0
        run = ["--runs", str(folder / "runs"), "--seeds", "1", "--device", "cpu", "--quiet"]
        assert main(["reproduce", "run", FIRST_WORD, "--task", task, *run]) == 0
    return folder


def test_a_task_keeps_what_definitions_name(folder: Path) -> None:
    task = load_task(folder / "noun.npz")
    labels = task.problem.taxonomy.labels
    assert (task.name, task.features, task.labels) == (
        "semeval-nouns",
        "static joined",
        ("test.1",),
    )
    mentions, asked = task.problem.mentions, task.test.mentions
    assert mentions is not None
    assert asked is not None
    told = {labels[i]: [labels[j] for j in mentions.of_row.of(i)] for i in range(4)}
    assert told == {"entity": [], "tree": ["plant"], "cherry": ["tree"], "plant": ["tree"]}
    assert [labels[i] for i in asked.of_row.of(0)] == ["tree"]
    assert asked.kinds.tolist() == [FIRST]


def test_the_table_has_both_parts_of_speech_and_what_others_published(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--runs", str(folder / "runs"), "--semeval", str(folder), "--wordnet", str(folder)]
    assert main(["reproduce", "table", "semeval", *where]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "vectors `static joined`, 3 test concepts"
    rows = {line.split(" | ")[0].strip("| "): line for line in lines[4:]}
    # Bush is put under tree, where it belongs, and sprint under run, which is its own synset; the
    # third concept has the wrong part of speech and no place.
    assert rows["FWFS"] == "| FWFS | 1.000 | .514 | .667 | 1.000 | .800 | .679 | 1 |"
    assert rows["ETF-FWFS"] == "| ETF-FWFS | – | .562 | – | 1.000 | – | .720 | quoted |"
    assert len(rows) == len(find_cells(["semeval"]))


def test_keys_need_both_parts(folder: Path, tmp_path: Path) -> None:
    (cell,) = find_cells([FIRST_WORD])
    both = Enrichment([cell], folder / "runs", folder, folder)
    (key,) = both.keys("static joined", cell).values()
    assert {id: placed.synset for id, placed in key.items()} == {
        "test.1": "tree#n#1",
        "test.2": "run#v#1",
    }
    runs = tmp_path / "runs"
    nouns = "semeval-nouns-static-joined"
    runs.mkdir()
    (runs / nouns).symlink_to(folder / "runs" / nouns)
    assert Enrichment([cell], runs, folder, folder).keys("static joined", cell) == {}
    with pytest.raises(FormatError, match="holds no run on semeval-nouns and semeval-verbs"):
        Enrichment([cell], tmp_path / "nothing", folder, folder)


def test_the_expected_similarity_decides_where_it_is_asked_to(folder: Path) -> None:
    (cell,) = find_cells([FIRST_WORD])
    both = Enrichment([cell], folder / "runs", folder, folder)
    expected = replace(cell, decided="expected")
    (key,) = both.keys("static joined", expected).values()
    nouns = both.wordnets[0].taxonomy
    (run,) = both.by_features["static joined"][cell.name][0][:1]
    ids, scores = run.best()
    similarity = WuPalmer(nouns)
    worth = {
        id: sum(
            similarity(nouns.index(id), nouns.index(other)) * np.exp(score - scores[0, 0])
            for other, score in zip(ids[0], scores[0], strict=True)
        )
        for id in nouns.ids
    }
    assert worth[key["test.1"].synset] == pytest.approx(max(worth.values()))


def test_the_table_needs_the_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "table", "semeval", "--runs", str(folder / "runs")]) == 2
    assert "give the task's folder with --semeval" in capsys.readouterr().err
