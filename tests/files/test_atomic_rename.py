from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from renaming import Renaming

from taxoexpan.files.atomic_rename import UnsupportedError, exchange, rename_new


def make_file(path: Path, content: str) -> None:
    path.write_text(content)


def make_folder(path: Path, content: str) -> None:
    path.mkdir()
    (path / "part").write_text(content)


def content_of(path: Path) -> str:
    return (path / "part" if path.is_dir() else path).read_text()


KINDS = pytest.mark.parametrize("make", [make_file, make_folder])
Make = Callable[[Path, str], None]


@pytest.mark.parametrize("limits", [(), ("flags",), ("flags", "links")])
@KINDS
def test_a_new_name_is_taken_and_an_existing_one_is_not(
    tmp_path: Path, make: Make, limits: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    renaming = Renaming(monkeypatch)
    for limit in limits:
        getattr(renaming, f"refuse_{limit}")()
    source, target = tmp_path / "source", tmp_path / "target"
    make(source, "first")
    rename_new(source, target)
    assert content_of(target) == "first"
    make(source, "second")
    with pytest.raises(FileExistsError):
        rename_new(source, target)
    assert (content_of(source), content_of(target)) == ("second", "first")


@KINDS
def test_two_names_are_exchanged(tmp_path: Path, make: Make) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    make(one, "1")
    make(other, "2")
    try:
        exchange(one, other)
    except UnsupportedError:
        pytest.skip("this file system cannot exchange names")
    assert (content_of(one), content_of(other)) == ("2", "1")


def test_a_missing_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        rename_new(tmp_path / "nothing", tmp_path / "target")
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "nothing", tmp_path / "target")
