"""Versions of files in git, and changes of files as a patch for `git apply`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from taxoexpan.errors import FormatError

_DIFF = (
    *("-c", "core.autocrlf=false", "diff", "--no-index", "--no-prefix", "--no-color", "--text"),
    *("--no-ext-diff", "--no-textconv", "--no-renames", "--unified=3", "a", "b"),
)


def is_version(path: Path) -> bool:
    """Return whether a path has the form `REVISION:FILE`, which a missing file may also have."""
    revision, _, name = str(path).partition(":")
    return bool(revision and name) and not revision.startswith("-")


def has_version(path: Path) -> bool:
    """Return whether git has this version of a file."""
    return is_version(path) and _git("cat-file", "-e", str(path)).returncode == 0


def read_version(path: Path) -> bytes:
    """Return the content of a version as git would check it out."""
    result = _git("cat-file", "--filters", str(path))
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        message = f"there is no such file, and git has no such version ({reason})"
        fix = "check the path, or write REVISION:FILE with the path from the root of the repository"
        raise FormatError(path, message, fix=fix)
    return result.stdout


def refuse_unpatchable(path: Path) -> None:
    """Refuse streams, compressed files and workbooks, which have no readable patch."""
    if shutil.which("git") is None:
        raise FormatError(path, "a patch needs git, which is not installed", fix="install it")
    if path.is_dir():
        return
    if not path.is_file():
        raise FormatError(path, "a patch is for a file", fix="give a file as the taxonomy")
    if b"\0" in path.read_bytes():
        message = "this is not a text file, so there can be no patch of it"
        raise FormatError(path, message, fix="write the whole file instead")


def git_patch(contents: Mapping[Path, bytes]) -> bytes:
    """Return a patch (empty without changes); names are relative to the repository, if any."""
    with TemporaryDirectory() as name:
        for path, content in contents.items():
            folders = path.absolute().parents
            root = next((folder for folder in folders if (folder / ".git").exists()), Path.cwd())
            is_inside = path.absolute().is_relative_to(root)
            place = path.absolute().relative_to(root) if is_inside else Path(path.name)
            old = Path(name, "a", place)
            new = Path(name, "b", place)
            for file in (old, new):
                file.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                shutil.copyfile(path, old)
            new.write_bytes(content)
        result = _git(*_DIFF, cwd=name)
    if result.returncode > 1:
        raise FormatError(next(iter(contents)), f"git: {result.stderr.decode().strip()}")
    return result.stdout


def _git(*arguments: str, cwd: str | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run git without network access, because it would fetch objects that a partial clone lacks."""
    environment = {**os.environ, "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["git", *arguments], capture_output=True, check=False, env=environment, cwd=cwd
        )
    except OSError as error:  # git is not installed
        return subprocess.CompletedProcess(arguments, 2, b"", f"git: {error.strerror}".encode())
