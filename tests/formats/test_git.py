from __future__ import annotations

import gzip
import subprocess
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.git import git_patch, refuse_unpatchable
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Taxonomy
from tests.support.expanded_files import write_file


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a committed table and a pair of files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write_file(tmp_path / "data" / "ä b.csv", "child,parent\nfig,food\n")
    write_file(tmp_path / "food.terms", "1\tfood\n2\tfig\n")
    write_file(tmp_path / "food.taxo", "1\t2\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], check=True)
    return tmp_path


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("name", ["main:data/ä b.csv", "HEAD:./data/ä b.csv"])
def test_a_version_is_read_from_git(name: str) -> None:
    Path("data/ä b.csv").write_text("child,parent\nfig,fruit\n")
    assert set(Taxonomy.read(name)) == {"fig", "food"}


def test_both_files_of_a_taxonomy_are_read_from_git(repository: Path) -> None:
    for name in ("food.terms", "food.taxo"):
        (repository / name).unlink()
    file = TaxonomyFile.open(Path("main:food.terms"))
    assert list(file.taxonomy.relations) == [("1", "2")]
    assert file.notes == ()


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("name", ["main:none.csv", "none:data/ä b.csv", "http://x.org/a.csv"])
def test_a_missing_version_is_refused_with_the_reason_of_git(name: str) -> None:
    with pytest.raises(FormatError, match=r"git has no such version \(.+\); check the path"):
        Taxonomy.read(name)


@pytest.mark.usefixtures("repository")
def test_a_file_with_a_colon_in_its_name_is_read_first() -> None:
    write_file(Path("main:food.csv"), "child,parent\npear,fruit\n")
    assert set(Taxonomy.read("main:food.csv")) == {"pear", "fruit"}


def test_nothing_is_fetched(repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "partial"
    source = repository.as_uri()
    subprocess.run(["git", "config", "uploadpack.allowFilter", "true"], check=True)
    command = ["git", "clone", "-q", "--filter=blob:none", "--no-checkout", source, str(copy)]
    subprocess.run(command, check=True)
    with chdir(copy), pytest.raises(FormatError, match="git has no such version"):
        Taxonomy.read("HEAD:food.terms")
    shown = subprocess.run(["git", "show", "HEAD:food.terms"], cwd=copy, capture_output=True)
    assert shown.stdout == b"1\tfood\n2\tfig\n"


def test_without_git_the_message_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FormatError, match="git: No such file or directory"):
        Taxonomy.read("main:food.csv")
    with pytest.raises(FormatError, match="a patch needs git"):
        refuse_unpatchable(tmp_path)


def apply(patch: bytes, folder: Path) -> None:
    subprocess.run(["git", "apply", "-"], input=patch, cwd=folder, check=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["a.csv", "a b.csv", "bä r.csv", 'q"uo\\te.csv', "食物.csv"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_git_applies_patches_whatever_the_name_and_the_line_ends(
    folder: Path, name: str, newline: str, end: str
) -> None:
    lines = ["\ufeffid,label", *(f"{n},ä{n}" for n in range(30))]
    text = newline.join(lines) + end.replace("\n", newline)
    path = write_file(folder / name, text)
    expected = f"{text.replace('ä15', f'new,ü{newline}x')}31,ä31{newline}".encode()
    apply(git_patch({path: expected}), folder)
    assert path.read_bytes() == expected


# Each example starts two programs.
@settings(max_examples=15, deadline=None)
@given(st.text(st.sampled_from("ab\r\n"), max_size=40), st.text(st.sampled_from("ab\r\n")))
def test_any_change_is_applied_as_it_is(old: str, new: str) -> None:
    with TemporaryDirectory() as name, chdir(name):
        path = write_file(Path(name) / "a.txt", old)
        if patch := git_patch({path: new.encode()}):
            apply(patch, Path(name))
        assert path.read_bytes() == new.encode()


def test_a_patch_has_paths_from_the_root_of_the_repository(repository: Path) -> None:
    path = write_file(repository / "data" / "a.csv", "a\n")
    patch = git_patch({path: b"a\nb\n"})
    assert patch.startswith(b"diff --git a/data/a.csv b/data/a.csv\n")
    apply(patch, repository)
    assert path.read_text() == "a\nb\n"


def test_a_missing_file_of_the_taxonomy_is_created(folder: Path) -> None:
    terms, taxo = write_file(folder / "a.terms", "1\tfood\n"), folder / "a.taxo"
    apply(git_patch({terms: b"1\tfood\n", taxo: b"1\t2\n"}), folder)
    assert taxo.read_text() == "1\t2\n"
    assert terms.read_text() == "1\tfood\n"


def test_no_change_is_an_empty_patch(folder: Path) -> None:
    path = write_file(folder / "a.csv", "a\n")
    assert git_patch({path: b"a\n"}) == b""


def test_the_settings_of_git_do_not_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_file(folder / "a.csv", "a\r\n")
    expected = git_patch({path: b"a\r\nb\r\n"})
    text = "[core]\nautocrlf = input\n[color]\nui = always\n[diff]\ncontext = 0\nnoprefix = true\n"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(write_file(folder / "config", text)))
    assert git_patch({path: b"a\r\nb\r\n"}) == expected
    assert b"+b\r\n" in expected


def test_a_compressed_file_or_a_stream_has_no_patch(folder: Path) -> None:
    path = folder / "a.csv.gz"
    path.write_bytes(gzip.compress(b"child,parent\na,b\n"))
    with pytest.raises(FormatError, match="not a text file"):
        refuse_unpatchable(path)
    with pytest.raises(FormatError, match="a patch is for a file"):
        refuse_unpatchable(Path("-"))
    refuse_unpatchable(write_file(folder / "a.csv", "child,parent\n"))
