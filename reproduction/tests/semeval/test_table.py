from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction.__main__ import main
from reproduction.experiments import find_experiments
from reproduction.semeval.table import SemEvalResults
from reproduction.semeval.task import KeyEntry
from reproduction.semeval.wu_palmer import WuPalmer
from reproduction.task_file import load_task
from taxoexpan.errors import FormatError
from taxoexpan.features.mentions import MentionKind
from tests.support.tiny_wordnet import write_task, write_wordnet

FIRST_WORD = "semeval/02-first-word"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A WordNet and the task's files, with both parts prepared, and the first word run on them."""
    folder = tmp_path_factory.mktemp("semeval")
    write_wordnet(folder)
    write_task(folder)
    data = ["--wordnet", str(folder), "--semeval", str(folder), "--joined"]
    assert main(["prepare", *data, "-o", str(folder)]) == 0
    run = ["--runs", str(folder / "runs"), "--seeds", "1", "--device", "cpu", "--quiet"]
    assert main(["run", FIRST_WORD, *data, *run]) == 0
    return folder


def test_a_task_keeps_the_mentions_of_definitions(folder: Path) -> None:
    task = load_task(folder / "semeval-nouns.npz")
    labels = task.problem.taxonomy.labels
    assert (task.name, task.features, task.labels) == (
        "semeval-nouns",
        "static joined",
        ("test.1",),
    )
    mentions, query_mentions = task.problem.mentions, task.test.mentions
    assert mentions is not None
    assert query_mentions is not None
    mentioned = {labels[i]: [labels[j] for j in mentions.of_row.of(i)] for i in range(4)}
    assert mentioned == {"entity": [], "tree": ["plant"], "cherry": ["tree"], "plant": ["tree"]}
    assert [labels[i] for i in query_mentions.of_row.of(0)] == ["tree"]
    assert query_mentions.kinds.tolist() == [MentionKind.FIRST_IN_DEFINITION]


def test_the_table_has_both_parts_of_speech_and_published_scores(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--runs", str(folder / "runs"), "--semeval", str(folder), "--wordnet", str(folder)]
    assert main(["table", "semeval", *where]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "vectors `static joined`, 3 test concepts"
    rows = {line.split(" | ")[0].strip("| "): line for line in lines[4:]}
    # Bush is attached to tree, which is right, and sprint to run, which is its own synset. The
    # third concept has the wrong part of speech and is not placed.
    assert rows["FWFS"] == "| FWFS | 1.000 | .514 | .667 | 1.000 | .800 | .679 | 1 |"
    assert rows["ETF-FWFS"] == "| ETF-FWFS | – | .562 | – | 1.000 | – | .720 | quoted |"
    assert len(rows) == len(find_experiments(["semeval"]))


def test_a_run_prints_the_scores_of_the_task(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--runs", str(folder / "runs"), "--semeval", str(folder), "--wordnet", str(folder)]
    assert main(["run", FIRST_WORD, *where, "--joined", "--seeds", "1", "--device", "cpu"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[2] == "| | Wu&P | paper | recall | paper | F1 | paper | runs |"
    assert "MR" not in shown.out
    # Both slow steps are announced.
    assert "WordNet and SemEval, nouns: reading and encoding with static" in shown.err
    assert "reading WordNet, scoring the placements" in shown.err


def test_keys_need_both_parts(folder: Path, tmp_path: Path) -> None:
    (experiment,) = find_experiments([FIRST_WORD])
    both = SemEvalResults([experiment], folder / "runs", folder, folder)
    (key,) = both.keys("static joined", experiment).values()
    assert {id: placed.synset for id, placed in key.items()} == {
        "test.1": "tree#n#1",
        "test.2": "run#v#1",
    }
    runs = tmp_path / "runs"
    nouns = "semeval-nouns-static-joined"
    runs.mkdir()
    (runs / nouns).symlink_to(folder / "runs" / nouns)
    with pytest.raises(FormatError, match="no run on both semeval-nouns and semeval-verbs with"):
        SemEvalResults([experiment], runs, folder, folder)
    (runs / "copy").symlink_to(folder / "runs" / nouns)
    with pytest.raises(FormatError, match="the same run as"):
        SemEvalResults([experiment], runs, folder, folder)
    with pytest.raises(FormatError, match="no run on semeval-nouns or semeval-verbs"):
        SemEvalResults([experiment], tmp_path / "nothing", folder, folder)


def test_the_expected_similarity_decides_if_configured(folder: Path) -> None:
    (experiment,) = find_experiments([FIRST_WORD])
    both = SemEvalResults([experiment], folder / "runs", folder, folder)
    expected = replace(experiment, decision="expected")
    (key,) = both.keys("static joined", expected).values()
    nouns = both.wordnets[0].taxonomy
    run = both.by_features["static joined"][experiment.name][0]["semeval-nouns"]
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


def test_likely_duplicates_are_merged(folder: Path) -> None:
    """A run with duplicate candidates: both halves have the concepts bush and sprint."""
    (experiment,) = find_experiments([FIRST_WORD])
    runs = folder / "merged"
    shutil.copytree(folder / "runs", runs)
    for part, duplicates in {"nouns": "cherry#n#1", "verbs": "run#v#1"}.items():
        (path,) = runs.glob(f"semeval-{part}*/*/0/ranks.npz")
        with np.load(path) as kept:
            arrays = dict(kept)
        for half in ("validation", "test"):
            arrays[f"{half}_duplicates"] = np.array([duplicates])
            arrays[f"{half}_duplicate_odds"] = np.array([1.0 if part == "nouns" else 2.0])
        np.savez_compressed(path, **arrays)
    merged = replace(experiment, decision="merged")
    # The other runs have no duplicate candidates, and therefore no key.
    assert (
        SemEvalResults([merged], folder / "runs", folder, folder).keys("static joined", merged)
        == {}
    )
    both = SemEvalResults([merged], runs, folder, folder)
    (key,) = both.keys("static joined", merged).values()
    # Sprint is merged with run in the training half too, and bush with nothing.
    assert key["test.2"] == KeyEntry("run#v#1", "merge")
    assert key["test.1"].operation == "attach"
    assert "| FWFS | 1 | 1 of 1 | 0 of 2 | 1.000 | 1.000 |" in both.text()


def test_keys_are_written_in_the_tasks_format(folder: Path, tmp_path: Path) -> None:
    where = ["--runs", str(folder / "runs"), "--semeval", str(folder), "--wordnet", str(folder)]
    given = ["table", "semeval", *where, "-o", str(tmp_path / "keys")]
    assert main(given) == 0
    (path,) = (tmp_path / "keys").iterdir()
    assert path.name == "static-joined-02-first-word-0.tsv"
    assert path.read_text() == "test.1\ttree#n#1\tattach\ntest.2\trun#v#1\tattach\n"


def test_the_table_needs_the_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "semeval", "--runs", str(folder / "runs")]) == 2
    assert "give the folder of the task with --semeval" in capsys.readouterr().err
