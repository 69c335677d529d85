from __future__ import annotations

import subprocess
from contextlib import chdir
from pathlib import Path

import pytest
from expanded_files import write_file

from taxoexpan.errors import FormatError
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Taxonomy


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
