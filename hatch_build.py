"""Build hook: generates the manual page, so that it never differs from the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPageHook(BuildHookInterface[Any]):
    """Installs the manual page with the wheel, where `man` finds it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Generate the page from the parser, which needs no package but the standard library."""
        sys.path.insert(0, str(Path(self.root) / "src"))
        from taxoexpan.cli.main import build_parser
        from taxoexpan.cli.man_page import man_page

        self._folder = TemporaryDirectory()
        page = Path(self._folder.name) / "taxoexpan.1"
        page.write_text(man_page(build_parser(), self.metadata.version), encoding="utf-8")
        build_data["shared_data"][str(page)] = "share/man/man1/taxoexpan.1"

    def finalize(self, *_: object) -> None:
        """Remove the generated page."""
        self._folder.cleanup()
