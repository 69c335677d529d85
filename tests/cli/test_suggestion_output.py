from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from taxoexpan import Concept, Suggestion
from taxoexpan.cli.suggestion_output import (
    placements_table,
    text_output,
    with_few_warnings,
    write_csv,
    write_json,
)
from taxoexpan.explain.explanation import SuggestedBlock
from tests.support.decisions import Verdict, written

MILK = Concept("milk", "milk")
SUGGESTIONS = [
    Suggestion(Concept(f"q{i}", label), 1, MILK, ("food", "milk"), 0.5)
    for i, label in enumerate(("soy, “sweet”", "oat\nmilk", "pea milk"))
]
BLOCKS = [SuggestedBlock(SUGGESTIONS[:2], []), SuggestedBlock(SUGGESTIONS[2:], [])]
PRESENT = [{"query": "Milk", "id": "milk", "label": "milk"}]


def test_blocks_of_csv_are_one_table() -> None:
    text = io.StringIO()
    write_csv(BLOCKS, text.write)
    assert text.getvalue() == written(SUGGESTIONS)


def test_a_label_is_no_formula() -> None:
    odd = [Suggestion(Concept("q", "=1+1"), 1, MILK, ("food",), 0.5)]
    text = io.StringIO()
    write_csv([SuggestedBlock(odd, [])], text.write)
    assert text.getvalue().splitlines()[1].startswith("'=1+1,q,")


@pytest.mark.parametrize("blocks", [BLOCKS, []])
@pytest.mark.parametrize("present", [PRESENT, []])
@pytest.mark.parametrize("with_evidence", [True, False])
def test_blocks_of_json_are_one_object(
    blocks: list[SuggestedBlock], present: list[dict[str, str]], with_evidence: bool
) -> None:
    text = io.StringIO()
    write_json(blocks, text.write, with_evidence, present)
    content: dict[str, object] = {
        "suggestions": [each.as_json() for block in blocks for each in block.suggestions]
    }
    if with_evidence:
        content["evidence"] = []
    content["already_present"] = present
    assert text.getvalue() == json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def test_a_file_does_not_appear_if_a_block_fails(tmp_path: Path) -> None:
    def blocks() -> Iterator[SuggestedBlock]:
        yield BLOCKS[0]
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError), text_output(tmp_path / "out.csv", False) as write:
        write_csv(blocks(), write)
    assert list(tmp_path.iterdir()) == []


def test_a_file_holds_all_blocks(tmp_path: Path) -> None:
    with text_output(tmp_path / "out.csv", False) as write:
        write_csv(BLOCKS, write)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == written(SUGGESTIONS)


def test_only_the_first_warnings_of_many_blocks_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def blocks() -> Iterator[SuggestedBlock]:
        for number in range(13):
            warnings.warn(f"there is no vector for {number}", stacklevel=1)
            yield BLOCKS[1]

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert list(with_few_warnings(blocks())) == [BLOCKS[1]] * 13
    expected = [f"there is no vector for {number}" for number in range(10)]
    assert [str(each.message) for each in shown] == expected
    assert capsys.readouterr().err == "warning: … and 3 more warnings of this kind\n"


TEA, SOUP = Concept("tea", "tea"), Concept("soup", "soup")


def ranked(label: str, *confidences: float, decision: Verdict = Verdict.OPEN) -> list[Suggestion]:
    query = Concept(label, label)
    parents = zip((TEA, MILK, SOUP), confidences, strict=False)
    return [
        Suggestion(
            query, rank, parent, ("food", parent.label), 0.4 / rank, confidence, decision=decision
        )
        for rank, (parent, confidence) in enumerate(parents, start=1)
    ]


def test_equal_confidences_of_one_term_are_told_apart() -> None:
    _, first, second = placements_table(
        [*ranked("chai", 0.8, 0.124, 0.121), *ranked("broth", 0.3, 0.3, 0.1)]
    ).splitlines()
    assert first.split("  ")[-1] == "milk 0.124, soup 0.121"
    assert "0.30 (score 0.4)" in second
    assert second.endswith("milk 0.30 (score 0.2), soup 0.10")


def test_decisions_are_shown_if_there_are_any() -> None:
    plain = placements_table(ranked("chai", 0.8)).splitlines()
    assert plain[0].split() == ["TERM", "PARENT", "CONFIDENCE", "PATH", "RUNNERS-UP"]
    decided = placements_table(
        [
            *ranked("chai", 0.8, decision=Verdict.ACCEPTED),
            *ranked("broth", 0.1, decision=Verdict.UNDECIDED),
        ]
    ).splitlines()
    assert [line.split()[3] for line in decided] == ["DECISION", "accepted", "undecided"]


def test_a_term_cannot_control_the_terminal() -> None:
    table = placements_table(ranked("chai\x1b[2J\nTERM", 0.8))
    assert table.splitlines()[1].startswith(r"chai\x1b[2J\nTERM  tea")
