"""The example repository from end to end: each step of its workflows as GitHub runs it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.support.command_line import run
from tests.support.github_runner import ROOT, GitHub, Runner, github

EXAMPLE = ROOT / "examples" / "vocabulary-repository"
CHECK, SUGGEST = (
    EXAMPLE / ".github" / "workflows" / name for name in ("vocabulary.yml", "suggest.yml")
)
VOCABULARY = "vocabularies/drinks.csv"


def git(repository: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.org", *arguments]
    ran = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with the files of the example, on a branch."""
    folder = tmp_path / "repository"
    shutil.copytree(EXAMPLE, folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    git(folder, "switch", "-qc", "branch")
    return folder


def commit(repository: Path, old: str, new: str) -> None:
    """Replace a text in the vocabulary, and commit it."""
    path = repository / VOCABULARY
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    git(repository, "commit", "-qam", "Change")


def runner(repository: Path, service: GitHub) -> Runner:
    temp = repository.parent / "temp"
    temp.mkdir(exist_ok=True)
    base = git(repository, "rev-parse", "main")
    event = {"pull_request": {"number": 5, "base": {"sha": base}}}
    return Runner(repository, temp, service.url, event)


@pytest.mark.slow
def test_a_good_and_a_broken_change(repository: Path) -> None:
    with github() as service:
        commit(repository, "d45,soy milk,", "d62,@octocat #1,d44,\nd45,soy drink,")
        good = runner(repository, service).run_workflow(CHECK, version="installed")
        (comment,) = service.comments
        commit(repository, "d44,plant milks,d3", "d44,plant milks,d45")
        broken = runner(repository, service).run_workflow(CHECK, version="installed")
    assert good.status == 0, good.log
    assert good.outputs["findings"] == "0"
    assert (good.outputs["changed"], good.outputs["failed"]) == ("true", "false")
    assert "1 added and 1 renamed." in good.summary
    assert "@octocat" not in good.summary
    assert "**@<!-- -->octocat #<!-- -->1** (`d62`)" in good.summary
    assert Path(good.outputs["comment-file"]).is_file()

    assert broken.status == 1
    line = (
        (repository / VOCABULARY)
        .read_text(encoding="utf-8")
        .splitlines()
        .index("d44,plant milks,d45,drinks from plants that replace milk")
    )
    annotations = [each for each in broken.log.splitlines() if each.startswith("::error")]
    assert re.match(rf"::error file={VOCABULARY},line=({line + 1}|{line + 3}),", annotations[0])
    assert "title=cycle::" in annotations[0]
    assert "severity warning or worse" in annotations[-1]
    used = broken.used["github/codeql-action/upload-sarif"]
    log = json.loads((repository / used["sarif_file"]).read_text(encoding="utf-8"))
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "cycle"
    # The comment is the same one, with another text.
    assert service.comments == [comment]
    assert "a cycle: d4" in comment["body"]


@pytest.mark.slow
def test_a_table_with_other_columns_and_a_log_without_empty_parts(repository: Path) -> None:
    path, old = repository / "odd.csv", "Code,Up,Term\n1,,food\n2,1,fig\n"
    path.write_text(old)
    git(repository, "add", "odd.csv")
    git(repository, "commit", "-qm", "Add a table")
    git(repository, "branch", "-f", "main")
    path.write_text(old + "3,1,date\n")
    with github() as service:
        given = {"files": "odd.csv", "version": "installed"}
        columns = {"columns": "id=Code,label=Term,parent=Up", "format": "rows", "language": "en"}
        run = partial(runner(repository, service).run_action, ROOT / "action.yml")
        without, ran = run(given), run({**given, **columns})
    assert without.status == 1
    assert ran.status == 0, ran.log
    assert "1 added" in ran.summary
    assert "**date** (`3`)" in ran.summary
    lines = ran.log.splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith("::stop-commands::")]
    assert len(starts) == 1  # diff prints notes, and check prints none
    assert lines[starts[0] + 1].startswith(("note: ", "warning: "))


@pytest.mark.slow
def test_suggestions_are_a_patch_that_git_applies(repository: Path) -> None:
    with github() as service:
        ran = runner(repository, service).run_workflow(SUGGEST, version="installed")
    assert ran.status == 0, ran.log
    (comment,) = service.comments
    assert "## Suggestions for `` new-terms.csv ``" in comment["body"]
    git(repository, "apply", ran.outputs["patch"])
    changed = git(repository, "diff", "--numstat", VOCABULARY)
    added, removed, _ = changed.split("\t")
    assert int(added) >= 1
    assert removed == "0"
    text = (repository / VOCABULARY).read_text(encoding="utf-8")
    assert "pale ale" in text
    assert f"### Added ({added})" in comment["body"]
    assert re.search(rf"^{added} of \d+ new terms have a place", comment["body"], re.M)
    assert (repository / ran.outputs["suggestions"]).read_text(encoding="utf-8").count("\n") > 6


def test_the_workflows_and_the_action_follow_the_schemas_of_github() -> None:
    builtin = pytest.importorskip("check_jsonschema.builtin_schemas")
    jsonschema = pytest.importorskip("jsonschema")
    pages = [(ROOT / "action.yml", "github-actions"), (EXAMPLE / ".gitlab-ci.yml", "gitlab-ci")]
    pages += [(path, "github-workflows") for path in (CHECK, SUGGEST)]
    for path, name in pages:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        # YAML 1.1 reads the key `on` as true.
        named = {"on" if key is True else key: value for key, value in document.items()}
        jsonschema.validate(named, builtin.get_builtin_schema(f"vendor.{name}"))


def test_the_commands_of_the_readme_exist(repository: Path) -> None:

    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^taxoexpan (\w+) ", text, re.MULTILINE)
    assert commands == ["check", "expand", "apply", "diff"]
    run("check", repository / VOCABULARY)


@pytest.mark.parametrize(
    "name",
    [
        ".github/workflows/vocabulary.yml",
        ".github/workflows/suggest.yml",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
    ],
)
def test_the_guide_shows_the_files_of_the_example(name: str) -> None:
    guide = (ROOT / "docs" / "guides" / "ci.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r'```yaml title="(.+?)"\n(.*?)```', guide, re.DOTALL))
    assert shown[name] == (EXAMPLE / name).read_text(encoding="utf-8")


def test_the_guide_describes_every_input_and_output() -> None:
    guide = (ROOT / "docs" / "guides" / "ci.md").read_text(encoding="utf-8")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    names = [*action["inputs"], *action["outputs"]]
    assert [name for name in names if f"`{name}`" not in guide] == []
