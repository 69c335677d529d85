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
    "pointing": """
        this that these those our their its his her my your
    """,
    "articles": """
        a an the each every some any no both all such another either neither several many few
        much more most less least other various same own
    """,
    "verbal": """
        we they i you he she it who which to not can could may might must shall should will
        would cannot do does did let also have has had having
    """,
    "being": """
        is are was were be been being am
    """,
    "others": """
        of in on for with from by at as into onto through between among across over under within
        without via using upon about against toward towards per during before after since until
        than like beyond despite versus vs besides along around behind below above and or but
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

POINTING = _SETS["pointing"]
"""Words before a phrase that refers to something in the same text: our method, these results."""

ARTICLES = _SETS["articles"]
"""Articles and other determiners."""

VERBAL = _SETS["verbal"]
"""Words that are usually followed by a verb."""

BEING = _SETS["being"]
"""Forms of "to be"."""

STOP_WORDS = frozenset[str]().union(*_SETS.values())
"""Words that separate phrases and never occur in one."""
