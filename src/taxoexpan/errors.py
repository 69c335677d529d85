"""The errors a user can meet; each message says where the trouble is and how to mend it."""

from __future__ import annotations

from pathlib import Path


class TaxoExpanError(Exception):
    """Anything that went wrong in a way the user can mend."""


class TaxonomyError(TaxoExpanError):
    """Concepts and relations that do not make a taxonomy."""


class CycleError(TaxonomyError):
    """Relations that run in circles; each cycle holds ids, each the parent of the next."""

    def __init__(self, cycles: list[list[str]]) -> None:
        self.cycles = cycles
        super().__init__(
            f"a cycle: {spell_cycle(cycles[0])}; "
            "a taxonomy has none, so remove one of these relations"
        )


class FormatError(TaxoExpanError):
    """A file that cannot be read or written as it is."""

    def __init__(self, path: Path | str, message: str, line: int | None = None) -> None:
        self.path = Path(path)
        self.message = message
        self.line = line
        place = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{place}: {message}")


class FileCycleError(FormatError):
    """A file whose relations run in circles; `cycles` as in `CycleError`."""

    def __init__(
        self, path: Path | str, message: str, line: int | None, cycles: list[list[str]]
    ) -> None:
        self.cycles = cycles
        super().__init__(path, message, line)


class ConfigurationError(TaxoExpanError):
    """An option that is unknown or out of its range."""


class ModelError(TaxoExpanError):
    """A model that cannot be trained, saved, loaded or used."""


def spell_cycle(cycle: list[str], most: int = 12) -> str:
    """Write a cycle as `a → b → a`, shortened in the middle where it is very long."""
    closed = [*cycle, cycle[0]]
    if len(closed) > most:
        closed = [*closed[: most - 2], f"… ({len(cycle) - most + 2} more)", closed[-1]]
    return " → ".join(closed)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that a device, or the machine, has no memory left."""
    told = ("not enough memory", "can't allocate memory", "out of memory")
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in told)
    )
