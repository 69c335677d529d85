from __future__ import annotations

import json
from pathlib import Path

import pytest

from taxoexpan.cli.check import MAX_SHOWN
from taxoexpan.curation.checks import CODES
from tests.support.command_line import run
from tests.support.expanded_files import write_file

MIXED = "id,label,parents\nr,food,\na,Fig,r\nb,fig,r\nc,date,r\nd,date,a\ne,stone,\n"
"""A similar sibling and an isolated concept (warnings), and a repeated label (info)."""


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    return str(write_file(tmp_path / "mixed.csv", MIXED))


@pytest.fixture
def crowded(tmp_path: Path) -> str:
    rows = "".join(f"s{i},stone no {i},\n" for i in range(MAX_SHOWN + 7))
    return str(write_file(tmp_path / "crowded.csv", f"id,label,parents\nr,food,\na,fig,r\n{rows}"))


def check(*arguments: object, status: int = 1) -> list[str]:
    """Return the printed lines."""
    return run("check", *arguments, status=status).out.splitlines()


def codes(*arguments: object, status: int = 1) -> set[str]:
    return {line.split()[1] for line in check(*arguments, status=status)[:-1]}


def test_findings_are_sorted_by_severity_and_counted(mixed: str) -> None:
    *lines, last = check(mixed)
    assert [line.split()[:6] for line in lines] == [
        ["warning", "isolated-concept", f"{mixed}:", "e", "(line", "7):"],
        ["warning", "similar-label", f"{mixed}:", "b", "(line", "4):"],
        ["info", "repeated-label", f"{mixed}:", "d", "(line", "6):"],
    ]
    assert last == "3 findings: 0 errors, 2 warnings, 1 for information"


def test_no_findings_are_reported_as_such(tmp_path: Path) -> None:
    path = write_file(tmp_path / "clean.csv", "child,parent\nfig,food\n")
    assert check(path, "--fail-on", "info", status=0) == ["0 findings"]


def test_json_contains_every_finding_with_all_its_fields(crowded: str) -> None:
    findings = json.loads(run("check", crowded, "--json", status=1).out)
    assert len(findings) == MAX_SHOWN + 7
    assert findings[0] == {
        "code": "isolated-concept",
        "severity": "warning",
        "place": "s0",
        "message": "'stone no 0' has neither parent nor child",
        "file": crowded,
        "line": 4,
        "column": 4,
    }


def test_only_some_findings_of_each_code_are_printed(crowded: str) -> None:
    lines = check(crowded)
    assert len(lines) == MAX_SHOWN + 2
    assert "… and 7 more (--select isolated-concept or --json shows all)" in lines[-2]
    assert lines[-1] == "57 findings: 0 errors, 57 warnings, 0 for information"


def test_all_findings_of_a_selected_code_are_printed(crowded: str) -> None:
    assert len(check(crowded, "--select", "isolated-concept")) == MAX_SHOWN + 7 + 1


def test_select_and_ignore_filter_findings(mixed: str) -> None:
    both = {"repeated-label", "similar-label"}
    assert codes(mixed, "--select", "repeated-label, similar-label") == both
    assert codes(mixed, "--ignore", "repeated-label,similar-label") == {"isolated-concept"}
    options = "--select", "hub,repeated-label", "--ignore", "repeated-label"
    assert check(mixed, *options, status=0) == ["0 findings"]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), 1),
        (("--fail-on", "error"), 0),
        (("--fail-on", "warning"), 1),
        (("--fail-on", "info"), 1),
        (("--fail-on", "never"), 0),
        (("--select", "repeated-label"), 0),
        (("--select", "repeated-label", "--fail-on", "info"), 1),
        (("--ignore", "isolated-concept,similar-label"), 0),
    ],
)
def test_the_exit_status_depends_on_the_worst_finding_shown(
    mixed: str, options: tuple[str, ...], status: int
) -> None:
    run("check", mixed, *options, status=status)


@pytest.mark.parametrize("fail_on", ["error", "warning", "info"])
def test_an_error_fails_unless_fail_on_is_never(tmp_path: Path, fail_on: str) -> None:
    path = str(write_file(tmp_path / "cycle.csv", "child,parent\na,b\nb,a\n"))
    run("check", path, "--fail-on", fail_on, status=1)
    run("check", path, "--fail-on", "never")


@pytest.mark.parametrize("text", ["child,parent\na,b\nb,a\n", "child,parent\na,a\n"])
def test_errors_that_prevent_checking_are_shown_whatever_is_selected(
    tmp_path: Path, text: str
) -> None:
    path = str(write_file(tmp_path / "bad.csv", text))
    assert codes(path, "--select", "hub") <= {"cycle", "unreadable"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bad.csv", "child,parent\na,b\nb,a\n"),
        (
            "bad.ttl",
            "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n@prefix : <http://x.org/> .\n"
            ":a a s:Concept ; s:broader :b .\n:b a s:Concept ; s:broader :a .\n",
        ),
    ],
)
def test_check_and_diff_describe_a_cycle_in_the_same_words(
    tmp_path: Path, name: str, text: str
) -> None:
    path = str(write_file(tmp_path / name, text))
    (finding,) = json.loads(run("check", path, "--json", status=1).out)
    messages = run("diff", path, path, status=2).err
    place = f"{path}, line {finding['line']}"
    assert messages == f"taxoexpan: {place}: {finding['message']}\n"


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("a.csv", "id,label,parents\n1,food,\n2,fig,7\n3,date,8\n4,stone,\n", ["unreadable"]),
        ("a.json", '[{"id": "1"}, {"id": "2", "parents": ["7"]}, {"id": "3"}]', ["unreadable"]),
        ("a.csv", "id,label,parents\n1,a,2\n2,b,1\n3,c,4\n4,d,3\n5,stone,\n", ["cycle", "cycle"]),
        (
            "a.obo",
            "format-version: 1.2\n\n[Term]\nid: X:1\nname: stone\n\n[Term]\nid: X:2\nis_a: X:7\n",
            ["file", "isolated-concept"],
        ),
    ],
)
def test_an_unknown_parent_or_a_cycle_hides_other_findings_as_the_guide_says(
    tmp_path: Path, name: str, text: str, codes: list[str]
) -> None:
    path = write_file(tmp_path / name, text)
    findings = json.loads(run("check", path, "--json", "--fail-on", "never").out)
    assert [finding["code"] for finding in findings] == codes


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_unknown_code_is_refused_with_a_list_of_codes(mixed: str, option: str) -> None:
    message = run("check", mixed, option, "hub,typo", status=2).err
    assert "unknown code 'typo'; choose from unreadable, cycle, " in message
    assert all(code in message for code in CODES)


def test_an_empty_list_of_codes_is_refused(mixed: str) -> None:
    assert "argument --select" in run("check", mixed, "--select", " ,", status=2).err


def test_help_explains_every_code() -> None:
    text = run("check", "--help").out
    for name, code in CODES.items():
        assert any(line.split()[:2] == [name, code.severity] for line in text.splitlines())
        assert code.meaning in text


def test_a_finding_is_one_line_even_if_its_id_has_a_line_break(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "broken.csv", 'id,label,parents\n"a\nb",stone,\nr,food,\nc,fig,r\n'
    )
    assert len(check(path)) == 3


@pytest.mark.parametrize("code", ["cycle", "unreadable"])
def test_errors_that_prevent_checking_cannot_be_ignored(tmp_path: Path, code: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("child,parent\na,b\nb,a\n" if code == "cycle" else "nothing of a table\n")
    run("check", path, "--ignore", code, status=1)


def test_json_is_one_of_the_formats(mixed: str) -> None:
    assert check(mixed, "--json") == check(mixed, "--to", "json")


def test_github_gets_one_annotation_per_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    write_file(tmp_path / "data" / "mixed.csv", MIXED)
    first, *_, last = check("mixed.csv", "--to", "github")
    assert first == (
        "::warning file=data/mixed.csv,line=7,col=3,endColumn=8,title=isolated-concept::"
        "e: 'stone' has neither parent nor child"
    )
    assert last == "3 findings: 0 errors, 2 warnings, 1 for information"


def test_annotations_are_limited_like_text(crowded: str) -> None:
    lines = check(crowded, "--to", "github")
    assert sum(line.startswith("::") for line in lines) == MAX_SHOWN
    assert "… and 7 more" in lines[-2]


def test_files_are_written_while_annotations_are_printed(mixed: str, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("found.sarif", "found.md", "found.json")]
    options = [text for path in files for text in ("-o", str(path))]
    assert run("check", mixed, "--to", "github", *options, status=1).out.startswith("::warning")
    sarif, markdown, listed = (path.read_text(encoding="utf-8") for path in files)
    assert json.loads(sarif)["version"] == "2.1.0"
    assert "## Findings in mixed.csv" in markdown
    assert len(json.loads(listed)) == 3
    assert "found.sarif: already exists" in run("check", mixed, *options, status=2).err
    run("check", mixed, *options, "--force", status=1)


def test_an_output_that_names_no_format_or_an_input_is_refused(mixed: str) -> None:
    messages = run("check", mixed, "-o", "found.txt", status=2).err
    message = "the name found.txt does not say how to write the findings; use a name that ends in"
    assert message in messages
    json_file = Path(mixed).with_suffix(".json")
    json_file.write_text('[{"label": "a", "children": [{"label": "b"}]}]')
    assert "would overwrite" in run("check", json_file, "-o", json_file, "--force", status=2).err


def test_several_files_are_checked_and_named(mixed: str, tmp_path: Path) -> None:
    cycle = str(write_file(tmp_path / "cycle.csv", "child,parent\na,b\nb,a\n"))
    lines = check(mixed, cycle)
    assert lines[0].split()[:2] == ["error", "cycle"]
    assert f"{cycle}: " in lines[0]
    assert f"{mixed}: e (line 7): " in lines[1]
    assert lines[-1] == "4 findings: 1 error, 2 warnings, 1 for information"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("id,label,parents\na,fig,\n", "vocabularies/food.csv: a (line 2): "),
        ("child,parent\na,a\n", "vocabularies/food.csv: line 2: "),
        ("", "vocabularies/food.csv: the file"),
    ],
)
def test_every_line_names_the_file_as_it_was_given(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    place: str,
) -> None:
    (tmp_path / "vocabularies").mkdir()
    write_file(tmp_path / "vocabularies" / "food.csv", text)
    monkeypatch.chdir(tmp_path)
    (line, _) = check("vocabularies/food.csv")
    assert line[29:].startswith(place)


def test_two_files_of_one_taxonomy_have_each_finding_once(tmp_path: Path) -> None:
    terms = write_file(tmp_path / "food.terms", "1\tfood\n2\tfruit\n4\tstone\n")
    taxo = write_file(tmp_path / "food.taxo", "1\t2\n")
    assert check(terms, taxo)[-1] == "1 finding: 0 errors, 1 warning, 0 for information"


def test_a_table_without_a_chosen_column_is_a_finding_and_other_files_are_checked(
    tmp_path: Path,
) -> None:
    other = str(write_file(tmp_path / "other.csv", "child,parent\nb,a\n"))
    cycle = str(write_file(tmp_path / "cycle.csv", "SKU,Name,Above\n1,a,2\n2,b,1\n"))
    columns = ["--columns", "id=SKU,label=Name,parent=Above"]
    printed = run("check", other, cycle, *columns, "--json", status=1).out
    found = {(each["file"], each["code"]) for each in json.loads(printed)}
    assert found == {(other, "unreadable"), (cycle, "cycle")}
    run("check", cycle, "--columns", "colour=3", status=2)
    obo = write_file(tmp_path / "x.obo", "[Term]\nid: x:1\nname: a\n")
    run("check", obo, *columns, status=2)
