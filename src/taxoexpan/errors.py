"""The errors that users see; each has a place, a problem and a fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from taxoexpan.phrasing import shortened, shortened_message, visible

MAX_ID = 60
"""The number of characters of an id in a cycle."""
MAX_LINES = 5
"""The number of lines of a cycle in a message."""


class TaxoExpanError(Exception):
    """An error that the user can fix, and the base class of all errors of this package.

    `fix` says what to do. `option` is the Python parameter that the error is about; the command
    line shows it as a flag.

    Examples:
        >>> from taxoexpan import TaxoExpanError, read_taxonomy
        >>> try:
        ...     read_taxonomy("missing.csv")
        ... except TaxoExpanError as error:
        ...     print(error.place, "-", error.problem)
        missing.csv - there is no such file
    """

    def __init__(self, problem: str, *, fix: str = "", option: str = "") -> None:
        self.problem = problem
        self.fix = fix
        self.option = option
        super().__init__(problem)

    @property
    def place(self) -> str:
        """Where the error is, such as a file and a line."""
        return ""

    @property
    def message(self) -> str:
        """The problem and the fix in one line."""
        separator = "\n" if "\n" in self.problem else "; "  # a list ends with a line of its own
        return f"{self.problem}{separator}{self.fix}" if self.fix else self.problem

    def __str__(self) -> str:
        """Return place, problem and fix, with the option as a Python parameter."""
        return self.spelled(str)

    def spelled(self, spell: Callable[[str], str]) -> str:
        """Return all parts in one line, with the option as `spell` writes it, and shorten it."""
        message = f"{self.place}: {self.message}" if self.place else self.message
        if self.option:
            message += f" (option {spell(self.option)})"
        return shortened_message(message)


class TaxonomyError(TaxoExpanError):
    """Concepts and relations that do not form a taxonomy."""


class CycleError(TaxonomyError):
    """Relations that form cycles; `cycles` holds lists of ids, each the parent of the next."""

    def __init__(self, cycles: list[list[str]]) -> None:
        self.cycles = cycles
        super().__init__(describe_cycle(cycles[0]), fix=cycle_fix())


class FormatError(TaxoExpanError):
    """A file that cannot be read or written."""

    def __init__(
        self,
        path: Path | str,
        problem: str,
        *,
        fix: str = "",
        line: int | None = None,
        option: str = "",
    ) -> None:
        self.path = Path(path)
        self.line = line
        self._name = visible(str(path))
        super().__init__(problem, fix=fix, option=option)

    @property
    def place(self) -> str:
        """The file, and the line if it is known."""
        return self._name if self.line is None else f"{self._name}, line {self.line}"


class FileCycleError(FormatError):
    """A file whose relations form cycles; `cycles` is the same as in `CycleError`.

    `lines` has the known lines of each cycle, starting with the line of its first id.
    """

    def __init__(self, path: Path | str, cycles: list[list[str]], lines: list[list[int]]) -> None:
        self.cycles = cycles
        self.lines = lines
        first_line = lines[0][0] if lines[0] else None
        fix = cycle_fix(lines[0])
        if cycles[1:]:
            fix += f"; `taxoexpan check` lists all {len(cycles)} cycles"
        super().__init__(path, describe_cycle(cycles[0]), fix=fix, line=first_line)


class ChangedFileError(FormatError):
    """A file that another program has changed since it was read, so it was not replaced."""


class ConfigurationError(TaxoExpanError):
    """An option that is unknown or out of range."""


class MissingPackageError(ConfigurationError):
    """A setting that needs a package which is not installed; the fix is to install it."""


class ModelError(TaxoExpanError):
    """A model that cannot be trained, saved, loaded or used."""


class DamagedModelError(ModelError):
    """A model whose damage is noticed only when the model is used."""


def describe_cycle(cycle: list[str]) -> str:
    """Return the ids of a cycle as a message."""
    return f"a cycle: {_spell_cycle(cycle)}"


def cycle_fix(lines: Sequence[int] = ()) -> str:
    """Return what to do about a cycle, with its first lines."""
    places = ", ".join(map(str, lines[:MAX_LINES])) + (", …" if len(lines) > MAX_LINES else "")
    entries = "entry on line" if len(lines) == 1 else "entries on lines"
    where = f" (see the {entries} {places})" if lines else ""
    return f"remove one of these relations{where}"


def started_at(cycle: list[str], id: str) -> list[str]:
    """Return the same cycle, starting at this id."""
    start = cycle.index(id)
    return cycle[start:] + cycle[:start]


def _spell_cycle(cycle: list[str], max_ids: int = 12) -> str:
    """Format a cycle as `a → b → a`; the middle of a very long cycle is left out."""
    closed = [visible(shortened(id, MAX_ID)) for id in (*cycle, cycle[0])]
    if len(closed) > max_ids:
        closed = [*closed[: max_ids - 2], f"… ({len(cycle) - max_ids + 2} more)", closed[-1]]
    return " → ".join(closed)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that a device or the machine is out of memory."""
    messages = ("not enough memory", "can't allocate memory", "out of memory")
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(message in str(error) for message in messages)
    )
