"""Runs the steps of GitHub workflows and composite actions as GitHub does, without GitHub."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TOKEN = "the token of the job"
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_NAME = re.compile(r"\b(inputs|steps|github)((?:\.[\w-]+)+)")


@dataclass
class GitHub:
    """The comments on pull requests, and who may write them."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    may_write: bool = True


@contextmanager
def github() -> Iterator[GitHub]:
    """Serve the part of GitHub's REST API that writes comments."""
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = int(self.path.rpartition("page=")[2])
            self.answer(200, state.comments[100 * (page - 1) : 100 * page])

        def do_POST(self) -> None:
            if state.may_write:
                state.comments.append({"id": 7000 + len(state.comments), **self.content()})
            self.answer(201 if state.may_write else 403, {})

        def do_PATCH(self) -> None:
            id = int(self.path.rpartition("/")[2])
            next(each for each in state.comments if each["id"] == id).update(self.content())
            self.answer(200, {})

        def content(self) -> dict[str, Any]:
            read: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            return read

        def answer(self, status: int, content: object) -> None:
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            state.calls.append(f"{self.command} {self.path}")
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class ActionRun:
    """The results of a composite action; `used` has the inputs of other actions."""

    status: int = 0
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    used: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Runner:
    """Runs actions in a repository for an event."""

    repository: Path
    temp: Path
    api_url: str
    event: Mapping[str, Any]

    def run_workflow(self, path: Path, **changed: str) -> ActionRun:
        """Run the step of the only job that uses this action, with some inputs changed."""
        (job,) = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
        (step,) = (each for each in job["steps"] if "/taxoexpan@" in each.get("uses", ""))
        inputs = {name: _text(value) for name, value in step["with"].items()}
        return self.run_action(ROOT / "action.yml", {**inputs, **changed})

    def run_action(self, path: Path, given: Mapping[str, str]) -> ActionRun:
        """Run all steps of a composite action with inputs."""
        action = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert given.keys() <= action["inputs"].keys()
        values = {
            f"inputs.{name}": given.get(name, _text(about.get("default", "")))
            for name, about in action["inputs"].items()
        }
        values = {name: _fill(text, {"github.token": TOKEN}) for name, text in values.items()}
        result = ActionRun()
        for step in action["runs"]["steps"]:
            condition = _fill(step.get("if", "true"), values)
            if condition == "false" or (result.status and "cancelled()" not in step.get("if", "")):
                continue
            if "uses" in step:
                used = {name: _fill(text, values) for name, text in step["with"].items()}
                result.used[step["uses"].partition("@")[0]] = used
            else:
                outputs = self._run_step(path.parent, step, values, result)
                values |= {f"steps.{step.get('id')}.outputs.{k}": v for k, v in outputs.items()}
        result.outputs = {
            name: _fill(about["value"], values) for name, about in action["outputs"].items()
        }
        return result

    def _run_step(
        self, folder: Path, step: Mapping[str, Any], values: Mapping[str, str], result: ActionRun
    ) -> dict[str, str]:
        assert step["shell"] == "bash"
        files = {name: self.temp / name for name in ("output", "summary", "event.json")}
        for path in files.values():
            path.write_text("")
        files["event.json"].write_text(json.dumps(self.event))
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "HOME": str(self.temp),
            "OMP_NUM_THREADS": "1",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(folder),
            "GITHUB_API_URL": self.api_url,
            "GITHUB_EVENT_PATH": str(files["event.json"]),
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_REPOSITORY": "someone/vocabulary",
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "GITHUB_WORKSPACE": str(self.repository),
            "RUNNER_TEMP": str(self.temp),
        }
        environment |= {name: _fill(text, values) for name, text in step["env"].items()}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.repository,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        result.status = result.status or ran.returncode
        result.log += ran.stdout.decode()
        result.summary += files["summary"].read_text(encoding="utf-8")
        return read_outputs(files["output"].read_text(encoding="utf-8"))


def read_outputs(text: str) -> dict[str, str]:
    """Return the outputs of a step, as GitHub reads them."""
    outputs, lines = {}, iter(text.splitlines())
    for line in lines:
        name, found, end = line.partition("<<")
        assert found, line
        outputs[name] = "\n".join(takewhile(lambda each, end=end: each != end, lines))
    return outputs


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fill(text: object, values: Mapping[str, str]) -> str:
    """Replace the expressions in a text by their values."""
    return _EXPRESSION.sub(lambda found: _text(_evaluate(found[1], values)), str(text))


def _evaluate(expression: str, values: Mapping[str, str]) -> object:
    python = expression.replace("!cancelled()", "True").replace("&&", " and ")
    python = _NAME.sub(lambda found: repr(values.get(found[0], "")), python)
    return eval(python, {"__builtins__": {}})
