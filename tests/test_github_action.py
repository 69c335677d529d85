"""The script of the GitHub action, its description, and the workflows of the example."""

from __future__ import annotations

import importlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from expanded_files import write_file
from github_runner import ROOT, TOKEN, github, read_outputs

from taxoexpan.cli.main import build_parser

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXAMPLE = ROOT / "examples" / "vocabulary-repository"
WORKFLOWS = sorted((EXAMPLE / ".github" / "workflows").glob("*.yml"))


sys.path.insert(0, str(ROOT / "tools"))
action = importlib.import_module("github_action")
comment = importlib.import_module("github_comment")


def test_no_expression_is_part_of_a_shell_script() -> None:
    """Text of a user in a script would be run by the shell."""
    steps = list(ACTION["runs"]["steps"])
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            steps += job["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert scripts
    assert not any("${{" in script for script in scripts)


def test_only_actions_of_github_are_used() -> None:
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert [name.partition("@")[0] for name in used] == [
        "actions/setup-python",
        "github/codeql-action/upload-sarif",
    ]


def test_actions_of_others_are_pinned_by_their_commit() -> None:
    files = [ROOT / "action.yml", *WORKFLOWS, *(ROOT / "docs").rglob("*.md")]
    files += (ROOT / ".github").rglob("*.yml")
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    used = [line.partition("uses: ")[2] for line in lines if re.match(r" *(- )?uses: ", line)]
    # The examples stand for a repository of the reader, with a version of its own.
    foreign = [name for name in used if not name.startswith(("./", "your-organization/"))]
    assert len(foreign) >= 5
    assert [n for n in foreign if not re.fullmatch(r"\S+@[0-9a-f]{40}  # v[\d.]+", n)] == []


def test_every_input_is_used_and_every_output_is_written() -> None:
    text = json.dumps(ACTION["runs"])
    assert [name for name in ACTION["inputs"] if f"inputs.{name} " not in text] == []
    script = (ROOT / "tools" / "github_action.py").read_text(encoding="utf-8")
    assert [name for name in ACTION["outputs"] if f'"{name}"' not in script] == []


def test_the_workflows_give_only_inputs_that_exist() -> None:
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            (step,) = (each for each in job["steps"] if "/taxoexpan@" in each.get("uses", ""))
            assert step["with"].keys() <= ACTION["inputs"].keys()


def inputs(**changed: str) -> Any:
    given = {"TAXOEXPAN_COMMANDS": "check diff", "TAXOEXPAN_FILES": "*.csv"}
    given |= {f"TAXOEXPAN_{name.upper()}": value for name, value in changed.items()}
    return action.Inputs.read(given)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.csv", "a.csv", "-x.csv"):
        write_file(tmp_path / name, "child,parent\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_patterns_become_files_that_are_no_options() -> None:
    assert inputs().files == ("./-x.csv", "a.csv", "b.csv")
    assert inputs(files="b.csv\n\n a*.csv ").files == ("b.csv", "a.csv")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"files": "none/*.csv"}, "no file matches 'none/\\*.csv'"),
        ({"files": "\n"}, "the input files is empty"),
        ({"commands": "check delete"}, "unknown command 'delete'; choose from check, diff,"),
        ({"commands": " "}, "no command is given"),
    ],
)
def test_wrong_inputs_are_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(action.ActionError, match=message):
        inputs(**changed)


def test_an_error_is_an_annotation(capsys: pytest.CaptureFixture[str]) -> None:
    assert action.main(["run"], {"TAXOEXPAN_COMMANDS": "50%\n"}) == 1
    shown = "::error title=taxoexpan::unknown command '50%25'; choose from check, diff, suggest\n"
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("event", "base"),
    [
        ({"pull_request": {"number": 1, "base": {"sha": "abc"}}}, "abc"),
        ({"merge_group": {"base_sha": "def"}}, "def"),
        ({"before": "123"}, "123"),
        ({"before": "0" * 40}, ""),
        ({}, ""),
    ],
)
def test_the_base_depends_on_the_event(event: dict[str, Any], base: str) -> None:
    assert action.base_commit(event) == base


def test_a_comment_is_never_too_long_and_keeps_a_part_of_every_section() -> None:
    sections = [f"## Section {n}\n" + "- a line of text\n" * 5_000 for n in range(3)]
    body = comment.comment_body("a-->b", sections)
    assert len(body) < 65_536
    assert [f"## Section {n}" in body for n in range(3)] == [True] * 3
    assert body.count("more lines") == 3
    first = body.splitlines()[0]
    assert first.count("-->") == 1
    assert comment.comment_body("b", ["## Short\n"]).endswith("## Short\n")


def test_outputs_cannot_be_forged_by_their_values(tmp_path: Path) -> None:
    file = tmp_path / "output"
    outputs = {"patch": "a\nsarif=b\nEOF\nsarif<<EOF", "sarif": "c"}
    action.write_outputs({"GITHUB_OUTPUT": str(file)}, outputs)
    assert read_outputs(file.read_text()) == outputs


def test_one_comment_is_created_and_then_updated() -> None:
    event = {"pull_request": {"number": 12}}
    with github() as service:
        service.comments += [{"id": n, "body": "hello"} for n in range(150)]
        environment = {
            "GITHUB_API_URL": service.url,
            "GITHUB_REPOSITORY": "someone/vocabulary",
            "TAXOEXPAN_TOKEN": TOKEN,
        }
        quiet = comment.comment_body("A", ["nothing\n"])
        comment.post_comment(environment, event, quiet, has_news=False)
        assert len(service.comments) == 150
        for text in ("first", "second"):
            body = comment.comment_body("A", [text])
            comment.post_comment(environment, event, body, has_news=True)
        other = comment.comment_body("B", ["other"])
        comment.post_comment(environment, event, other, has_news=True)
        comment.post_comment(environment, event, quiet, has_news=False)
    bodies = [each["body"] for each in service.comments[150:]]
    assert [body.splitlines()[1] for body in bodies] == ["nothing", "other"]
    assert service.calls[-1] == "PATCH /repos/someone/vocabulary/issues/comments/7150"


def test_a_token_without_permission_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    with github() as service:
        service.may_write = False
        environment = {
            "GITHUB_API_URL": service.url,
            "GITHUB_REPOSITORY": "someone/vocabulary",
            "TAXOEXPAN_TOKEN": TOKEN,
        }
        event = {"pull_request": {"number": 12}}
        comment.post_comment(environment, event, "<!-- x -->\n", has_news=True)
    shown = capsys.readouterr().out
    assert shown.startswith(
        "::warning title=taxoexpan::the comment was not written (HTTP Error 403"
    )
    assert "pull-requests: write" in shown


def test_probable_places_of_a_model_are_accepted(tmp_path: Path) -> None:
    header = "query,rank,parent_id,confidence,decision,kind,place\n"
    rows = "oat,1,a,0.7,,attach,\noat,2,b,0.6,,attach,\nrye,1,a,0.4,,attach,\n"
    rows += '"a ""b"", c",1,a,0.9,,attach,none\ntea,1,a,0.9,,merge,\n'
    path = write_file(tmp_path / "suggestions.csv", header + rows)
    action.decide(path)
    decisions = [line.split(",")[-3] for line in path.read_text().splitlines()[1:]]
    assert decisions == ["accepted", "undecided", "undecided", "undecided", "undecided"]
    assert '"a ""b"", c",1' in path.read_text()
    write_file(path, header + "oat,1,a,,,attach,\nrye,1,a,,,attach,none\n")
    action.decide(path)
    assert (
        path.read_text() == header + "oat,1,a,,accepted,attach,\nrye,1,a,,undecided,attach,none\n"
    )


@pytest.mark.usefixtures("folder")
def test_the_options_for_reading_are_given_to_every_command_that_takes_them() -> None:
    read = {"columns": "label=-1,parent=2", "format": "rows", "language": "en"}
    given = inputs(commands="suggest", files="a.csv", terms="new.txt", **read)
    suggestions, changes = Path("suggestions.csv"), Path("changes.md")
    for command in (
        action.place_command(given, suggestions),
        action.apply_command(given, suggestions, changes),
    ):
        options = vars(build_parser().parse_args(command))
        assert {name: options[name] for name in read} == read
    command = action.place_command(replace(given, model="model"), suggestions)
    assert command[0] == "suggest"
    assert str(build_parser().parse_args(command).model) == "model"


def test_github_finds_no_commands_in_the_text_of_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokens = set()
    for _ in range(2):
        with action.without_commands():
            print("::error::a label")
        first, _, last = capsys.readouterr().out.splitlines()
        token = first.removeprefix("::stop-commands::")
        assert last == f"::{token}::"
        tokens.add(token)
    assert len(tokens) == 2
    assert {len(token) for token in tokens} == {32}
