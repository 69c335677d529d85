from __future__ import annotations

from pathlib import Path

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.finding_formats.findings_markdown import markdown_findings


def test_findings_are_listed_worst_first_and_escaped() -> None:
    findings = [
        Finding("hub", "info", "a", "'@user <img> #12' has children", path=Path("a.csv"), line=3),
        Finding("cycle", "error", "b", "b → b", path=Path("a.csv")),
    ]
    text = markdown_findings(findings, [Path("data/a.csv")])
    assert text.splitlines() == [
        "<!-- taxoexpan: Findings in a.csv -->",
        "## Findings in a.csv",
        "",
        "2 findings: 1 error, 0 warnings, 1 for information.",
        "",
        "### Errors (1)",
        "",
        "- `a.csv` **cycle** b: b → b",
        "",
        "### For information (1)",
        "",
        r"- `a.csv:3` **hub** a: '@<!-- -->user \<img\> #<!-- -->12' has children",
    ]


def test_of_many_files_the_title_names_some() -> None:
    title = markdown_findings([], [Path(f"{n}.csv") for n in range(5)]).splitlines()[1]
    assert title == "## Findings in 0.csv, 1.csv, 2.csv and 2 more"
