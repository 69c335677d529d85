"""Short phrases that are cut out of sentences, for texts as short as the labels of concepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

MAX_WORDS = 4
MIN_COUNT = 2
"""The number of times that a phrase occurs, at least."""
PUNCTUATION = re.compile(r"[^\w\s'-]+|_|(?:^|\s)['-]+|['-]+(?:$|\s)")
FUNCTION_WORDS = """
a able about above according achieve achieved achieves across after again against aim aims all
allow allowed allowing allows almost along already also although always am among an and another
any anything applied apply approx are aren't around as at away b back based be became because
become becomes been before began behind being below between beyond both bring but by c call
called came can can't cannot cause caused causing come comes coming compare compared consist
consisting consists contain contained containing contains could d demonstrate demonstrates
describe described describes develop developed did do does doesn't doing don't done down due
during e each easily easy eg either else enable enables enabling esp especially etc evaluate
evaluated evaluates even ever every everything except explore explored explores f few find finds
first focus focuses follow followed following follows for form formed formerly found from
further g gave get gets give given gives giving go goes going good got great h had has hasn't
have having he hence her here him himself his how however i ie if improve improved improves
improving in include included includes including into introduce introduced introduces
investigate investigated investigates is isn't it it's its itself j just k keep kept know known
l large last later lead leading leads least led less let like likely little ll m made main
mainly make makes making many may me mean means might more moreover most mostly much must my n
namely near need needed needs neither never new no none nor not nothing now o obtain obtained of
off often old on once one ones only onto or other others otherwise our ourselves out outperform
outperforms over own p particular per perform performed performs place placed possible present
presented presents propose proposed proposes provide provided provides providing put q quite r
rather re really recent recently regard related remain remains require required requires result
resulting results s said same say says second see seem seems seen several shall she should show
showed showing shown shows similar since small so some something sometimes still study such t
take taken takes taking than that that's the their them themselves then there thereby therefore
these they thing things third this those though three through throughout thus till to together
too took toward towards two u under unless until up upon us use used useful user uses using
usually v various ve very via w want was wasn't way ways we well went were what whatever when
whence where whereas whereby wherein which while who whole whom whose why will with within
without won't word words work would x y yet you your z
"""
"""Words that no phrase contains: function words, and verbs that are frequent in definitions."""
STOP_WORDS = frozenset(FUNCTION_WORDS.split())


def noun_phrases(text: str) -> Iterator[str]:
    """Yield the runs of 1 to 4 words between stop words, numbers and punctuation, in lower case."""
    for part in PUNCTUATION.split(text.lower()):
        run: list[str] = []
        for word in [*part.split(), ""]:
            if word in STOP_WORDS or not word or not word[0].isalpha():
                if 1 <= len(run) <= MAX_WORDS and not run[-1].endswith("ly"):
                    yield " ".join(run)
                run = []
            else:
                run.append(word)


def frequent_phrases(texts: Iterable[str]) -> list[str]:
    """Return the noun phrases that occur in the texts at least twice, the most frequent first."""
    counts = Counter(phrase for text in texts for phrase in noun_phrases(text))
    return [phrase for phrase, count in counts.most_common() if count >= MIN_COUNT]
