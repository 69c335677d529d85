from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from taxoexpan.cli.server_arguments import access, add_server, require_web_extra
from taxoexpan.desk.web.server import listen
from taxoexpan.errors import ConfigurationError


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_server(parser, 0)
    return parser.parse_args(arguments)


def test_the_default_is_this_machine_without_a_token() -> None:
    granted = access(parse())
    assert (granted.host, granted.token) == ("127.0.0.1", None)


def test_the_token_comes_from_the_option_or_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TAXOEXPAN_TOKEN", "from-the-environment")
    assert access(parse("--host", "0.0.0.0")).token == "from-the-environment"
    assert access(parse("--token", "from-the-command-line")).token == "from-the-command-line"


def test_another_address_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAXOEXPAN_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match=r"so a token is needed.*option token"):
        access(parse("--host", "0.0.0.0"))


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
        require_web_extra()
