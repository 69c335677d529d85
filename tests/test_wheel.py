"""Tests of the wheel: its files and its metadata."""

from __future__ import annotations

import os
import tomllib
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.build import build_wheel

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INFO = f"taxoexpan-{PROJECT['version']}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    folder, before = tmp_path_factory.mktemp("wheel"), Path.cwd()
    os.chdir(ROOT)  # a build backend is always run in the folder of the project
    try:
        return ZipFile(folder / build_wheel(str(folder)))
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def metadata(wheel: ZipFile) -> Message:
    return Parser().parsestr(wheel.read(f"{INFO}/METADATA").decode())


def test_the_wheel_has_all_files_of_the_package_and_no_others(wheel: ZipFile) -> None:
    source = ROOT / "src"
    files = {path for path in (source / "taxoexpan").rglob("*") if path.is_file()}
    wanted = {str(path.relative_to(source)) for path in files if "__pycache__" not in path.parts}
    packed = {name for name in wheel.namelist() if not name.startswith("taxoexpan-")}
    assert packed == wanted


def test_the_wheel_has_templates_data_and_licenses(wheel: ZipFile) -> None:
    wanted = {
        "taxoexpan/py.typed",
        "taxoexpan/data/food.csv",
        "taxoexpan/report/templates/report.html",
        "taxoexpan/desk/review/templates/base.html",
        *(f"{INFO}/licenses/{file}" for file in PROJECT["license-files"]),
    }
    assert wanted - set(wheel.namelist()) == set()


def test_the_metadata_is_complete(metadata: Message) -> None:
    assert metadata["Name"] == "taxoexpan"
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    required = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert sorted(required) == sorted(PROJECT["dependencies"])
    classifiers = metadata.get_all("Classifier", [])
    for version in ("3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in classifiers


def test_every_dependency_is_pinned() -> None:
    names = {"pip", "taxoexpan"}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    names |= {_normal(line.partition("==")[0]) for line in lines if "==" in line}
    wanted = [*PROJECT["dependencies"]]
    wanted += [each for extra in PROJECT["optional-dependencies"].values() for each in extra]
    assert {_normal(each) for each in wanted} - names == set()


def _normal(requirement: str) -> str:
    """Return the name of a requirement as package indexes spell it."""
    for mark in ("[", ">", "<", "=", "!", ";"):
        requirement = requirement.partition(mark)[0]
    return requirement.strip().lower().replace("_", "-").replace(".", "-")
