"""A corpus: its documents read one by one, their words, and the names that they mention."""

from __future__ import annotations

import csv
import gzip
import json
import multiprocessing
import os
import re
import signal
import sys
import unicodedata
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from taxoexpan.errors import FormatError, TaxoExpanError

SUFFIXES = (".txt", ".tsv", ".csv", ".jsonl")
"""What a corpus may be; each may also be compressed, and end in .gz."""

FIELDS = ("text", "title", "abstract", "body")
"""The fields of a JSON record that are its text; where it has none of them, all its strings are."""

LONGEST_LINE = 1 << 26
"""Bytes in a line; a file without line ends must not be read whole."""

LONGEST_COMPOUND = 4
"""Words of a name that a text may have joined by hyphens: part-of-speech tagging."""

BLOCK = 1 << 17
"""Characters, or the document that goes beyond them, that a worker is given at a time."""

AHEAD = 8
"""Blocks a worker that may be given out before the first of them is done."""

# Vowel signs and accents, which Python does not count among the letters of a word.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u20d0-\u20f0"
)
_TOKEN = re.compile(rf"[\w{_MARKS}]+(?:['-][\w{_MARKS}]+)*")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_SIGNS = (("\u2019", "'"), ("\u2010", "-"), ("\u00ad", ""), ("_", " "))
_GAPS = re.compile("[-']")
_SENTENCE_END = re.compile(
    # One set of signs first, and only then what they are: so the text between is skipped quickly.
    r"[.!?。！？\n](?:(?<=[.!?])"
    # The small words that end in a full stop and end no sentence, and initials.
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)(?<!\bal\.)(?<!\bFig\.)(?<!\b[A-Z]\.)"
    r"[\"')\]”’]*(\s++)|(?<=[。！？])()|(?<=\n)\s*\n)"
)

_ENDINGS = f"{', '.join(SUFFIXES)}, or one of these and .gz"
_ID = re.compile(r"\s*\S*\d\S*\s*")
_LETTER = re.compile(r"[^\W\d_]")

T = TypeVar("T")


def texts_of(path: Path) -> Iterator[str]:
    """The documents of a file, or of all corpus files in a directory by their names.

    A line of `.txt` is a document. So is a row of `.tsv`, where quotes mean nothing, and of `.csv`:
    its columns that hold a letter, joined by ". ", without the first where that looks like an id
    (no space, and a digit). So is a line of `.jsonl`, see `FIELDS`. There is no header: one that is
    there makes one document more.
    """
    texts = chain.from_iterable(map(_texts_of_file, files_of(path)))
    stripped = (text for text in map(str.strip, texts) if text)
    first = next(stripped, None)
    if first is None:
        raise FormatError(path, "the corpus is empty; it needs at least one document")
    yield first
    yield from stripped


def tokens_of(text: str) -> list[str]:
    """The words in lower case: letters and digits, with the hyphens and apostrophes inside."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    text = unicodedata.normalize("NFKC", text)
    for sign, plain in _SIGNS:
        text = text.replace(sign, plain)
    return _TOKEN.findall(text.lower())


def sentences_of(text: str) -> list[str]:
    """The sentences: a full stop ends one where a space and no small letter come after it."""
    sentences, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if not text[match.end() : match.end() + 1].islower():
            sentences.append(text[start : match.start(match.lastindex or 0)])
            start = match.end()
    return [stripped for sentence in [*sentences, text[start:]] if (stripped := sentence.strip())]


class _Node(dict[str, "_Node"]):
    """Where the next words of names lead to, and the name that ends here."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name: str | None = None


class Phrases:
    """Finds names among tokens, from the left the longest first, none inside another.

    A hyphen or an apostrophe is as good as a space, and the last word may have an s more: the name
    "support vector machine" is found in "support-vector machines".
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._root = _Node()
        spelled = {words: None for name in names if (words := tuple(words_of(name)))}
        for words in spelled:
            self._add(words, "_".join(words))
        for words in spelled:
            # After all names, since what is a name itself is nobody's plural.
            self._add((*words[:-1], f"{words[-1]}s"), "_".join(words))

    def join(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, those of every found name as one, joined by `_`."""
        joined: list[str] = []
        done = 0
        for start, end, name in self._found(tokens):
            joined += tokens[done:start]
            joined.append(name)
            done = end
        joined += tokens[done:]
        return joined

    def count(self, tokens: Sequence[str]) -> Counter[str]:
        """How often each name is found, by the token that `join` makes of it."""
        return Counter([name for _, _, name in self._found(tokens)])

    def _add(self, words: Sequence[str], name: str) -> None:
        path = [self._root]
        for word in words:
            if word not in path[-1]:
                path[-1][word] = _Node()
            path.append(path[-1][word])
        path[-1].name = path[-1].name or name
        for size in range(2, min(len(words), LONGEST_COMPOUND) + 1):
            for start in range(len(words) - size + 1):
                compound, end = words[start : start + size], path[start + size]
                path[start]["-".join(compound)] = end
                # Two apostrophes in a word have a letter between them or behind: l'Hôpital's.
                if size == 2 or min(map(len, compound)) == 1:
                    path[start]["'".join(compound)] = end

    def _found(self, tokens: Sequence[str]) -> list[tuple[int, int, str]]:
        """Start, end and name of all that is found."""
        found, done = [], 0
        # No name goes beyond this end, which saves asking for it at every word.
        bounded = [*tokens, ""]
        for start, first in enumerate(map(self._root.get, tokens)):
            if first is None or start < done:
                continue
            end = place = start + 1
            name, node = first.name, first
            while (following := node.get(bounded[place])) is not None:
                node = following
                place += 1
                if node.name is not None:
                    name, end = node.name, place
            if name is not None:
                found.append((start, end, name))
                done = end
        return found


def words_of(name: str) -> list[str]:
    """The words of a name as `Phrases` compares them, without hyphens and apostrophes."""
    return [word for token in tokens_of(name) for word in _GAPS.split(token)]


def token_of(name: str) -> str:
    """The one token that `Phrases.join` makes of a name."""
    return "_".join(words_of(name))


def mentions(path: Path, names: Iterable[str], workers: int | None = None) -> dict[str, int]:
    """How often each name is mentioned in a corpus; those that `Phrases` takes for one share."""
    names = list(dict.fromkeys(names))
    phrases = Phrases(names)

    def count(texts: list[str]) -> Counter[str]:
        tokens: list[str] = []
        for text in texts:
            tokens += tokens_of(text)
            # Nothing is found across the empty token; one long list is counted faster than many.
            tokens.append("")
        return phrases.count(tokens)

    total: Counter[str] = Counter()
    for found in in_blocks(count, texts_of(path), workers):
        total.update(found)
    return {name: total[token_of(name)] for name in names}


def in_blocks(
    work: Callable[[list[str]], T], texts: Iterable[str], workers: int | None = None
) -> Iterator[T]:
    """The work done on blocks of texts, in their order; in other processes where there are cores.

    Only a few blocks are held at a time. `workers` is the number of cores unless it is given.
    """
    blocks = _blocks(texts)
    first = list(islice(blocks, 2))
    workers = workers or _cores()
    if workers == 1 or len(first) < 2 or not _can_fork():
        return map(work, chain(first, blocks))
    return _forked(work, chain(first, blocks), workers)


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block, size = [], 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _can_fork() -> bool:
    """Other ways to start a process import `__main__` anew; on macOS forking is not safe."""
    return "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def _cores() -> int:
    """The cores that this process may use, where that can be known."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _forked(
    work: Callable[[list[str]], T], blocks: Iterable[list[str]], workers: int
) -> Iterator[T]:
    """Hand each block to a worker that has nothing to do, and give the results in their order."""
    started: list[tuple[BaseProcess, Connection]] = []
    numbered = enumerate(blocks)
    idle: set[Connection] = set()
    busy: dict[Connection, int] = {}
    done: dict[int, T] = {}
    turn = 0
    try:
        for _ in range(workers):
            started.append(_start(work, [pipe for _, pipe in started]))
            idle.add(started[-1][1])
        while True:
            # Where one worker is slow, the others do not run ahead of it without end.
            room = AHEAD * workers - len(done) - len(busy)
            for number, block in islice(numbered, min(len(idle), room)):
                pipe = idle.pop()
                pipe.send(block)
                busy[pipe] = number
            if not busy:
                break
            for pipe in [pipe for pipe in wait(list(busy)) if isinstance(pipe, Connection)]:
                done[busy.pop(pipe)] = pipe.recv()
                idle.add(pipe)
            while turn in done:
                yield done.pop(turn)
                turn += 1
    except (EOFError, OSError):
        message = "a process that reads the corpus has ended"
        raise TaxoExpanError(f"{message}; there may be too little memory, try one worker") from None
    finally:
        for process, pipe in started:
            process.terminate()
            process.join()
            pipe.close()


def _start(
    work: Callable[[list[str]], T], others: Sequence[Connection]
) -> tuple[BaseProcess, Connection]:
    """A process that does the work on what comes through its pipe; it inherits what that needs."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(work, there, [here, *others]), daemon=True)
    with warnings.catch_warnings(), _uninterrupted():
        # Threads, such as torch's, are not forked along; the work needs none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    there.close()
    return process, here


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let signals wait, so that a new process meets none before it is ready for them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(
    work: Callable[[list[str]], Any], pipe: Connection, parents: Sequence[Connection]
) -> None:
    """Answer blocks until the parent ends; an interrupt is its business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
    for end in parents:
        end.close()  # as long as anybody has the parent's end, nobody sees that the parent is gone
    with suppress(EOFError, ConnectionError):
        while True:
            pipe.send(work(pipe.recv()))


def files_of(path: Path) -> list[Path]:
    """The path itself, or the corpus files that lie in it."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if _kind(file) in SUFFIXES and file.is_file())
    if not files:
        raise FormatError(path, f"no corpus here; it needs files in {_ENDINGS}")
    return files


def _kind(path: Path) -> str:
    """How the name ends, whether compressed or not."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _texts_of_file(path: Path) -> Iterator[str]:
    readers = {".txt": _plain, ".tsv": _tab_separated, ".csv": _comma_separated, ".jsonl": _records}
    if _kind(path) not in readers:
        raise FormatError(path, f"cannot be read as a corpus; it must end in {_ENDINGS}")
    return readers[_kind(path)](path)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, each with its end."""
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE:
                    message = f"a line of more than {LONGEST_LINE >> 20} MB"
                    raise FormatError(path, f"{message}; put every document on its own", number)
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        message = f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
        raise FormatError(path, message, number) from None
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"is damaged or not gzip ({error}); get it again"
        raise FormatError(path, message, number or None) from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from None


def _opened(path: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def _plain(path: Path) -> Iterator[str]:
    return _lines(path)


def _tab_separated(path: Path) -> Iterator[str]:
    return (_text_of_row(line.split("\t")) for line in _lines(path))


def _comma_separated(path: Path) -> Iterator[str]:
    rows = csv.reader(_lines(path), strict=True)
    try:
        yield from map(_text_of_row, rows)
    except csv.Error as error:
        message = f"{error}; check the quotes, and write long documents as .jsonl"
        raise FormatError(path, message, rows.line_num) from None


def _text_of_row(cells: Sequence[str]) -> str:
    """The columns that hold words; the first is none where it looks like an id."""
    if len(cells) > 1 and _ID.fullmatch(cells[0]):
        cells = cells[1:]
    return ". ".join(cell.strip() for cell in cells if _LETTER.search(cell))


def _records(path: Path) -> Iterator[str]:
    for number, line in enumerate(_lines(path), 1):
        if not line.isspace():
            yield _text_of_record(path, line, number)


def _text_of_record(path: Path, line: str, number: int) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, f"not JSON ({error}); write one record a line", number) from None
    if not isinstance(record, dict):
        raise FormatError(path, "not a JSON object; write one a line", number)
    strings = {key: value for key, value in record.items() if isinstance(value, str)}
    known = [strings[key] for key in strings if key in FIELDS]
    return ". ".join(value.strip() for value in known or strings.values() if value.strip())
