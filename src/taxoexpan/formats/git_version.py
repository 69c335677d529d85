"""Versions of a file in git, written as git does: `main:topics.ttl`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from taxoexpan.errors import FormatError


def is_git_version(path: Path) -> bool:
    """Whether a path has the form `REVISION:FILE`; it may also be the name of a missing file."""
    revision, _, name = str(path).partition(":")
    return bool(revision and name) and not revision.startswith("-")


def exists(path: Path) -> bool:
    """Whether there is such a file, or git has this version of it."""
    if path.exists():
        return True
    return is_git_version(path) and _git("cat-file", "-e", str(path)).returncode == 0


def read_git_version(path: Path) -> bytes:
    """The content of a version, as git would check it out."""
    result = _git("cat-file", "--filters", str(path))
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        message = f"there is no such file, and git has no such version ({reason})"
        fix = "check the path, or write REVISION:FILE with the path from the root of the repository"
        raise FormatError(path, f"{message}; {fix}")
    return result.stdout


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git without network: it would fetch what a partial clone lacks."""
    environment = {**os.environ, "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["git", *arguments], capture_output=True, check=False, env=environment
        )
    except OSError as error:  # git is not installed
        return subprocess.CompletedProcess(arguments, 1, b"", f"git: {error.strerror}".encode())
