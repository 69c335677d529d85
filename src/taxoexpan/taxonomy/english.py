"""English word forms: singulars and stop words."""

from __future__ import annotations

MIN_PLURAL_LENGTH = 4


def singular(word: str) -> str:
    """Return a lower-case English word without its plural ending, maybe not a real word."""
    if len(word) < MIN_PLURAL_LENGTH:
        return word
    if word.endswith(("ies", "ie")):  # berries and berry, cookies and cookie
        return word[: word.rindex("ie")] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_WORDS = {
    "determiners": """
        this that these those our their its his her my your
        a an the each every some any no both all such another either neither several many few
        much more most less least other various same own
    """,
    "verbal": """
        we they i you he she it who which to not can could may might must shall should will
        would cannot do does did let also have has had having
        is are was were be been being am
    """,
    "prepositions": """
        of in on for with from by at as into onto through between among across over under within
        without via upon about against toward towards per during before after since until
        than like beyond despite versus vs besides along around behind below above
    """,
    "others": """
        using and or but
        nor if then so because while whereas although though however therefore thus hence
        moreover furthermore when where why how what whose whom there here yet still only even
        just very too rather quite well almost already again further e.g i.e etc et al cf based
        used use uses one two three four five six seven eight nine ten first second third last
        next new novel different existing previous recent current proposed given able due us
        them him me itself themselves ourselves himself herself better best good out up down off
        back away together once ever never now often sometimes always far instead whether unless
        except including include includes regarding according namely
    """,
}
_SETS = {name: frozenset(words.split()) for name, words in _WORDS.items()}

DETERMINERS = _SETS["determiners"]
"""Articles, possessives and other words that begin a noun phrase."""

VERBAL = _SETS["verbal"]
"""Pronouns, auxiliaries and other words that are usually followed by a verb."""

PREPOSITIONS = _SETS["prepositions"]
"""Words that are usually followed by a noun phrase."""

STOP_WORDS = frozenset[str]().union(*_SETS.values())
"""Words that separate phrases and never occur in one."""
