from __future__ import annotations

import json
from pathlib import Path

import pytest
from expanded_files import write_file

from taxoexpan.cli.check import MAX_SHOWN
from taxoexpan.cli.main import main
from taxoexpan.curation.checks import CODES

MIXED = "id,label,parents\nr,food,\na,Fig,r\nb,fig,r\nc,date,r\nd,date,a\ne,stone,\n"
"""A similar sibling and an isolated concept (warnings), and a repeated label (info)."""


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    return str(write_file(tmp_path / "mixed.csv", MIXED))


@pytest.fixture
def crowded(tmp_path: Path) -> str:
    rows = "".join(f"s{i},stone no {i},\n" for i in range(MAX_SHOWN + 7))
    return str(write_file(tmp_path / "crowded.csv", f"id,label,parents\nr,food,\na,fig,r\n{rows}"))


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def shown_codes(capsys: pytest.CaptureFixture[str]) -> set[str]:
    return {line.split()[1] for line in shown(capsys)[:-1]}


def test_findings_are_sorted_by_severity_and_counted(
    mixed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", mixed]) == 1
    *lines, last = shown(capsys)
    assert [line.split()[:6] for line in lines] == [
        ["warning", "isolated-concept", f"{mixed}:", "e", "(line", "7):"],
        ["warning", "similar-label", f"{mixed}:", "b", "(line", "4):"],
        ["info", "repeated-label", f"{mixed}:", "d", "(line", "6):"],
    ]
    assert last == "3 findings: 0 errors, 2 warnings, 1 for information"


def test_no_findings_are_reported_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_file(tmp_path / "clean.csv", "child,parent\nfig,food\n")
    assert main(["check", str(path), "--fail-on", "info"]) == 0
    assert shown(capsys) == ["0 findings"]


def test_json_contains_every_finding_with_all_its_fields(
    crowded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", crowded, "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)
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


def test_only_some_findings_of_each_code_are_printed(
    crowded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", crowded])
    lines = shown(capsys)
    assert len(lines) == MAX_SHOWN + 2
    assert "… and 7 more (--select isolated-concept or --json shows all)" in lines[-2]
    assert lines[-1] == "57 findings: 0 errors, 57 warnings, 0 for information"


def test_all_findings_of_a_selected_code_are_printed(
    crowded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", crowded, "--select", "isolated-concept"])
    assert len(shown(capsys)) == MAX_SHOWN + 7 + 1


def test_select_and_ignore_filter_findings(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", mixed, "--select", "repeated-label, similar-label"])
    assert shown_codes(capsys) == {"repeated-label", "similar-label"}
    main(["check", mixed, "--ignore", "repeated-label,similar-label"])
    assert shown_codes(capsys) == {"isolated-concept"}
    main(["check", mixed, "--select", "hub,repeated-label", "--ignore", "repeated-label"])
    assert shown(capsys) == ["0 findings"]


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
    assert main(["check", mixed, *options]) == status


@pytest.mark.parametrize("fail_on", ["error", "warning", "info"])
def test_an_error_fails_unless_fail_on_is_never(tmp_path: Path, fail_on: str) -> None:
    path = str(write_file(tmp_path / "cycle.csv", "child,parent\na,b\nb,a\n"))
    assert main(["check", path, "--fail-on", fail_on]) == 1
    assert main(["check", path, "--fail-on", "never"]) == 0


@pytest.mark.parametrize("text", ["child,parent\na,b\nb,a\n", "child,parent\na,a\n"])
def test_errors_that_prevent_checking_are_shown_whatever_is_selected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = str(write_file(tmp_path / "bad.csv", text))
    assert main(["check", path, "--select", "hub"]) == 1
    assert shown_codes(capsys) <= {"cycle", "unreadable"}


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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    path = str(write_file(tmp_path / name, text))
    assert main(["check", path, "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)
    assert main(["diff", path, path]) == 2
    place = f"{path}, line {finding['line']}"
    assert capsys.readouterr().err == f"taxoexpan: {place}: {finding['message']}\n"


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
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
    codes: list[str],
) -> None:
    main(["check", str(write_file(tmp_path / name, text)), "--json"])
    assert [finding["code"] for finding in json.loads(capsys.readouterr().out)] == codes


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_unknown_code_is_refused_with_a_list_of_codes(
    mixed: str, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert main(["check", mixed, option, "hub,typo"]) == 2
    message = capsys.readouterr().err
    assert "unknown code 'typo'; choose from unreadable, cycle, " in message
    assert all(code in message for code in CODES)


def test_an_empty_list_of_codes_is_refused(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", mixed, "--select", " ,"])
    assert stopped.value.code == 2
    assert "argument --select" in capsys.readouterr().err


def test_help_explains_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    text = capsys.readouterr().out
    for name, code in CODES.items():
        assert any(line.split()[:2] == [name, code.severity] for line in text.splitlines())
        assert code.meaning in text


def test_a_finding_is_one_line_even_if_its_id_has_a_line_break(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_file(
        tmp_path / "broken.csv", 'id,label,parents\n"a\nb",stone,\nr,food,\nc,fig,r\n'
    )
    main(["check", str(path)])
    assert len(shown(capsys)) == 2


@pytest.mark.parametrize("code", ["cycle", "unreadable"])
def test_errors_that_prevent_checking_cannot_be_ignored(tmp_path: Path, code: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("child,parent\na,b\nb,a\n" if code == "cycle" else "nothing of a table\n")
    assert main(["check", str(path), "--ignore", code]) == 1


def test_json_is_one_of_the_formats(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", mixed, "--json"])
    printed = capsys.readouterr().out
    main(["check", mixed, "--to", "json"])
    assert capsys.readouterr().out == printed


def test_github_gets_one_annotation_per_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    write_file(tmp_path / "data" / "mixed.csv", MIXED)
    assert main(["check", "mixed.csv", "--to", "github"]) == 1
    first, *_, last = shown(capsys)
    assert first == (
        "::warning file=data/mixed.csv,line=7,col=3,endColumn=8,title=isolated-concept::"
        "e: 'stone' has neither parent nor child"
    )
    assert last == "3 findings: 0 errors, 2 warnings, 1 for information"


def test_annotations_are_limited_like_text(
    crowded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", crowded, "--to", "github"])
    lines = shown(capsys)
    assert sum(line.startswith("::") for line in lines) == MAX_SHOWN
    assert "… and 7 more" in lines[-2]


def test_files_are_written_while_annotations_are_printed(
    mixed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / name for name in ("found.sarif", "found.md", "found.json")]
    options = [text for path in files for text in ("-o", str(path))]
    assert main(["check", mixed, "--to", "github", *options]) == 1
    assert capsys.readouterr().out.startswith("::warning")
    sarif, markdown, listed = (path.read_text(encoding="utf-8") for path in files)
    assert json.loads(sarif)["version"] == "2.1.0"
    assert "## Findings in mixed.csv" in markdown
    assert len(json.loads(listed)) == 3
    assert main(["check", mixed, *options]) == 2
    assert "found.sarif: already exists" in capsys.readouterr().err
    assert main(["check", mixed, *options, "--force"]) == 1


def test_an_output_that_names_no_format_or_an_input_is_refused(
    mixed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", mixed, "-o", "found.txt"]) == 2
    message = "the name found.txt does not say how to write the findings; use a name that ends in"
    assert message in capsys.readouterr().err
    json_file = Path(mixed).with_suffix(".json")
    json_file.write_text('[{"label": "a", "children": [{"label": "b"}]}]')
    assert main(["check", str(json_file), "-o", str(json_file), "--force"]) == 2
    assert "would overwrite" in capsys.readouterr().err


def test_several_files_are_checked_and_named(
    mixed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cycle = str(write_file(tmp_path / "cycle.csv", "child,parent\na,b\nb,a\n"))
    assert main(["check", mixed, cycle]) == 1
    lines = shown(capsys)
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
    capsys: pytest.CaptureFixture[str],
    text: str,
    place: str,
) -> None:
    (tmp_path / "vocabularies").mkdir()
    write_file(tmp_path / "vocabularies" / "food.csv", text)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "vocabularies/food.csv"]) == 1
    assert [line[29:].startswith(place) for line in shown(capsys)[:-1]] == [True]


def test_two_files_of_one_taxonomy_have_each_finding_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terms = write_file(tmp_path / "food.terms", "1\tfood\n2\tfruit\n4\tstone\n")
    taxo = write_file(tmp_path / "food.taxo", "1\t2\n")
    assert main(["check", str(terms), str(taxo)]) == 1
    assert shown(capsys)[-1] == "1 finding: 0 errors, 1 warning, 0 for information"


def test_a_table_without_a_chosen_column_is_a_finding_and_other_files_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(write_file(tmp_path / "other.csv", "child,parent\nb,a\n"))
    cycle = str(write_file(tmp_path / "cycle.csv", "SKU,Name,Above\n1,a,2\n2,b,1\n"))
    columns = ["--columns", "id=SKU,label=Name,parent=Above"]
    assert main(["check", other, cycle, *columns, "--json"]) == 1
    found = {(each["file"], each["code"]) for each in json.loads(capsys.readouterr().out)}
    assert found == {(other, "unreadable"), (cycle, "cycle")}
    assert main(["check", cycle, "--columns", "colour=3"]) == 2
    obo = write_file(tmp_path / "x.obo", "[Term]\nid: x:1\nname: a\n")
    assert main(["check", str(obo), *columns]) == 2
