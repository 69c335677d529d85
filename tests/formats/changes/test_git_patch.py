from __future__ import annotations

import gzip
import subprocess
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from expanded_files import write_file
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.changes.git_patch import git_patch, refuse_unpatchable
from taxoexpan.formats.text_file import Insertion, TextFile


def apply(patch: bytes, folder: Path) -> None:
    subprocess.run(["git", "apply", "-"], input=patch, cwd=folder, check=True)


def patched(path: Path, *edits: Insertion) -> tuple[bytes, bytes]:
    """The patched content of a file, and the expected content."""
    file = TextFile.load(path)
    apply(git_patch(file, {path: edits}), path.parent)
    return path.read_bytes(), file.apply(edits)


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
    file = TextFile.load(path)
    middle = file.text.index("15,")
    edits = [Insertion(middle, f"new,ü{newline}"), Insertion(middle + 3, "x", "ä15")]
    content, expected = patched(path, *edits, *file.append(["31,ä31"]))
    assert content == expected
    assert "new,ü" in content.decode()


# Each example starts two programs.
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_insertions_are_applied_as_they_are(data: st.DataObject) -> None:
    words = st.text(st.sampled_from("ab\n"), max_size=40)
    text = data.draw(words.filter(bool))
    offsets = data.draw(st.sets(st.integers(0, len(text)), min_size=1, max_size=4))
    edits = [Insertion(offset, data.draw(words.filter(bool))) for offset in offsets]
    with TemporaryDirectory() as name, chdir(name):
        path = write_file(Path(name) / "a.txt", text)
        file = TextFile(path, text)
        apply(git_patch(file, {path: edits}), Path(name))
        assert path.read_bytes() == file.apply(edits)


def test_a_patch_has_paths_from_the_root_of_the_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "data").mkdir()
    path = write_file(folder / "data" / "a.csv", "a\n")
    patch = git_patch(TextFile.load(path), {path: [Insertion(2, "b\n")]})
    assert patch.startswith(b"diff --git a/data/a.csv b/data/a.csv\n")
    apply(patch, folder)
    assert path.read_text() == "a\nb\n"


def test_a_missing_file_of_the_taxonomy_is_created(folder: Path) -> None:
    terms, taxo = write_file(folder / "a.terms", "1\tfood\n"), folder / "a.taxo"
    patch = git_patch(TextFile.load(terms), {terms: [], taxo: [Insertion(0, "1\t2\n")]})
    apply(patch, folder)
    assert taxo.read_text() == "1\t2\n"
    assert terms.read_text() == "1\tfood\n"


def test_no_change_is_an_empty_patch(folder: Path) -> None:
    path = write_file(folder / "a.csv", "a\n")
    assert git_patch(TextFile.load(path), {path: []}) == b""


def test_far_changes_have_their_own_hunks(folder: Path) -> None:
    path = write_file(folder / "a.csv", "".join(f"{n}\n" for n in range(100)))
    text = path.read_text()
    edits = [Insertion(text.index(f"\n{n}\n") + 1, "new\n") for n in (10, 14, 80)]
    patch = git_patch(TextFile.load(path), {path: edits}).decode()
    assert [line for line in patch.splitlines() if line.startswith("@@")] == [
        "@@ -8,10 +8,12 @@",
        "@@ -78,6 +80,7 @@",
    ]


def test_a_compressed_file_or_a_stream_has_no_patch(folder: Path) -> None:
    path = folder / "a.csv.gz"
    path.write_bytes(gzip.compress(b"child,parent\na,b\n"))
    with pytest.raises(FormatError, match="not a text file, so there can be no patch of it"):
        refuse_unpatchable(TextFile.load(path))
    with pytest.raises(FormatError, match="a patch is for a file"):
        refuse_unpatchable(TextFile(Path("-"), "child,parent\n"))


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a~.csv", "b/a~.csv\n"),
        ("a b.csv", "b/a b.csv\t\n"),
        ("ä b.csv", '"b/\\303\\244 b.csv"\n'),
        ("a\x7f.csv", '"b/a\\177.csv"\n'),
        ("a\\b.csv", '"b/a\\\\b.csv"\n'),
    ],
)
def test_names_are_quoted_as_git_does(folder: Path, name: str, written: str) -> None:
    path = write_file(folder / name, "a\n")
    patch = git_patch(TextFile.load(path), {path: [Insertion(0, "b\n")]})
    assert f"\n+++ {written}".encode() in patch
