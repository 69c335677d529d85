"""Check the installation: versions, extras, device, encoders and cache; helps with bug reports."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec

from taxoexpan.cli.messages import print_json, print_line
from taxoexpan.large_parts import has_large, install_command
from taxoexpan.option_declarations import OptionGroup, json_option

EXTRAS = {
    "cluster": "ray",
    "mcp": "mcp",
    "postgresql": "psycopg",
    "tensorboard": "tensorboard",
    "transformers": "sentence_transformers",
    "web": "fastapi",
}
"""The extras for users, and a module that each of them installs."""


@dataclass(frozen=True, kw_only=True)
class Options(OptionGroup):
    """The options of `doctor`."""

    json: bool = json_option("print the state of every part")


def run(options: Options) -> int:
    """Print the state of every part; return 1 if something that is required is broken."""
    states = {}
    problems = []
    for name, examine in _parts().items():
        try:
            states[name] = examine()
        except Exception as error:  # a broken package can cause any
            states[name] = f"{type(error).__name__}: {error}"
            problems.append(name)
        if not options.json:
            print_line(f"{name:<20}{states[name]}")
    if options.json:
        print_json({**states, "problems": problems})
    elif problems:
        print_line(f"broken: {', '.join(problems)}; pip install --force-reinstall taxoexpan")
    else:
        print_line("everything that is required works")
    return 1 if problems else 0


def _parts() -> dict[str, Callable[[], str]]:
    """Return functions that examine the parts, by their names; they change nothing."""
    try:
        required = [text for text in requires("taxoexpan") or () if "extra ==" not in text]
    except PackageNotFoundError:  # only the source was found
        required = []
    packages = ["taxoexpan", *(re.split(r"[^\w.-]", text)[0] for text in required)]
    return {
        "Python": lambda: f"{platform.python_version()} on {platform.platform()}",
        **{name: partial(version, name) for name in packages},
        **{f"[{extra}]": partial(_extra, extra) for extra in EXTRAS},
        "device": _device,
        "encoders": _encoders,
        "encoder large": _large,
        "cache": _cache,
    }


def _extra(extra: str) -> str:
    """Return whether an extra is installed, which is not required."""
    missing = f"missing; pip install 'taxoexpan[{extra}]'"
    return "installed" if find_spec(EXTRAS[extra]) else missing


def _device() -> str:
    """Return the device that `--device auto` chooses, and the number of threads."""
    import torch

    from taxoexpan.device import choose_device

    device = choose_device("auto")
    gpu = f" ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else ""
    return f"{device}{gpu}; threads: {torch.get_num_threads()}"


def _encoders() -> str:
    """Encode a text with both encoders of the package."""
    from taxoexpan.features.pretrained import PretrainedEncoder
    from taxoexpan.features.static import StaticEncoder

    for encoder in (StaticEncoder(), PretrainedEncoder("cpu")):
        encoder.encode(["green tea"])
    return "static and pretrained work"


def _large() -> str:
    """Return whether the base of the large encoder is installed, which is not required."""
    return "installed" if has_large() else f"missing; {install_command()}"


def _cache() -> str:
    """Return the folder of cached vectors, and whether files can be written to it."""
    from taxoexpan.features.cached_encoder import cache_folder

    folder = cache_folder()
    if folder is None:
        return "off"
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:  # permissions do not tell this of read-only file systems
        tempfile.TemporaryFile(dir=existing).close()
    except OSError:
        return f"{folder}, which cannot be written to"
    return str(folder)
