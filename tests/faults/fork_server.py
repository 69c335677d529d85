"""A process that has imported everything, and forks one child per command that it is sent.

Starting Python with torch takes seconds, and a thousand commands must be interrupted. Each line on
standard input is a command as JSON; each line on standard output is what became of it.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

GRACE_SECONDS = 0.5


def serve(heavy: bool) -> None:
    """Answer until the end of standard input."""
    import taxoexpan

    for module in pkgutil.walk_packages(taxoexpan.__path__, "taxoexpan."):
        is_light = module.name.startswith(("taxoexpan.cli", "taxoexpan.formats"))
        if heavy or is_light:
            with suppress(ImportError):
                import_module(module.name)
    import_module("taxoexpan.__main__")
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


def run(order: dict[str, Any]) -> dict[str, Any]:
    """Run a command in a child, send it a signal, and return its status and its duration."""
    started = time.monotonic()
    process = os.fork()
    if process == 0:
        become_command(order)
    if order["signal"] is not None:
        time.sleep(order["delay"])
        send(order["signal"], process, order["to_group"])
        if order["again"] is not None:
            time.sleep(order["again"])
            send(order["signal"], process, order["to_group"])
    status = wait(process, order["limit"])
    seconds = time.monotonic() - started
    end_group(process)
    return {"status": status, "seconds": seconds}


def become_command(order: dict[str, Any]) -> NoReturn:
    """Run a command as its console script does."""
    status = 99
    try:
        os.setsid()
        os.chdir(order["folder"])
        os.environ.update(order["environment"])
        for descriptor, name in ((0, os.devnull), (1, order["stdout"]), (2, order["stderr"])):
            flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(name, flags), descriptor)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["taxoexpan", *order["arguments"]]
        status = import_module("taxoexpan.__main__").main()
    except SystemExit as stopped:
        status = stopped.code if isinstance(stopped.code, int) else 1
    except KeyboardInterrupt:  # before `main` handles it, when it would end Python itself
        status = 130
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
        os._exit(status)


def send(number: int, process: int, to_group: bool) -> None:
    """Send a signal to a process, or to its group as a terminal does."""
    with suppress(ProcessLookupError):
        if to_group and os.getpgid(process) == process:
            os.killpg(process, number)
        else:
            os.kill(process, number)


def wait(process: int, limit: float) -> int | None:
    """Wait for a child; return its status as a shell sees it, or None if it hangs."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code
        time.sleep(0.005)
    send(signal.SIGKILL, process, to_group=True)
    os.waitpid(process, 0)
    return None


def end_group(process: int) -> None:
    """Let the workers of a killed command end, and kill those that do not."""
    end = time.monotonic() + GRACE_SECONDS
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.killpg(process, 0)
            time.sleep(0.01)
        os.killpg(process, signal.SIGKILL)


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    serve(heavy=sys.argv[1] == "heavy")
