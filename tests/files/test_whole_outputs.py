from __future__ import annotations

import os
import shutil
import signal
import stat
from pathlib import Path

import numpy as np
import pytest
from forked_processes import fork_and_wait
from full_disk import no_file_larger_than
from renaming import Renaming, handled, hidden
from safetensors.numpy import save_file

from taxoexpan.errors import FormatError, NameTakenError
from taxoexpan.files import recover_directory, whole_directory, whole_file, write_whole
from taxoexpan.files.staged_files import StagedFiles

OWN = ("part", "old", "new")


@pytest.fixture(params=["system calls", "no flags", "no flags and links"])
def renaming(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Renaming:
    """The renaming of this file system, and of others that can do less."""
    renaming = Renaming(monkeypatch)
    if request.param != "system calls":
        renaming.refuse_flags()
    if request.param == "no flags and links":
        renaming.refuse_links()
    return renaming


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
    assert str(caught.value).startswith(f"{path}: already exists")
    assert caught.value.option == "force"
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


def test_an_old_directory_stays_if_the_new_one_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").touch()
    with pytest.raises(RuntimeError), whole_directory(path, OWN, force=True):
        raise RuntimeError
    assert [file.name for file in path.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_another_program_creates_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    with pytest.raises(FormatError) as caught, whole_file(path):
        path.write_bytes(b"theirs")
    kept = tmp_path / "a.2.csv.gz"
    assert str(caught.value) == (
        f"{path}: was created by another program in the meantime, and is not replaced; "
        f"the result was written to {kept}"
    )
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == {path: b"theirs", kept: b""}


def test_a_directory_that_another_program_creates_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "model-1.5"
    (tmp_path / "model-1.5.2").touch()
    message = rf"not replaced; the result was written to {tmp_path}/model-1\.5\.3$"
    with pytest.raises(FormatError, match=message), whole_directory(path, OWN):
        path.mkdir()
    assert list(path.iterdir()) == []
    assert (tmp_path / "model-1.5.3").is_dir()
    assert hidden(tmp_path) == []


def test_with_force_files_that_appear_in_a_directory_meanwhile_stay(tmp_path: Path) -> None:
    path, thesis = tmp_path / "model", tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "chapter").write_text("years of work")
    with pytest.raises(FormatError, match="was written to"), whole_directory(path, OWN, True):
        shutil.copytree(thesis, path)
    assert (path / "chapter").read_text() == "years of work"


def test_two_files_of_which_one_exists_at_the_end_are_both_kept(tmp_path: Path) -> None:
    one, other = tmp_path / "a.terms", tmp_path / "a.taxo"
    with StagedFiles(force=False) as staged:
        staged.write(one, b"one")
        staged.write(other, b"other")
        other.write_bytes(b"theirs")
        message = f"{other}: was created .* written to .*/a.2.terms and .*/a.2.taxo"
        with pytest.raises(FormatError, match=message):
            staged.commit()
    names = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert names == {"a.taxo": b"theirs", "a.2.terms": b"one", "a.2.taxo": b"other"}


@pytest.mark.parametrize("first_exists", [True, False])
def test_the_first_of_two_files_is_undone_if_the_second_cannot_be_renamed(
    tmp_path: Path, first_exists: bool, renaming: Renaming
) -> None:
    if first_exists and not renaming.allows_links:
        pytest.skip("here the old file cannot be kept until the end")
    one, other = tmp_path / "one", tmp_path / "other"
    if first_exists:
        one.write_bytes(b"old")
    with StagedFiles(force=True) as staged:
        staged.write(one, b"new")
        staged.write(other, b"new")
        other.mkdir()
        with pytest.raises(FormatError, match="other: cannot be written: Is a directory"):
            staged.commit()
    assert one.exists() == first_exists
    assert not first_exists or one.read_bytes() == b"old"
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_two_renames_waits_for_the_second(
    tmp_path: Path, number: signal.Signals, renaming: Renaming
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    renaming.before_each = lambda: signal.raise_signal(number)
    with handled(number), pytest.raises(KeyboardInterrupt):
        write_whole({one: b"new", other: b"new"})
    assert [one.read_bytes(), other.read_bytes()] == [b"new", b"new"]
    assert hidden(tmp_path) == []


def test_a_link_to_a_directory_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "model-1", tmp_path / "current"
    target.mkdir()
    link.symlink_to(target.name)
    with whole_directory(link, OWN, force=True) as folder:
        (folder / "new").touch()
    assert link.is_symlink()
    assert (target / "new").exists()


def test_a_model_that_was_moved_away_by_a_killed_process_comes_back(
    tmp_path: Path, renaming: Renaming
) -> None:
    """Without an exchange in one step, a kill between two renames leaves no model."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").touch()
    renaming.refuse_flags()
    killed = fork_and_wait(lambda: replace_and_be_killed(path, renaming))
    assert killed == signal.SIGKILL
    assert not path.exists()
    recover_directory(path)
    assert [file.name for file in path.iterdir()] == ["old"]
    assert hidden(tmp_path) == []


def replace_and_be_killed(path: Path, renaming: Renaming) -> None:
    with whole_directory(path, OWN, force=True) as folder:
        (folder / "new").touch()
        renaming.before_each = lambda: os.kill(os.getpid(), signal.SIGKILL)


def test_a_kill_while_a_model_is_replaced_leaves_the_old_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").touch()

    def replace_forever() -> None:
        while True:
            with whole_directory(path, OWN, force=True) as folder:
                (folder / "new").touch()

    for milliseconds in range(8):
        fork_and_wait(replace_forever, kill_after=milliseconds / 1000)
        assert len(list(path.iterdir())) == 1
    with whole_directory(path, OWN, force=True) as folder:
        (folder / "part").touch()
    assert [file.name for file in path.iterdir()] == ["part"]
    assert hidden(tmp_path) == []


def test_of_two_processes_that_write_one_file_one_gets_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(FormatError, match=r"was written to .*a\.2\.csv"), whole_file(path):
        assert fork_and_wait(lambda: write_whole({path: b"fast"})) == 0
    assert path.read_bytes() == b"fast"
    assert (tmp_path / "a.2.csv").read_bytes() == b""


def write_new(path: Path, write: str) -> None:
    if write == "write_whole":
        write_whole({path: b"new"}, checked=True)
    elif write == "whole_file":
        with whole_file(path, checked=True) as file:
            file.write(b"new")
    else:
        with whole_directory(path, OWN, checked=True) as folder:
            (folder / "part").write_bytes(b"new")


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("write", ["write_whole", "whole_file", "whole_directory"])
def test_an_output_that_was_created_before_the_writing_stays_if_it_was_checked(
    tmp_path: Path, write: str, is_folder: bool
) -> None:
    """The work that precedes the writing can take hours, and its result is not lost."""
    path, kept = tmp_path / "result", tmp_path / "result.2"
    path.mkdir() if is_folder else path.touch()
    with pytest.raises(NameTakenError, match="was created by another program") as caught:
        write_new(path, write)
    assert caught.value.kept == (kept,)
    assert (kept / "part" if kept.is_dir() else kept).read_bytes() == b"new"
    assert path.is_dir() == is_folder
    assert sorted(tmp_path.iterdir()) == [path, kept]


def test_with_force_a_directory_with_other_files_stays_if_it_was_checked(tmp_path: Path) -> None:
    path = tmp_path / "thesis"
    path.mkdir()
    (path / "chapter").write_text("years of work")
    with pytest.raises(NameTakenError), whole_directory(path, OWN, True, checked=True) as folder:
        (folder / "part").touch()
    assert (path / "chapter").read_text() == "years of work"
    assert (tmp_path / "thesis.2" / "part").exists()
