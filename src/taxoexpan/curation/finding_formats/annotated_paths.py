"""Paths of files as reports name them: relative to the root of the repository."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath

from taxoexpan.curation.checks import Finding
from taxoexpan.files import STANDARD_STREAM

WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""The variables in which GitHub and GitLab give the folder of the repository."""


def annotated_paths(findings: Iterable[Finding]) -> dict[Path | None, PurePath | None]:
    """Return the annotated path of every file with a finding."""
    return {path: annotated_path(path) for path in {finding.path for finding in findings}}


def annotated_path(path: Path | None) -> PurePath | None:
    """Return the path from the root of the repository, or else from the current folder.

    A file outside of both keeps its absolute path; standard input has none.
    """
    if path is None or path == STANDARD_STREAM:
        return None
    roots = [Path(os.environ[name]) for name in WORKSPACES if os.environ.get(name)]
    absolute = path.absolute()
    for root in (*roots, Path.cwd()):
        for base in (root, root.resolve()):
            if absolute.is_relative_to(base):
                return absolute.relative_to(base)
    return absolute
