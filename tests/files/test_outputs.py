"""Outputs are old or new, and whole, whatever happens to the process that writes them."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from taxoexpan.errors import FormatError
from taxoexpan.files import (
    check_directory,
    check_output,
    output_lock,
    preflight,
    recover_output,
    unused_name,
    whole_directory,
    whole_file,
    write_whole,
)
from tests.support.forked_processes import fork_and_wait
from tests.support.full_disk import no_file_larger_than

OWN = ("part", "old", "new")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def new_directory(path: Path, part: str = "old") -> Path:
    path.mkdir()
    (path / part).touch()
    return path


def be_killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_every_file_is_written_and_no_other(tmp_path: Path) -> None:
    contents = {tmp_path / "a.terms": b"one", tmp_path / "a.taxo": b"two"}
    write_whole(contents)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == contents


def test_a_file_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    for refused in (lambda: write_whole({path: b"new"}), lambda: check_output(path, False)):
        with pytest.raises(FormatError, match="already exists") as caught:
            refused()
        assert str(path) in str(caught.value)
        assert caught.value.option == "force"
    assert path.read_bytes() == b"old"
    write_whole({path: b"new"}, force=True)
    assert path.read_bytes() == b"new"


def test_no_file_is_written_if_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"old")
    with pytest.raises(FormatError, match="already exists"):
        write_whole({tmp_path / "a": b"new", tmp_path / "b": b"new"})
    assert names(tmp_path) == ["b"]


def test_a_file_that_another_program_creates_meanwhile_stays(tmp_path: Path) -> None:
    path, model = tmp_path / "a.csv", tmp_path / "model"
    with pytest.raises(FormatError, match="already exists"), whole_file(path):
        path.write_bytes(b"theirs")
    with pytest.raises(FormatError, match="other files"), whole_directory(model, OWN, force=True):
        new_directory(model, "chapter")
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.csv", "model"]
    assert names(model) == ["chapter"]


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_the_last_check_comes_just_before_the_renaming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path, flush, steps = tmp_path / "output", os.fsync, list[str]()

    def noted_flush(descriptor: int) -> None:
        steps.extend([] if path.exists() else ["flush"])
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", noted_flush)
    if kind == "file":
        write_whole({path: b"new"}, last_check=lambda: steps.append("check"))
    else:
        with whole_directory(path, OWN, last_check=lambda: steps.append("check")) as new:
            (new / "part").touch()
    assert steps[-2:] == ["flush", "check"]


def test_only_regular_files_are_replaced_by_files(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(FormatError, match="not a regular file"):
            write_whole({tmp_path / name: b""}, force=True)
    assert (tmp_path / "folder").is_dir()
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("contents", [(b"x" * 100,), (b"short", b"x" * 100)])
@pytest.mark.parametrize("old", [b"old", None])
def test_a_full_disk_leaves_the_old_files(
    tmp_path: Path, contents: tuple[bytes, ...], old: bytes | None
) -> None:
    files = {tmp_path / str(place): content for place, content in enumerate(contents)}
    for path in files if old else ():
        path.write_bytes(b"old")
    with no_file_larger_than(50), pytest.raises(FormatError, match="File too large") as caught:
        write_whole(files, force=True)
    assert str(caught.value).startswith(str(list(files)[-1]))
    found = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == (dict.fromkeys(files, b"old") if old else {})


def test_a_full_disk_leaves_no_directory_of_tensors(tmp_path: Path) -> None:
    with (
        no_file_larger_than(50),
        pytest.raises(FormatError, match=r"model: cannot be written: .*File too large"),
        whole_directory(tmp_path / "model", OWN) as folder,
    ):
        save_file({"weights": np.zeros(100)}, folder / "part")
    assert names(tmp_path) == []


def test_a_directory_is_renamed_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with whole_directory(path, OWN) as folder:
        (folder / "part").touch()
        assert not path.exists()
    assert names(tmp_path) == ["model"]
    assert names(path) == ["part"]


def test_a_directory_is_replaced_only_when_forced_and_complete(tmp_path: Path) -> None:
    path = new_directory(tmp_path / "model")
    with pytest.raises(FormatError, match="already exists"), whole_directory(path, OWN):
        pass
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error), whole_directory(path, OWN, force=True):
            raise error
    assert names(path) == ["old"]
    with whole_directory(path, OWN, force=True) as folder:
        (folder / "new").touch()
        assert names(path) == ["old"]
    assert names(path) == ["new"]
    assert names(tmp_path) == ["model"]


def test_directories_of_others_and_files_are_never_replaced_by_a_directory(tmp_path: Path) -> None:
    new_directory(tmp_path / "thesis", "chapter")
    (tmp_path / "a.csv").write_text("precious")
    for name, word in (("thesis", "such as chapter"), ("a.csv", "is a file")):
        with pytest.raises(FormatError, match=word), whole_directory(tmp_path / name, OWN, True):
            pass
    assert names(tmp_path / "thesis") == ["chapter"]
    assert (tmp_path / "a.csv").read_text() == "precious"


def test_outputs_have_default_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_whole({tmp_path / "whole": b""})
    with whole_directory(tmp_path / "model", OWN) as folder:
        (folder / "part").touch(mode=0o600)
    files = [tmp_path / "plain", tmp_path / "whole", tmp_path / "model" / "part"]
    assert len({stat.S_IMODE(file.stat().st_mode) for file in files}) == 1


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["file", "nothing", "link"])
def test_a_link_as_output_is_refused_and_its_target_stays(
    tmp_path: Path, kind: str, force: bool
) -> None:
    link, elsewhere = tmp_path / "link", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_bytes(b"old")
    (elsewhere / "link").symlink_to(link)  # with the first link, it forms a loop
    link.symlink_to(elsewhere / kind)
    refused: list[Callable[[Path], object]] = [
        lambda path: check_output(path, force),
        lambda path: check_directory(path, OWN, force),
        lambda path: preflight([path], [], force),
        lambda path: write_whole({path: b"new"}, force),
        lambda path: write_whole({tmp_path / "other": b"new", path: b"new"}, force),
    ]
    for write in refused:
        with pytest.raises(FormatError, match="symbolic link") as caught:
            write(link)
        assert caught.value.path == link
        assert kind in str(caught.value)
    assert link.is_symlink()
    assert (names(tmp_path), names(elsewhere)) == (["elsewhere", "link"], ["file", "link"])
    assert (elsewhere / "file").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["model-1", "nothing"])
def test_a_link_is_not_replaced_by_a_directory(tmp_path: Path, name: str) -> None:
    new_directory(tmp_path / "model-1")
    current = tmp_path / "current"
    current.symlink_to(name)
    with pytest.raises(FormatError, match=name), whole_directory(current, OWN, force=True):
        pass
    assert current.is_symlink()
    assert names(tmp_path / "model-1") == ["old"]
    with whole_directory(tmp_path / "model-1", OWN, force=True) as folder:
        (folder / "new").touch()
    assert names(tmp_path / "model-1") == ["new"]


def test_an_output_that_becomes_a_link_meanwhile_is_refused(tmp_path: Path) -> None:
    path, target = tmp_path / "a.csv", tmp_path / "target"
    target.write_bytes(b"theirs")
    with pytest.raises(FormatError, match="symbolic link"), whole_file(path, force=True):
        path.symlink_to(target)
    assert target.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.csv", "target"]


def test_a_folder_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    path = tmp_path / "link" / "a.csv"
    write_whole({path: b"old"})
    with output_lock(path), output_lock(tmp_path / "folder" / "a.csv"):
        write_whole({path: b"new"}, force=True)
    assert names(tmp_path / "folder") == ["a.csv"]
    assert path.read_bytes() == b"new"


def test_a_link_with_a_temporary_name_is_not_followed(tmp_path: Path) -> None:
    path, target, folder = tmp_path / "a.csv", tmp_path / "target", tmp_path / "folder"
    target.write_bytes(b"theirs")
    new_directory(folder)
    for kind, planted in (("new", target), ("new-01234567", folder), ("old", folder)):
        for output in (path, tmp_path / "model"):
            (tmp_path / f".{output.name}.taxoexpan-{kind}").symlink_to(planted)
    with whole_file(path) as file, whole_directory(tmp_path / "model", OWN) as model:
        file.write(b"new")
        (model / "new").touch()
        for kind in ("new", "old"):  # again, when these outputs have begun
            (tmp_path / f".model.taxoexpan-{kind}").symlink_to(folder)
            (tmp_path / f".a.csv.taxoexpan-{kind}").symlink_to(target)
    assert names(tmp_path) == ["a.csv", "folder", "model", "target"]
    assert (path.read_bytes(), target.read_bytes()) == (b"new", b"theirs")
    assert (names(tmp_path / "model"), names(folder)) == (["new"], ["old"])


def test_two_outputs_never_have_the_same_temporary_name(tmp_path: Path) -> None:
    used = set[str]()
    for _ in range(2):
        with whole_file(tmp_path / "a.csv", force=True) as file:
            used.add(file.name)
        with whole_directory(tmp_path / "model", OWN, force=True) as folder:
            used.add(folder.name)
    assert len(used) == 4


def test_names_without_folder_and_long_names_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    longest = "ä" * 127
    for name in ("a.csv", longest):
        write_whole({Path(name): b"new"})
        write_whole({Path(name): b"newer"}, force=True)
    assert names(tmp_path) == ["a.csv", longest]
    with pytest.raises(FormatError, match="File name too long"):
        check_output(Path("ä" * 128), force=False)


@contextmanager
def killed_at_rename(number: int) -> Iterator[None]:
    """Kill this process before the n-th rename."""
    renames = [0]

    def announced(rename: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        def counted(source: Path, target: Path) -> Path:
            renames[0] += 1
            if renames[0] == number:
                be_killed()
            return rename(source, target)

        return counted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", announced(Path.rename))
        patch.setattr(Path, "replace", announced(Path.replace))
        yield


@pytest.mark.parametrize("number", [1, 2])
def test_a_directory_comes_back_if_the_process_is_killed_between_the_renames(
    tmp_path: Path, number: int
) -> None:
    path = new_directory(tmp_path / "model")

    def replace() -> None:
        with killed_at_rename(number), whole_directory(path, OWN, force=True) as folder:
            (folder / "new").touch()

    assert fork_and_wait(replace) == signal.SIGKILL
    assert path.exists() == (number == 1)
    (tmp_path / "current").symlink_to("model")
    recover_output(tmp_path / "current")  # a model may be read through a link
    assert names(path) == ["old"]
    assert names(tmp_path) == ["current", "model"]


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_directory(tmp_path: Path) -> None:
    path = new_directory(tmp_path / "model")

    def replace_forever() -> None:
        while True:
            with whole_directory(path, OWN, force=True) as folder:
                (folder / "new").touch()

    for milliseconds in range(8):
        fork_and_wait(replace_forever, kill_after=milliseconds / 1000)
        recover_output(path)
        assert names(path) in (["old"], ["new"])
    assert names(tmp_path) == ["model"]


def test_the_next_run_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    file, model = tmp_path / "a.csv", tmp_path / "model"

    def write() -> None:
        with whole_file(file) as opened, whole_directory(model, OWN) as folder:
            opened.write(b"half")
            (folder / "part").touch()
            be_killed()

    assert fork_and_wait(write) == signal.SIGKILL
    assert len(names(tmp_path)) == 4
    check_output(file, force=False)
    with whole_directory(model, OWN):
        pass
    assert names(tmp_path) == ["model"]


def test_files_of_the_user_stay(tmp_path: Path) -> None:
    own = [".model.backup", ".model2.taxoexpan-new", "model.taxoexpan-new"]
    for name in own:
        (tmp_path / name).touch()
    write_whole({tmp_path / "model": b""})
    assert names(tmp_path) == [*own[:2], "model", own[2]]


def test_outputs_that_collide_are_refused_before_any_work(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    preflight([one, other, Path("-")], [], force=False)
    for outputs, inputs in (([one, one], []), ([one], [tmp_path / "x" / ".." / "one"])):
        with pytest.raises(FormatError, match="its own name"):
            preflight(outputs, inputs, force=True)
    assert names(tmp_path) == []


@pytest.mark.parametrize("folder", ["/proc", "/nowhere"])
def test_a_folder_in_which_nothing_can_be_created_is_refused(folder: str) -> None:
    path = Path(folder, "model")
    for check in (
        lambda: check_output(path, force=True),
        lambda: check_directory(path, [], force=False),
        lambda: preflight([path], [], force=False),
        lambda: write_whole({path: b""}),
    ):
        with pytest.raises(FormatError, match=rf"folder.*{folder}"):
            check()


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "private.csv"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_whole({path: b"new"}, force=True)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)


def test_a_replaced_directory_keeps_its_permissions(tmp_path: Path) -> None:
    path = new_directory(tmp_path / "model")
    path.chmod(0o700)
    with whole_directory(path, OWN, force=True) as folder:
        (folder / "new").touch()
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, path / "new")]
    assert modes == [0o700, 0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_replaced_outputs_keep_their_owner(tmp_path: Path) -> None:
    file, model = tmp_path / "a.csv", new_directory(tmp_path / "model")
    file.write_bytes(b"old")
    for path in (file, model):
        os.chown(path, 1234, 2345)
    write_whole({file: b"new"}, force=True)
    with whole_directory(model, OWN, force=True) as folder:
        (folder / "new").touch()
    owners = {(s.st_uid, s.st_gid) for s in map(os.stat, (file, model, model / "new"))}
    assert owners == {(1234, 2345)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("food", "food-2"),
        ("food-2", "food-4"),
        ("food-2025", "food-2025-2"),
        ('a, "b".ttl', 'a, "b"-2.ttl'),
        ("a.csv.gz", "a-2.csv.gz"),
    ],
)
def test_an_unused_name_is_next_to_the_used_ones(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "food-3").symlink_to("nowhere")
    assert unused_name(tmp_path / name) == tmp_path / expected
