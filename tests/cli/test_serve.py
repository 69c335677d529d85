from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import torch

from taxoexpan.cli.arguments import require_extra
from taxoexpan.cli.main import main
from taxoexpan.cli.serve import ServerOptions
from taxoexpan.desk.web.server import listen
from taxoexpan.errors import ConfigurationError
from tests.support.command_line import run
from tests.support.forked_processes import forked


@contextmanager
def running(model: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command; yield its process and its URL."""
    command = [sys.executable, "-m", "taxoexpan.cli.main", "serve", str(model), "--port", "0"]
    with subprocess.Popen(
        [*command, "--device", "cpu", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.slow
def test_sigterm_during_requests_answers_all_that_were_accepted(model_directory: Path) -> None:
    def ask(number: int) -> httpx.Response | None:
        concepts = [{"label": f"{sort} milk {number}"} for sort in range(20)]
        try:
            return client.post(f"{url}v1/suggest", json={"concepts": concepts})
        except httpx.TransportError:
            return None  # the server had already stopped listening

    options = ("--max-waiting", "100000")
    with running(model_directory, *options) as (process, url), httpx.Client(timeout=60) as client:
        assert client.get(f"{url}healthz").json()["status"] == "ok"
        with ThreadPoolExecutor(16) as pool:
            answers = [pool.submit(ask, number) for number in range(32)]
            first = answers[0].result()
            process.send_signal(signal.SIGTERM)
            rest = [answer.result() for answer in answers[1:]]
        answered = [answer for answer in (first, *rest) if answer is not None]
        assert {answer.status_code for answer in answered} == {200}
        assert all(len(answer.json()["results"]) == 20 for answer in answered)
        assert process.wait(30) == 0


@pytest.mark.slow
def test_more_requests_than_fit_are_answered_or_told_to_wait(model_directory: Path) -> None:
    body = json.dumps({"concepts": [{"label": f"{i} milk"} for i in range(10)]})

    def ask(_: int) -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        return client.post(f"{url}v1/suggest", content=body, headers=headers)

    options = ("--max-waiting", "20", "--max-requests", "8")
    with running(model_directory, *options) as (process, url), httpx.Client(timeout=60) as client:
        with ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(ask, range(48)))
        assert {answer.status_code for answer in answers} == {200, 503}
        refused = [answer for answer in answers if answer.status_code == 503]
        assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
        assert ask(0).status_code == 200  # afterwards it is as before
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.mark.slow
@pytest.mark.parametrize("token", [None, "%41/&?#token+of=this"])
def test_openrefine_can_use_the_service(model_directory: Path, token: str | None) -> None:
    """Send what OpenRefine 3.10 sends: it has the token only in the URL of the service."""
    options = ("--token", token) if token else ()
    with running(model_directory, *options) as (_, url), httpx.Client(timeout=60) as client:
        service = f"{url}reconcile" + (f"?token={quote(token, safe='')}" if token else "")
        manifest = client.get(service, headers={"Accept": "application/json, */*"}).json()

        cells = {"q0": {"query": "oat milk"}, "q1": {"query": "  "}, "q2": {"query": "hemp milk"}}
        found = client.post(service, data={"queries": json.dumps(cells)}).json()
        match = found["q0"]["result"][0]
        assert (match["match"], match["name"]) == (True, "oat milk")
        assert found["q1"]["result"] == []
        assert found["q2"]["result"][0]["name"].endswith(" (proposed parent)")

        for kind, prefix in (("entity", "oat m"), ("property", "def"), ("type", "prop")):
            suggest = manifest["suggest"][kind]
            address = suggest["service_url"] + suggest["service_path"]
            [first, *_] = client.get(address, params={"prefix": prefix}).json()["result"]
            assert first["name"].lower().startswith(prefix)
        entity = manifest["suggest"]["entity"]
        flyout = entity["service_url"] + entity["flyout_service_path"]
        shown = client.get(flyout.replace("${id}", quote(match["id"], safe=""))).json()
        assert "oat milk" in shown["html"]

        for page in ("preview", "view"):
            # encodeURI of OpenRefine keeps these characters.
            address = quote(
                manifest[page]["url"].replace("{{id}}", match["id"]), "/:?&=#%;,+$@!'()*"
            )
            frame = {"Accept": "text/html", "Sec-Fetch-Dest": "iframe"}
            assert "oat milk" in client.get(address, headers=frame).text

        proposal = manifest["extend"]["propose_properties"]
        address = proposal["service_url"] + proposal["service_path"] + "?type=concept"
        properties = [{"id": each["id"]} for each in client.get(address).json()["properties"]]
        query = json.dumps({"ids": [match["id"]], "properties": properties})
        row = client.post(service, data={"extend": query}).json()["rows"][match["id"]]
        assert row["parent"] == [{"id": "milk", "name": "milk"}]
        assert row["path"] == [{"str": "food > milk > oat milk"}]


@pytest.mark.slow
def test_the_printed_address_does_not_have_the_token(model_directory: Path) -> None:
    token = "0123456789abcdef"
    with running(model_directory, "--token", token) as (_, url):
        assert token not in url
        headers = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{url}v1/search?q=milk", headers=headers).status_code == 200


def test_wrong_options_are_refused_before_the_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAXOEXPAN_TOKEN", raising=False)
    missing = str(tmp_path / "missing")
    assert "so a token is needed" in run("serve", missing, "--host", "0.0.0.0", status=2).err
    with listen("127.0.0.1", 0) as busy:
        messages = run("serve", missing, "--port", busy.getsockname()[1], status=2).err
    assert "another port" in messages
    assert "missing" in run("serve", missing, "--port", "0", status=2).err


def test_the_default_is_this_machine_without_a_token() -> None:
    granted = ServerOptions().access()
    assert (granted.host, granted.token) == ("127.0.0.1", None)


def test_the_token_comes_from_the_option_or_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TAXOEXPAN_TOKEN", "from-the-environment")
    assert ServerOptions(host="0.0.0.0").access().token == "from-the-environment"
    assert ServerOptions(token="from-the-command-line").access().token == "from-the-command-line"


def test_another_address_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAXOEXPAN_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match=r"so a token is needed.*option token"):
        ServerOptions(host="0.0.0.0").access()


@pytest.mark.parametrize("command", [["review", "model", "new.csv"], ["serve", "model"]])
def test_a_busy_port_is_refused_before_the_libraries_of_the_model_are_imported(
    command: list[str],
) -> None:
    program = (
        "import sys; from taxoexpan.cli.main import main; "
        "print(main(sys.argv[1:]), 'torch' in sys.modules)"
    )
    with listen("127.0.0.1", 0) as busy:
        port = str(busy.getsockname()[1])
        given = [sys.executable, "-c", program, *command, "--port", port]
        ended = subprocess.run(given, capture_output=True, text=True, check=False)
    assert ended.stdout == "2 False\n", ended.stderr
    assert f"port {port}" in ended.stderr


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ConfigurationError, match=r"needs uvicorn.*pip install 'taxoexpan\[web\]'"):
        require_extra("web", "fastapi", "uvicorn")


def requested(model: Path, *options: str) -> str:
    """What the service prints on standard error, with a request with a token and a refused one."""
    token = "0123456789abcdef"
    command = ["serve", str(model), "--port", "0", "--device", "cpu", "--token", token, *options]

    def serve() -> int:
        torch.set_num_threads(1)  # threads do not survive a fork
        return main(command)

    with forked(serve) as process:
        url = process.out.readline().strip()
        assert httpx.get(f"{url}v1/search?q=milk&token={token}").status_code == 200
        assert httpx.get(f"{url}v1/search?q=milk").status_code == 401
        assert process.end() == 0
        errors = process.err.read()
    assert token not in errors
    assert "q=milk" not in errors
    return errors


def test_requests_are_logged_without_parameters(model_directory: Path) -> None:
    lines = requested(model_directory).splitlines()
    first, second = (line.split() for line in lines if " GET " in line)
    assert first[1:5] == ["INFO", "GET", "/v1/search", "200"]
    assert second[1:5] == ["INFO", "GET", "/v1/search", "401"]
    assert datetime.fromisoformat(first[0]).utcoffset() is not None
    assert any("concepts; press Ctrl+C" in line for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--quiet", "--log-level=warning"])
def test_requests_are_not_logged_on_request(model_directory: Path, option: str) -> None:
    printed = requested(model_directory, option)
    assert " GET " not in printed
    assert ("press Ctrl+C" in printed) == (option != "--quiet")


def test_the_log_level_comes_from_the_option_the_environment_or_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TAXOEXPAN_LOG_LEVEL", raising=False)
    assert ServerOptions().chosen_level("info") == "info"
    monkeypatch.setenv("TAXOEXPAN_LOG_LEVEL", "error")
    assert ServerOptions().chosen_level("info") == "error"
    assert ServerOptions(log_level="debug").chosen_level("info") == "debug"
    monkeypatch.setenv("TAXOEXPAN_LOG_LEVEL", "loud")
    with pytest.raises(ConfigurationError, match="'loud'; choose from debug"):
        ServerOptions().chosen_level("info")
