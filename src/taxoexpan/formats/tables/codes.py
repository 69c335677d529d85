"""Hierarchical codes, such as `01`, `0101` and `010121`, which state the parents of concepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import TaxonomyBuilder
from taxoexpan.taxonomy import Additions, Taxonomy

MIN_RELATIONS = 5
"""With fewer relations, the codes may be similar by coincidence."""
MAX_ISOLATED = 0.05
"""The fraction of the codes that may have neither a parent nor children."""
MAX_SKIPPED = 0.5
"""The fraction of the relations that may skip a length of codes, if all codes are digits."""
MIN_CHECKED = 0.9
"""The fraction of the codes that must end in a check digit, so that it is not part of the code."""
MIN_DENSITY = 0.6
"""If a larger fraction of the numbers up to the highest is used, the numbers are counted."""
MIN_ABOVE = 0.8
MAX_ZEROS = 0.01
"""In codes filled with zeros, how many codes must have a code above them, and may skip a level."""
MAX_LENGTH = 20
MAX_STEP = 3
"""How many letters or digits most codes have after their parents, without a sign between."""

_CHECK_DIGIT = re.compile(r"(\d{4,})-\d")
_SEPARATORS = re.compile(r"[\W_]+")
_LAST_NUMBER = re.compile(r"(.*?)(\d{1,18})[\W_]*", re.DOTALL)
_NUMBER = re.compile(r"\d+")
_DIGITS = re.compile(r"[A-Za-z_]*\d+")
_RANGE = re.compile(r"(\d+)-(\d+)")


def code_parents(codes: Sequence[str], is_chosen: bool = False) -> dict[str, str]:
    """Return the parent of each code that has one; {} if the codes do not look hierarchical.

    With `is_chosen`, the user has said that they are.
    """
    bare = _bare_codes(codes)
    # Numbers in names, or after a prefix, are counted.
    are_names = any(len(code) > MAX_LENGTH or not set(":#_").isdisjoint(code) for code in codes)
    is_distinct = all(bare) and len(set(bare)) == len(bare)
    if not bare or not is_distinct or (are_names and not is_chosen):
        return {}
    padded = _padded_parents([c for c in bare if len(c) > 1 or c.isdigit()], is_chosen)
    above = padded or _prefix_parents(bare)
    above |= _section_parents(bare, above)
    isolated = set(bare) - set(above) - set(above.values())
    is_sound = len(above) >= MIN_RELATIONS and len(isolated) <= MAX_ISOLATED * len(bare)
    is_sound = is_sound and not any(len(code) == 1 for code in isolated)
    if not is_chosen and not (is_sound and (padded or _has_levels(above))):
        return {}
    full = dict(zip(bare, codes, strict=True))
    return {full[child]: full[parent] for child, parent in above.items()}


def relate_codes(
    builder: TaxonomyBuilder, above: Mapping[str, str], place: str, line: int = 1
) -> None:
    """Add the relations of the codes, and a note that says so, with the place of the codes."""
    for id, own_line in zip(builder.ids, builder.lines, strict=True):
        if id in above:
            builder.relate(above[id], id, own_line)
    count = len(builder.ids)
    child = next(iter(above))
    message = f"the parents come from the codes {place}: {child} is below {above[child]}"
    tops = f"{count - len(above):,} of {count:,} concepts have no parent"
    builder.note(line, f"{message}; {tops}")


def refuse_other_codes(path: Path, expanded: Taxonomy, additions: Additions) -> None:
    """Refuse new concepts whose codes would not be read as below their parents."""
    above = code_parents(expanded.ids, is_chosen=True) if additions.concepts else {}
    for concept in additions.concepts:
        parents = list(expanded.parents(concept.id))
        if parents != [above[id] for id in (concept.id,) if id in above]:
            over = ", ".join(map(repr, parents)) or "no other concept"
            message = f"the parents come from codes, and {concept.id!r} is not a code below {over}"
            fix = f"give {concept.label!r} another id or one other parent"
            raise FormatError(path, message, fix=f"{fix}, or write the parents into the file")


def _bare_codes(codes: Sequence[str]) -> list[str]:
    """Return the codes without a check digit, if nearly all codes have one, and final signs."""
    checked = [_CHECK_DIGIT.fullmatch(code) for code in codes]
    lengths = {len(match[1]) for match in checked if match}
    if len(lengths) == 1 and sum(map(bool, checked)) >= MIN_CHECKED * len(codes):
        return [match[1] if match else code for code, match in zip(codes, checked, strict=True)]
    return [code.rstrip(".-/ ") for code in codes]


def _padded_parents(codes: Sequence[str], is_chosen: bool) -> dict[str, str]:
    """Return the parents of codes with one length, which are filled with zeros at the end."""
    plain = [_SEPARATORS.sub("", code) for code in codes]
    length = len(plain[0]) if plain else 0
    known = dict(zip(plain, codes, strict=True))
    if {*map(len, plain)} != {length} or not 2 <= length <= MAX_LENGTH or len(known) < len(plain):
        return {}
    if not is_chosen and _counted_levels(plain, padded=True):
        return {}
    cuts = _cuts(plain, length)
    above = {}
    for code in plain:
        for cut in reversed(cuts):
            parent = code[:cut].ljust(length, "0")
            if code[cut:].strip("0") and parent.strip("0") and parent in known:
                above[known[code]] = known[parent]
                break
    return above


def _cuts(codes: Sequence[str], length: int) -> list[int]:
    """Return the positions at which levels end; most codes have no zeros before such a position.

    Nearly all longer codes have a code above them, and zeros between two positions are followed
    only by zeros.
    """
    known = set(codes)
    most = MAX_ZEROS * len(codes)
    filled = Counter(len(code.rstrip("0")) for code in codes)
    chains: dict[int, tuple[int, int, list[int]]] = {length: (0, 0, [])}
    for cut in range(length - 1, 0, -1):
        longer = [code for code in codes if code[cut:].strip("0")]
        found = sum(code[:cut].ljust(length, "0") in known for code in longer)
        following = [
            (fitting + filled[cut], count + 1, [cut, *chain])
            for end, (fitting, count, chain) in chains.items()
            if sum(not c[cut:end].strip("0") and c[end:].strip("0") != "" for c in codes) <= most
        ]
        if longer and found >= MIN_ABOVE * len(longer) and following:
            chains[cut] = max(following)
    return max(chains.values())[2]


def _prefix_parents(codes: Sequence[str]) -> dict[str, str]:
    """Return the longest code with which each code begins; counted numbers are not split."""
    counted = _counted_levels(codes)
    known = {code: code for code in codes} | _ranges(codes)
    above = {}
    for code in codes:
        for end in range(len(code) - 1, 0, -1):
            splits_number = code[end - 1].isdigit() and code[end].isdigit()
            if splits_number and len(_NUMBER.findall(code[:end])) in counted:
                continue
            if known.get(code[:end], code) != code:
                above[code] = known[code[:end]]
                break
    return above


def _ranges(codes: Sequence[str]) -> dict[str, str]:
    """Return the code of a range, such as 31-33, for each number in it that is not a code."""
    found = dict[str, str]()
    for match in filter(None, map(_RANGE.fullmatch, codes)):
        if len(match[1]) == len(match[2]) <= MAX_STEP:
            numbers = range(int(match[1]), int(match[2]) + 1)
            found |= {f"{number:0{len(match[1])}d}": match[0] for number in numbers}
    return {number: code for number, code in found.items() if number not in codes}


def _counted_levels(codes: Sequence[str], padded: bool = False) -> set[int]:
    """Return the levels, by the number of numbers in a code, whose last numbers are counted.

    A hyphen starts a new number even if many numbers are not used: IAB1-10 is not below IAB1-1.
    """
    stems: dict[int, dict[str, list[str]]] = {}
    for match in filter(None, map(_LAST_NUMBER.fullmatch, codes)):
        level = len(_NUMBER.findall(match[0]))
        stems.setdefault(level, {}).setdefault(match[1], []).append(match[2])
    counted = set()
    for level, groups in stems.items():
        every = [number for numbers in groups.values() for number in numbers]
        values = [[*map(int, numbers)] for numbers in groups.values()]
        span = sum(max(numbers) - (min(numbers) if padded else 1) + 1 for numbers in values)
        zeros = any(number.startswith("0") and len(number) > 1 for number in every)
        hyphens = not padded and all(stem.endswith("-") for stem in groups)
        if (padded or not zeros) and (hyphens or len(every) >= MIN_DENSITY * span):
            counted.add(level)
    return counted


def _section_parents(codes: Sequence[str], above: Mapping[str, str]) -> dict[str, str]:
    """Return the section, a single letter in a row above, of numbers without a parent.

    Classifications of industries list the section `A` before its divisions `01`, `02` and so on.
    """
    section = ""
    found = dict[str, str]()
    if not (codes[0].isalpha() and len(codes[0]) == 1):
        return found
    for code in codes:
        if len(code) == 1 and code.isalpha():
            section = code
        elif code[0].isdigit() and code not in above:
            found[code] = section
    return found


def _has_levels(above: Mapping[str, str]) -> bool:
    """Return whether most codes are a little longer than their parents, and skip no length.

    If a spreadsheet has removed zeros at the start, many codes of digits skip a length.
    """
    digits = {c: p for c, p in above.items() if _DIGITS.fullmatch(c) and _DIGITS.fullmatch(p)}
    lengths = sorted({len(code) for pair in digits.items() for code in pair})
    skipped = sum(lengths.index(len(c)) - lengths.index(len(p)) > 1 for c, p in digits.items())
    rests = [_SEPARATORS.split(c.removeprefix(p)) for c, p in above.items()]
    short = sum(max(map(len, rest)) <= MAX_STEP for rest in rests)
    return skipped <= MAX_SKIPPED * len(digits) and short >= MIN_ABOVE * len(rests)
