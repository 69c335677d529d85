"""The declaration of options as dataclass fields, for the command line and for Python."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError
from taxoexpan.phrasing import MAX_QUOTED, shortened

_MAX = 2**63 - 1


@dataclass(frozen=True)
class OptionKind:
    """The allowed values of an option: a description, a parser for strings, and a check."""

    words: str
    read: Callable[[str], object]
    accepts: Callable[[Any], bool]
    metavar: str | None = None

    def parse(self, text: str) -> object:
        """Parse a string of the command line, or raise a ValueError."""
        try:
            value = self.read(text)
        except ValueError:
            value = None
        if value is None or not self.accepts(value):
            raise ValueError(f"{text!r} is not {self.words}")
        return value

    def check(self, name: str, value: object) -> None:
        """Refuse an invalid Python value."""
        if not self.accepts(value):
            raise ConfigurationError(f"{name} is {value!r}", fix=f"it must be {self.words}")


def _whole(words: str, low: int) -> OptionKind:
    """Return the kind of whole numbers of at least `low`."""

    def accepts(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        return low <= int(value) <= _MAX

    return OptionKind(words, _digits, accepts, "N")


def _digits(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


TEXT = OptionKind("a string", str, lambda value: isinstance(value, str))
PATH = OptionKind("the path of a file", Path, lambda value: isinstance(value, str | os.PathLike))
SWITCH = OptionKind("True or False", bool, lambda value: isinstance(value, bool))
NATURAL = _whole("a whole number of zero or more", 0)
POSITIVE = _whole("a whole number above zero", 1)
SEED = _whole("a whole number from 0 to 2^63 - 1", 0)
FRACTION = OptionKind(
    "a number from 0 to 1",
    float,
    lambda value: (
        not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) <= 1
    ),
    "FRACTION",
)
RANGE = OptionKind(
    "two whole numbers, such as 5000-5999",
    lambda text: tuple(_digits(part.strip()) for part in text.split("-", 1)),
    lambda value: isinstance(value, tuple) and [*map(NATURAL.accepts, value)] == [True, True],
)


def check_type(name: str, value: object, kind: type, fix: str) -> None:
    """Refuse an argument of a public function that is not of this type."""
    if not isinstance(value, kind):
        given = shortened(" ".join(repr(value).split()), MAX_QUOTED)
        problem = f"{name} is {given}, not a {kind.__name__}"
        raise ConfigurationError(problem, fix=fix, option=name)


@dataclass(frozen=True)
class Option:
    """The declaration of an option without its name and default; a switch has no `kind`."""

    help: str
    kind: OptionKind | None = TEXT
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    is_positional: bool = False
    is_repeated: bool = False

    def checked(self, name: str, value: Any) -> Any:
        """Return a valid Python value, with paths converted, or refuse it."""
        if self.is_repeated:
            return tuple(replace(self, is_repeated=False).checked(name, each) for each in value)
        (self.kind or SWITCH).check(name, value)
        if self.choices and value not in self.choices:
            raise ConfigurationError(
                f"{name} is {value!r}", fix=f"choose from {', '.join(self.choices)}"
            )
        return Path(value) if self.kind is PATH else value


def _declare(default: Any, *declared: Any) -> Any:
    return field(default=default, metadata={"option": Option(*declared)})


def argument(
    metavar: str | None,
    help: str,
    kind: OptionKind = PATH,
    *,
    default: Any = MISSING,
    choices: Sequence[str] = (),
    several: bool = False,
) -> Any:
    """Declare a positional argument, required unless it has a default."""
    return _declare(default, help, kind, metavar, (), tuple(choices), True, several)


def option(
    help: str,
    default: Any = None,
    kind: OptionKind = TEXT,
    *,
    metavar: str | None = None,
    flags: tuple[str, ...] = (),
    choices: Sequence[str] = (),
) -> Any:
    """Declare an option with a value, required if the default is `MISSING`."""
    return _declare(default, help, kind, metavar, flags, tuple(choices))


def output_option(help: str, default: Any = None) -> Any:
    """Declare the option for the output file."""
    return option(help, default, PATH, metavar="OUT", flags=("-o", "--output"))


def switch(help: str, *, flags: tuple[str, ...] = ()) -> Any:
    """Declare an option that is off unless it is given."""
    return _declare(False, help, None, None, flags)


def json_option(help: str) -> Any:
    """Declare the option for a result in JSON, on standard output unless an output is given."""
    return switch(f"{help} as JSON")


def repeated(
    help: str, kind: OptionKind = TEXT, *, metavar: str | None = None, flags: tuple[str, ...] = ()
) -> Any:
    """Declare an option that can be given several times."""
    return _declare((), help, kind, metavar, flags, (), False, True)


@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """The options of a command or a function; invalid values are refused."""

    def __post_init__(self) -> None:
        for name, (declared, default) in declared_options(type(self)).items():
            value = getattr(self, name)
            if value != default:
                object.__setattr__(self, name, declared.checked(name, value))


def declared_options(cls: type[OptionGroup]) -> dict[str, tuple[Option, Any]]:
    """Return the options of a class and their defaults, with inherited options last."""
    known = {each.name: each for each in fields(cls)}
    names = dict.fromkeys(name for base in cls.__mro__ for name in inspect.get_annotations(base))
    return {name: (known[name].metadata["option"], known[name].default) for name in names}
