from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from full_disk import no_file_larger_than
from safetensors.numpy import save_file

from taxoexpan.errors import FormatError
from taxoexpan.files import preflight, refuse_overwriting, whole_directory, write_whole

OWN = ("part", "old", "new")


def test_every_file_is_written_and_no_other(tmp_path: Path) -> None:
    contents = {tmp_path / "a.terms": b"one", tmp_path / "a.taxo": b"two"}
    write_whole(contents)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == contents


def test_a_written_file_has_default_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_whole({tmp_path / "whole": b""})
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "whole")]
    assert rights[0] == rights[1]


def test_a_file_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    with pytest.raises(FormatError) as caught:
        write_whole({path: b"new"})
    assert str(caught.value) == f"{path}: already exists; choose another name, or use force=True"
    assert path.read_bytes() == b"old"
    write_whole({path: b"new"}, force=True)
    assert path.read_bytes() == b"new"


def test_no_file_is_written_if_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"old")
    with pytest.raises(FormatError, match="already exists"):
        write_whole({tmp_path / "a": b"new", tmp_path / "b": b"new"})
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "nowhere"
    with pytest.raises(FormatError, match=f"the folder {folder} does not exist; create it first"):
        write_whole({folder / "a.csv": b""})


def test_a_directory_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(FormatError, match="is not a regular file; give the name of one"):
        write_whole({tmp_path / "a": b""}, force=True)
    assert (tmp_path / "a").is_dir()


@pytest.mark.parametrize("contents", [(b"x" * 100,), (b"short", b"x" * 100)])
def test_a_full_disk_leaves_no_file(tmp_path: Path, contents: tuple[bytes, ...]) -> None:
    files = {tmp_path / str(place): content for place, content in enumerate(contents)}
    with no_file_larger_than(50), pytest.raises(FormatError) as caught:
        write_whole(files)
    assert str(caught.value) == f"{list(files)[-1]}: cannot be written: File too large"
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    with no_file_larger_than(50), pytest.raises(FormatError):
        write_whole({path: b"x" * 100}, force=True)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_name_without_folder_is_written_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole({Path("a.csv"): b"new"})
    with whole_directory(Path("model"), OWN) as folder:
        (folder / "part").touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "model"]


def test_a_directory_is_renamed_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with whole_directory(path, OWN) as folder:
        (folder / "part").write_text("one")
        assert not path.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (path / "part").read_text() == "one"


def test_an_incomplete_directory_is_removed(tmp_path: Path) -> None:
    with (
        pytest.raises(FormatError, match="model: cannot be written"),
        whole_directory(tmp_path / "model", OWN) as folder,
    ):
        (folder / "part").write_bytes((tmp_path / "missing").read_bytes())
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_directory_of_tensors(tmp_path: Path) -> None:
    with (
        no_file_larger_than(50),
        pytest.raises(FormatError, match=r"model: cannot be written: .*File too large"),
        whole_directory(tmp_path / "model", OWN) as folder,
    ):
        save_file({"weights": np.zeros(100)}, folder / "part")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_replaced_only_when_forced(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").touch()
    with pytest.raises(FormatError, match="already exists"), whole_directory(path, OWN):
        pass
    with whole_directory(path, OWN, force=True) as folder:
        (folder / "new").touch()
        assert (path / "old").exists()
    assert [file.name for file in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "thesis"
    path.mkdir()
    (path / "chapter").write_text("years of work")
    message = "contains other files, such as chapter, and is not replaced"
    with pytest.raises(FormatError, match=message), whole_directory(path, OWN, force=True):
        pass
    assert (path / "chapter").read_text() == "years of work"


def test_a_file_is_never_replaced_by_a_directory(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("precious")
    message = "is a file; give the name of a directory"
    with pytest.raises(FormatError, match=message), whole_directory(path, OWN, force=True):
        pass
    assert path.read_text() == "precious"


def test_a_written_directory_has_default_permissions(tmp_path: Path) -> None:
    with whole_directory(tmp_path / "model", OWN) as folder:
        (folder / "part").touch(mode=0o600)
    (tmp_path / "plain").touch()
    plain = (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "model" / "part").stat().st_mode == plain


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FormatError, match="is not a regular file"):
        write_whole({pipe: b"data"}, force=True)
    assert pipe.is_fifo()


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole({link: b"new"}, force=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_outputs_that_collide_are_refused_before_any_work(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    preflight([one, other], [], force=False)
    for outputs, inputs in (([one, one], []), ([one], [tmp_path / "x" / ".." / "one"])):
        with pytest.raises(FormatError, match="give each file its own name"):
            preflight(outputs, inputs, force=True)


def test_an_old_directory_stays_if_the_new_one_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").touch()
    with pytest.raises(RuntimeError), whole_directory(path, OWN, force=True):
        raise RuntimeError
    assert [file.name for file in path.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


def test_an_unused_name_is_accepted(tmp_path: Path) -> None:
    refuse_overwriting(tmp_path / "free", force=False)
