"""Files of the base commit, and changes of files as a patch; git makes both."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taxoexpan.github.workflow import ActionError

_NO_COMMIT = "0" * 40
_DIFF = (
    *("-c", "core.autocrlf=false", "diff", "--no-index", "--no-prefix", "--no-color", "--text"),
    *("--no-ext-diff", "--no-textconv", "--no-renames", "--unified=3", "a", "b"),
)


def base_commit(event: Mapping[str, Any]) -> str:
    """Return the commit that a pull request, a merge queue or a push starts from, or nothing."""
    for key in ("pull_request", "merge_group"):
        if key in event:
            part = event[key]
            return str(part["base"]["sha"] if key == "pull_request" else part["base_sha"])
    before = str(event.get("before", ""))
    return "" if before == _NO_COMMIT else before


def fetch_commit(base: str) -> None:
    """Fetch a commit if the clone does not have it."""
    if not _has_commit(base):
        _git("fetch", "--no-tags", "--depth=1", "origin", base)
    if not _has_commit(base):
        raise ActionError(f"git has no commit {base}", fix="set fetch-depth: 0 in actions/checkout")


def is_changed(base: str, path: str) -> bool:
    """Return whether a file or folder differs from the base."""
    return _git("diff", "--quiet", base, "--", path).returncode != 0


def write_version(base: str, path: Path, folder: Path) -> Path | None:
    """Write the base's version of a file or folder into `folder`; None if it has none.

    A taxonomy may consist of a pair of files, so files with the same stem are written too.
    """
    source, target = (path, folder / path.name) if path.is_dir() else (path.parent, folder)
    listed = _git("ls-tree", "-z", "--name-only", base, cwd=source).stdout
    names = [name for name in os.fsdecode(listed).split("\0") if name]
    stem = path.name.partition(".")[0]
    if not path.is_dir():
        names = [name for name in names if name.partition(".")[0] == stem]
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        # Other than `git show`, with the line ends and the large files of a checkout.
        shown = _git("cat-file", "--filters", f"{base}:./{name}", cwd=source)
        if shown.returncode == 0:
            (target / name).write_bytes(shown.stdout)
    old = folder / path.name
    return old if names and old.exists() else None


def refuse_unpatchable(path: Path) -> None:
    """Refuse compressed files and workbooks, which have no readable patch."""
    if path.is_file() and b"\0" in path.read_bytes():
        raise ActionError(f"{path} is not a text file, so suggest cannot write a patch of it")


def new_version(path: Path, folder: Path) -> Path:
    """Return where the new version of a file has to be for `patch_of`, and make its folder.

    The paths of a patch begin at the root of the repository, if there is one.
    """
    prefix = os.fsdecode(_git("rev-parse", "--show-prefix", cwd=path.parent).stdout)
    place = folder / "b" / prefix.removesuffix("\n") / path.name
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def patch_of(path: Path, folder: Path) -> bytes:
    """Return the changes of a file or folder as a patch for `git apply`, empty without changes."""
    new_folder = new_version(path, folder).parent
    for new in filter(Path.is_file, new_folder.rglob("*")):
        old = folder / "a" / new.relative_to(folder / "b")
        old.parent.mkdir(parents=True, exist_ok=True)
        if (current := path.parent / new.relative_to(new_folder)).exists():
            shutil.copyfile(current, old)
    result = _git(*_DIFF, cwd=folder)
    if result.returncode > 1:
        raise ActionError(f"git could not compare {path}: {result.stderr.decode().strip()}")
    return result.stdout


def _has_commit(revision: str) -> bool:
    return _git("cat-file", "-e", f"{revision}^{{commit}}").returncode == 0


def _git(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], capture_output=True, check=False, cwd=cwd)
