from __future__ import annotations

from pathlib import Path

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.finding_formats.gitlab_report import gitlab_report


def test_every_entry_has_what_gitlab_requires_and_its_own_fingerprint() -> None:
    finding = Finding("hub", "warning", "a", "many", path=Path("a.csv"), line=3)
    other = Finding("cycle", "error", "a", "a → a", path=Path("a.csv"))
    report = gitlab_report([finding, finding, other])
    assert len({str(entry["fingerprint"]) for entry in report}) == 3
    assert {key: value for key, value in report[0].items() if key != "fingerprint"} == {
        "description": "a: many",
        "check_name": "hub",
        "severity": "major",
        "location": {"path": "a.csv", "lines": {"begin": 3}},
    }
    assert report[2]["location"] == {"path": "a.csv", "lines": {"begin": 1}}


def test_a_fingerprint_does_not_depend_on_the_line() -> None:
    one = Finding("hub", "warning", "a", "many", path=Path("a.csv"), line=3)
    two = Finding("hub", "warning", "a", "many", path=Path("a.csv"), line=4)
    assert gitlab_report([one])[0]["fingerprint"] == gitlab_report([two])[0]["fingerprint"]
