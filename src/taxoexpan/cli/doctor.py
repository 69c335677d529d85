"""Check the installation: packages, extras, encoders, devices, directories and memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import note, print_json
from taxoexpan.option_declarations import OptionGroup, switch
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.diagnosis import Folder, Installation


@dataclass(frozen=True, kw_only=True)
class Options(OptionGroup):
    """The options of `doctor`."""

    json: bool = switch("print JSON")


def run(options: Options) -> int:
    """Print the diagnosis; return 1 if something that the core needs is broken."""
    from taxoexpan.diagnosis import examine

    installation = examine()
    if options.json:
        print_json(installation.as_dict())
    else:
        for line in _lines(installation):
            print(line.rstrip())
    for problem in installation.problems:
        note(f"taxoexpan: {problem}")
    if not options.json:
        print(_verdict(installation))
    return 1 if installation.problems else 0


def _verdict(installation: Installation) -> str:
    count = len(installation.problems)
    return f"{pluralize(count, 'problem')} found" if count else "everything that is required works"


def _lines(found: Installation) -> Iterator[str]:
    """Yield the lines of the diagnosis as text."""
    python = f"Python {found.python} ({found.required_python})"
    yield f"taxoexpan {found.version}, {python}, {found.platform}"
    yield from ("", "Required packages")
    for each in found.packages:
        state = each.problem or "ok"
        yield f"  {each.name:<14}{each.version or '-':<16}{each.required:<10}{state}"
    yield from ("", "Devices")
    if found.torch:
        threads = pluralize(int(found.torch["threads"]), "thread")
        yield f"  torch         {', '.join(found.torch['devices'])}; {threads}"
    else:
        yield "  torch         cannot be used"
    yield f"  processors    {found.processors}"
    yield from ("", "Encoders")
    for encoder in found.encoders:
        yield f"  {encoder.name:<30}{encoder.problem or 'ok'} ({encoder.purpose})"
    yield from ("", "Extras")
    for extra in found.extras:
        state = f"missing; {extra.fix}" if extra.missing else "installed"
        yield f"  {extra.name:<14}{state} ({extra.purpose})"
    yield from ("", "Machine")
    yield f"  cache         {_folder(found.cache)}"
    yield f"  temporary     {_folder(found.temporary)}"
    yield f"  memory        {_size(found.memory)}"
    yield ""


def _folder(folder: Folder | None) -> str:
    if folder is None:
        return "none"
    state = folder.problem or "can be written to"
    used = f"{_size(folder.size)} used, " if folder.size else ""
    return f"{folder.path}: {state}, {used}{_size(folder.free)} free"


def _size(count: int | None) -> str:
    """Format a number of bytes."""
    if count is None:
        return "unknown"
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
