from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan import read_taxonomy
from taxoexpan.github.versions import (
    base_commit,
    fetch_commit,
    is_changed,
    new_version,
    patch_of,
    refuse_unpatchable,
    write_version,
)
from taxoexpan.github.workflow import ActionError
from tests.support.expanded_files import write_file


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
    assert base_commit(event) == base


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a committed table and a pair of files."""
    folder = tmp_path / "repository"
    (folder / "data").mkdir(parents=True)
    monkeypatch.chdir(folder)
    write_file(folder / "data" / "ä b.csv", "child,parent\nfig,food\n")
    write_file(folder / "food.terms", "1\tfood\n2\tfig\n")
    write_file(folder / "food.taxo", "1\t2\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], check=True)
    return folder


def test_a_changed_file_has_an_old_version(repository: Path, tmp_path: Path) -> None:
    name = "data/ä b.csv"
    assert not is_changed("main", name)
    write_file(repository / name, "child,parent\nfig,fruit\n")
    assert is_changed("main", name)
    old = write_version("main", Path(name), tmp_path / "old")
    assert old == tmp_path / "old" / "ä b.csv"
    assert set(read_taxonomy(old)) == {"fig", "food"}


def test_the_old_version_of_a_pair_has_both_files(repository: Path, tmp_path: Path) -> None:
    write_file(repository / "food.taxo", "2\t1\n")
    old = write_version("main", Path("food.terms"), tmp_path / "old")
    assert old is not None
    assert list(read_taxonomy(old).relations) == [("1", "2")]


def test_a_folder_has_an_old_version(repository: Path, tmp_path: Path) -> None:
    write_file(repository / "data" / "new.csv", "child,parent\n")
    old = write_version("main", Path("data"), tmp_path / "old")
    assert old is not None
    assert [path.name for path in old.iterdir()] == ["ä b.csv"]


@pytest.mark.parametrize("name", ["food.csv", "other/ä b.csv"])
def test_a_new_file_has_no_old_version(repository: Path, tmp_path: Path, name: str) -> None:
    (repository / "other").mkdir()
    write_file(repository / name, "child,parent\n")
    assert write_version("main", Path(name), tmp_path / "old") is None


@pytest.mark.usefixtures("repository")
def test_a_commit_that_git_does_not_have_is_refused() -> None:
    fetch_commit("main")
    with pytest.raises(ActionError, match="fetch-depth: 0"):
        fetch_commit("1" * 40)


def patch(path: Path, contents: Mapping[str, bytes]) -> bytes:
    """Return the patch that gives files beside a path new contents."""
    with TemporaryDirectory() as name:
        folder = new_version(path, Path(name)).parent
        for new, content in contents.items():
            (folder / new).write_bytes(content)
        return patch_of(path, Path(name))


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
    apply(patch(path, {name: expected}), folder)
    assert path.read_bytes() == expected


# Each example starts three programs.
@settings(max_examples=15, deadline=None)
@given(st.text(st.sampled_from("ab\r\n"), max_size=40), st.text(st.sampled_from("ab\r\n")))
def test_any_change_is_applied_as_it_is(old: str, new: str) -> None:
    with TemporaryDirectory() as name, chdir(name):
        path = write_file(Path(name) / "a.txt", old)
        if made := patch(path, {"a.txt": new.encode()}):
            apply(made, Path(name))
        assert path.read_bytes() == new.encode()


def test_a_patch_has_paths_from_the_root_of_the_repository(repository: Path) -> None:
    write_file(repository / "data" / "a.csv", "a\n")
    made = patch(Path("data/a.csv"), {"a.csv": b"a\nb\n"})
    assert made.startswith(b"diff --git a/data/a.csv b/data/a.csv\n")
    apply(made, repository)
    assert (repository / "data" / "a.csv").read_text() == "a\nb\n"


def test_a_missing_file_of_the_taxonomy_is_created(folder: Path) -> None:
    terms = write_file(folder / "a.terms", "1\tfood\n")
    apply(patch(terms, {"a.terms": b"1\tfood\n", "a.taxo": b"1\t2\n"}), folder)
    assert (folder / "a.taxo").read_text() == "1\t2\n"
    assert terms.read_text() == "1\tfood\n"


def test_a_patch_of_a_folder_changes_its_files(repository: Path) -> None:
    path = repository / "data"
    with TemporaryDirectory() as name:
        new = new_version(path, Path(name))
        shutil.copytree(path, new)
        write_file(new / "ä b.csv", "child,parent\nfig,fruit\n")
        apply(patch_of(path, Path(name)), repository)
    assert set(read_taxonomy(path / "ä b.csv")) == {"fig", "fruit"}


def test_no_change_is_an_empty_patch(folder: Path) -> None:
    path = write_file(folder / "a.csv", "a\n")
    assert patch(path, {"a.csv": b"a\n"}) == b""


def test_the_settings_of_git_do_not_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_file(folder / "a.csv", "a\r\n")
    expected = patch(path, {"a.csv": b"a\r\nb\r\n"})
    text = "[core]\nautocrlf = input\n[color]\nui = always\n[diff]\ncontext = 0\nnoprefix = true\n"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(write_file(folder / "config", text)))
    assert patch(path, {"a.csv": b"a\r\nb\r\n"}) == expected
    assert b"+b\r\n" in expected


def test_a_compressed_file_has_no_patch(folder: Path) -> None:
    path = folder / "a.csv.gz"
    path.write_bytes(gzip.compress(b"child,parent\na,b\n"))
    with pytest.raises(ActionError, match="not a text file"):
        refuse_unpatchable(path)
    refuse_unpatchable(write_file(folder / "a.csv", "child,parent\n"))
    refuse_unpatchable(folder)
