from __future__ import annotations

import json
from pathlib import Path

import pytest

from taxoexpan.curation.checks import CODES, Finding
from taxoexpan.curation.finding_formats import (
    MAX_RESULTS,
    WORKSPACES,
    annotated_path,
    github_annotations,
    gitlab_report,
    markdown_findings,
    sarif_log,
)


@pytest.fixture(autouse=True)
def _in_a_folder_outside_of_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in WORKSPACES:
        monkeypatch.delenv(name, raising=False)


def test_a_path_is_relative_to_the_current_folder(tmp_path: Path) -> None:
    assert annotated_path(Path("a/b.csv")) == Path("a/b.csv")
    assert annotated_path(tmp_path / "a" / "b.csv") == Path("a/b.csv")
    assert annotated_path(Path("/elsewhere/b.csv")) == Path("/elsewhere/b.csv")
    assert annotated_path(Path("-")) is None
    assert annotated_path(None) is None


@pytest.mark.parametrize("name", WORKSPACES)
def test_the_repository_of_a_pipeline_is_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv(name, str(tmp_path))
    assert annotated_path(Path("b.csv")) == Path("data/b.csv")


def test_markdown_lists_findings_worst_first_and_escaped() -> None:
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
    title = markdown_findings([], [Path(f"{n}.csv") for n in range(5)]).splitlines()[1]
    assert title == "## Findings in 0.csv, 1.csv, 2.csv and 2 more"


def test_texts_cannot_end_a_property_or_a_command_of_github() -> None:
    message = "100%\r\n::set-output name=x::y, a:b"
    finding = Finding("file", "error", "a:b,c", message, path=Path("a:b,c%.csv"), line=3)
    (line,) = github_annotations([finding])
    assert line == (
        "::error file=a%3Ab%2Cc%25.csv,line=3,title=file::"
        "a:b,c: 100%25%0D%0A::set-output name=x::y, a:b"
    )


def test_github_gets_the_severity_and_the_known_parts_of_a_place() -> None:
    findings = [
        Finding("hub", "warning", "food.csv", "many", path=Path("food.csv")),
        Finding("hub", "info", "a", "many", path=Path("-"), line=2),
        Finding("hub", "info", "a", "many", path=Path("b.csv"), line=2, column=3, end_column=5),
    ]
    assert list(github_annotations(findings)) == [
        "::warning file=food.csv,title=hub::many",
        "::notice line=2,title=hub::a: many",
        "::notice file=b.csv,line=2,col=3,endColumn=5,title=hub::a: many",
    ]


def test_gitlab_gets_a_place_and_a_fingerprint_that_does_not_depend_on_the_line() -> None:
    finding = Finding("hub", "warning", "a", "many", path=Path("a.csv"), line=3)
    other = Finding("cycle", "error", "a", "a → a", path=Path("a.csv"))
    report = gitlab_report([finding, finding, other])
    assert len({str(entry["fingerprint"]) for entry in report}) == 3
    fingerprint = report[0].pop("fingerprint")
    assert report[0] == {
        "description": "a: many",
        "check_name": "hub",
        "severity": "major",
        "location": {"path": "a.csv", "lines": {"begin": 3}},
    }
    assert report[2]["location"] == {"path": "a.csv", "lines": {"begin": 1}}
    moved = Finding("hub", "warning", "a", "many", path=Path("a.csv"), line=4)
    assert gitlab_report([moved])[0]["fingerprint"] == fingerprint


def test_sarif_has_what_the_standard_and_github_require() -> None:
    findings = [
        Finding("hub", "info", "a", "many", path=Path("ä b%.csv"), line=3, column=2, end_column=5),
        Finding("cycle", "error", "a", "a → b → a", path=Path("x.ttl")),
        Finding("new-code", "warning", "a", "from a file reader", path=Path("/elsewhere/x.ttl")),
        Finding("file", "warning", "a", "from a stream", path=Path("-"), line=2),
    ]
    log = json.loads(json.dumps(sarif_log(findings)))
    (run,) = log.pop("runs")
    assert log == {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
    }
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"] > "") == ("taxoexpan", True)
    rules = [rule["id"] for rule in driver["rules"]]
    assert rules == list(CODES)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    assert run["columnKind"] == "unicodeCodePoints"
    assert "%SRCROOT%" in run["originalUriBaseIds"]

    def result(code: str, level: str, text: str, **location: object) -> dict[str, object]:
        place = {"locations": [{"physicalLocation": location}]} if location else {}
        index = {"ruleIndex": rules.index(code)} if code in rules else {}
        return {"ruleId": code, "level": level, "message": {"text": text}} | index | place

    root = {"uriBaseId": "%SRCROOT%"}
    assert run["results"] == [
        result(
            "hub",
            "note",
            "a: many",
            artifactLocation={"uri": "%C3%A4%20b%25.csv"} | root,
            region={"startLine": 3, "startColumn": 2, "endColumn": 5},
        ),
        result(
            "cycle",
            "error",
            "a: a → b → a",
            artifactLocation={"uri": "x.ttl"} | root,
            region={"startLine": 1},
        ),
        result(
            "new-code",
            "warning",
            "a: from a file reader",
            artifactLocation={"uri": "file:///elsewhere/x.ttl"},
            region={"startLine": 1},
        ),
        result("file", "warning", "a: from a stream"),
    ]


def test_a_label_cannot_add_a_link_to_sarif() -> None:
    finding = Finding("hub", "info", "a", "'[click](https://x.org)' is a hub", path=Path("a.csv"))
    (result,) = sarif_log([finding])["runs"][0]["results"]
    assert result["message"]["text"] == "a: '[click] (https://x.org)' is a hub"


def test_sarif_has_no_more_results_than_github_accepts() -> None:
    findings = [Finding("hub", "info", "a", "many", path=Path("a.csv"))] * (MAX_RESULTS + 1)
    assert len(sarif_log(findings)["runs"][0]["results"]) == MAX_RESULTS
