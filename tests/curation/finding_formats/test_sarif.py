from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from taxoexpan.curation.checks import CODES, Finding
from taxoexpan.curation.finding_formats.sarif import MAX_RESULTS, sarif_log

POSITIVE = {"type": "integer", "minimum": 1}


def strict(required: list[str], **properties: Any) -> dict[str, Any]:
    """A schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


TEXT = strict(["text"], text={"type": "string", "minLength": 1})
LEVEL = {"enum": ["error", "warning", "note"]}
RULE = strict(
    ["id", "shortDescription", "defaultConfiguration"],
    id={"type": "string"},
    shortDescription=TEXT,
    defaultConfiguration=strict(["level"], level=LEVEL),
)
LOCATION = strict(
    ["physicalLocation"],
    physicalLocation=strict(
        ["artifactLocation", "region"],
        artifactLocation=strict(
            ["uri"],
            uri={"type": "string", "pattern": r"^[!-~]+$"},
            uriBaseId={"const": "%SRCROOT%"},
        ),
        region=strict(["startLine"], startLine=POSITIVE, startColumn=POSITIVE, endColumn=POSITIVE),
    ),
)
SUBSET = strict(
    ["version", "runs"],
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": strict(
            ["tool", "results"],
            tool=strict(
                ["driver"],
                driver=strict(
                    ["name", "version", "rules"],
                    name={"const": "taxoexpan"},
                    version={"type": "string"},
                    rules={"type": "array", "items": RULE, "uniqueItems": True},
                ),
            ),
            columnKind={"const": "unicodeCodePoints"},
            originalUriBaseIds=strict([], **{"%SRCROOT%": strict([], description=TEXT)}),
            results={
                "type": "array",
                "items": strict(
                    ["ruleId", "level", "message"],
                    ruleId={"type": "string"},
                    ruleIndex={"type": "integer", "minimum": 0},
                    level=LEVEL,
                    message=TEXT,
                    locations={"type": "array", "items": LOCATION, "minItems": 1},
                ),
            },
        ),
    },
    **{"$schema": {"type": "string"}},
)
"""The part of SARIF 2.1.0 that is written, and what GitHub requires of it."""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_log_has_the_required_structure() -> None:
    findings = [
        Finding("hub", "info", "a", "many", path=Path("ä b%.csv"), line=3, column=2, end_column=5),
        Finding("cycle", "error", "a", "a → b → a", path=Path("x.ttl")),
        Finding("new-code", "warning", "a", "from a file reader", path=Path("/elsewhere/x.ttl")),
        Finding("file", "warning", "a", "from a stream", path=Path("-"), line=2),
    ]
    log = json.loads(json.dumps(sarif_log(findings)))
    jsonschema.validate(log, SUBSET)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == list(CODES)
    assert [result["level"] for result in run["results"]] == ["note", "error", "warning", "warning"]
    assert [rules[each["ruleIndex"]] for each in run["results"] if "ruleIndex" in each] == [
        "hub",
        "cycle",
        "file",
    ]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"][:3]]
    assert places[0] == {
        "artifactLocation": {"uri": "%C3%A4%20b%25.csv", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3, "startColumn": 2, "endColumn": 5},
    }
    assert places[1]["region"] == {"startLine": 1}
    assert places[2]["artifactLocation"] == {"uri": "file:///elsewhere/x.ttl"}
    assert "locations" not in run["results"][3]


def test_a_label_cannot_add_a_link() -> None:
    finding = Finding("hub", "info", "a", "'[click](https://x.org)' is a hub", path=Path("a.csv"))
    (result,) = sarif_log([finding])["runs"][0]["results"]
    assert result["message"]["text"] == "a: '[click] (https://x.org)' is a hub"


def test_there_are_no_more_results_than_github_accepts() -> None:
    findings = [Finding("hub", "info", "a", "many", path=Path("a.csv"))] * (MAX_RESULTS + 1)
    assert len(sarif_log(findings)["runs"][0]["results"]) == MAX_RESULTS
