"""The command `review` in a process of its own, which is forked, so that it starts at once."""

from __future__ import annotations

import http.cookiejar
import os
import re
import signal
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TextIO

import torch

from taxoexpan.cli.main import main
from tests.support.forked_processes import fork

ADDRESS = re.compile(r"review at (http://\S+)")


class ReviewProcess:
    """The running command, what it has printed until it listened, and a browser in front of it."""

    def __init__(self, folder: Path, *arguments: object, terminal: bool = False) -> None:
        ends = os.openpty() if terminal else os.pipe()
        read = ends[0]
        written = ends[1]
        command = ["review", *map(str, arguments), "--no-browser"]
        self.id = fork(lambda: _review(folder, written, command))
        os.close(written)
        self.status: int | None = None
        self.messages: TextIO = os.fdopen(read, encoding="utf-8")
        self.lines: list[str] = []
        """What it has printed until it listened."""
        while not self.lines or not ADDRESS.search(self.lines[-1]):
            self.lines.append(self.messages.readline())
            assert self.lines[-1], "".join(self.lines)
        self.url = self.lines[-1].split()[2]
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._browser = urllib.request.build_opener(cookies)

    def page(self, path: str = "", form: dict[str, str] | None = None) -> str:
        """Return a page, perhaps after sending a form."""
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        with self._browser.open(urllib.parse.urljoin(self.url, path), data) as response:
            return str(response.read().decode())

    def stop(self) -> str:
        """Press Ctrl+C, wait for the end, and return what was printed since it listened."""
        os.kill(self.id, signal.SIGINT)
        try:
            rest = self.messages.read()
        except OSError:  # the end of a terminal
            rest = ""
        self._wait()
        return rest

    def close(self) -> None:
        """End the process, if it still runs."""
        if self.status is None:
            os.kill(self.id, signal.SIGKILL)
            self._wait()
        self.messages.close()

    def _wait(self) -> None:
        _, status = os.waitpid(self.id, 0)
        self.status = os.waitstatus_to_exitcode(status)


def _review(folder: Path, messages: int, command: list[str]) -> int:
    """Run the command in a folder, with its messages to a file descriptor."""
    torch.set_num_threads(1)  # threads do not survive a fork
    os.chdir(folder)
    os.dup2(messages, 2)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1, closefd=False)
    return main(command)
