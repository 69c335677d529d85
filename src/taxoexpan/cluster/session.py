"""A Ray session that leaves nothing behind: no process, no file, no message, no open port.

A local session uses only the loopback interface and a random token, without usage statistics or a
dashboard.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.files import temporary_folder

OBJECT_STORE_BYTES = 256 << 20
"""The shared memory of a local session; what does not fit is written to its folder."""

MAX_FOLDER_LENGTH = 25
"""In a folder with a longer name, the names of Ray's sockets would be too long for the system."""

REMOVE_SECONDS = CONNECT_SECONDS = 10

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_SILENT: dict[str, Any] = {"logging_level": "CRITICAL", "log_to_driver": False}
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # Ray prints errors of workers to standard output
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@contextmanager
def ray_session(address: str | None, cpus: int) -> Iterator[Any]:
    """Yield the module `ray`, connected to a cluster or to `cpus` cores of this machine."""
    with _environment(_QUIET if address else _QUIET | _local_environment()):
        ray = _import_ray()  # takes seconds, so it comes before there is anything to remove
        with nullcontext() if address else temporary_folder(_sockets_place()) as folder:
            try:
                with _own_handlers(), _environment({"RAY_TMPDIR": str(folder)} if folder else {}):
                    _connect(ray, address, cpus)
                yield ray
            finally:
                with interrupts_ignored():
                    ray.shutdown()
                    if folder is not None:
                        _remove(folder)


def _local_environment() -> dict[str, str]:
    """Return the variables for a local session: only the loopback interface, quiet threads."""
    return {
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "passive"),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # without a cluster, only loopback is used
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),  # without one, Ray writes a file to the home
    }


def _import_ray() -> Any:
    with warnings.catch_warnings(action="ignore"):
        import ray
    return ray


def _connect(ray: Any, address: str | None, cpus: int) -> None:
    """Connect to a cluster, or start Ray on this machine."""
    with warnings.catch_warnings(action="ignore"):
        try:
            if address is not None:
                _refuse_closed_port(address)
                ray.init(address=address, **_SILENT)
                return
            ray.init(
                address="local",
                num_cpus=cpus,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                **_SILENT,
            )
        except Exception as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
            if address is None:
                message = f"Ray did not start on this machine ({reason})"
                fix = "try again when the machine is less busy, or use the engine local"
                raise ModelError(message, fix=fix) from None
            message = f"no connection to the Ray cluster at {address!r} ({reason})"
            fix = "start one, and check the address and the versions of Ray and Python"
            raise ConfigurationError(message, fix=fix) from None


def refuse_ray_client(address: str | None) -> None:
    """Refuse the address of a Ray Client server: workers and their caller share one cluster."""
    if address is not None and address.startswith("ray://"):
        message = f"the engine ray does not run through Ray Client ({address})"
        fix = "run the command on a machine of the cluster, with the address HOST:PORT"
        raise ConfigurationError(message, fix=fix)


def _refuse_closed_port(address: str) -> None:
    """Raise an error at once if nothing listens at an address; Ray would wait for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and restore them at the end."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Restore the signal handlers at the end, because Ray replaces them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM, so that a second signal cannot interrupt the cleanup."""
    with _own_handlers():
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
        yield


def _sockets_place() -> Path:
    """Return the parent directory for the sockets and logs of a session."""
    usual = tempfile.gettempdir()
    too_long = len(usual) > MAX_FOLDER_LENGTH and sys.platform != "win32"
    return Path("/tmp" if too_long else usual)


def _remove(folder: Path) -> None:
    """Remove the directory of a session; retry while ending processes still write to it."""
    end = time.monotonic() + REMOVE_SECONDS
    while folder.exists() and time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            time.sleep(0.1)
