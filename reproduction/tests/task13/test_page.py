from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.__main__ import main
from reproduction.measurements.placements import quoted_experiments
from reproduction.task13.page import TEMPLATE

ROOT = Path(__file__).parents[3]
ROW = "task13/01-closest-parent"


def test_the_command_runs_the_task_and_writes_its_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = ["--runs", str(folder / "runs")]
    options = ["--task13", str(folder), "--features", "static", "--device", "cpu"]
    assert main(["run", ROW, *options, *stored]) == 0
    printed = capsys.readouterr()
    assert "task13-food: Closest-Parent, seed 0: " in printed.err
    assert "seed 1" not in printed.err  # a rule does not depend on the seed
    rows = [line.split(" | ") for line in printed.out.splitlines()]
    ours, others = rows[4], {row[0].strip("| "): row for row in rows[5:]}
    assert ours[0] == "| Closest-Parent"
    assert ours[-1] == "1 |"
    assert others["LORex"][1] == ".553"
    assert others["CodeTaxo"][1:3] == [".602", ".54 to .66"]  # of 236 terms, not of 7
    assert "TEMP" not in others  # it has no figure for food
    assert main(["table", "task13", *stored]) == 0
    assert capsys.readouterr().out == printed.out
    page = folder / "page.md"
    assert main(["page", "task13", *stored, "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert printed.out.strip() in text
    assert "Not measured yet: TaxoExpan, preset paper, preset fast, preset best" in text


def test_a_page_without_runs_is_refused(folder: Path) -> None:
    page = ["page", "task13", "--runs", str(folder / "runs"), "-o", str(folder / "page.md")]
    assert main(page) == 2


def test_what_is_only_quoted_is_not_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "task13/15-codetaxo", "--task13", str(folder)]) == 2
    assert "quoted" in capsys.readouterr().err


def test_the_task_needs_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", ROW, "--runs", str(tmp_path)]) == 2
    assert "--task13 DIR" in capsys.readouterr().err


def test_the_published_page_has_the_text_of_the_template_and_all_sources() -> None:
    page = (ROOT / "docs" / "results" / "task13.md").read_text(encoding="utf-8")
    before, _, after = TEMPLATE.read_text(encoding="utf-8").partition("{tables}")
    assert page.startswith(before)
    assert after.partition("{sources}")[0] in page
    assert all(
        f"- **{each.title}**: {each.source}." in page for each in quoted_experiments("task13")
    )
