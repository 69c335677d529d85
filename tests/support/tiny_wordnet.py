"""A WordNet of seven synsets, and a SemEval task for it; the first sense of plant is a factory."""

from __future__ import annotations

from pathlib import Path

from reproduction.semeval.task import FILES

DATA = {
    "noun": [
        ("00000001", "n", ["entity"], [], "what is"),
        ("00000002", "n", ["tree", "plant"], ["00000001"], "a woody plant"),
        ("00000003", "n", ["cherry"], ["00000002"], "a tree"),
        ("00000004", "n", ["plant"], ["00000001"], "a factory"),
    ],
    "verb": [
        ("00000005", "v", ["go"], [], "move"),
        ("00000006", "v", ["run"], ["00000005"], "go fast"),
        ("00000007", "v", ["be"], [], "exist"),
    ],
}
SENSES = {
    "noun": {"entity": "1", "tree": "2", "plant": "42", "cherry": "3"},
    "verb": {"go": "5", "run": "6", "be": "7"},
}
CONCEPTS = (
    "bush\tnoun\t{half}.1\ta low tree\thttp://\nsprint\tverb\t{half}.2\tto run\thttp://\n"
    "concuss\tnoun\t{half}.3\tto shake\thttp://\n"
)
GOLD = "{half}.1\tplant#n#2\tattach\n{half}.2\trun#v#1\tmerge\n{half}.3\tgo#v#1\tattach\n"


def write_wordnet(folder: Path) -> Path:
    """Write data and index files of nouns and verbs."""
    for part, pos in (("noun", "n"), ("verb", "v")):
        lines = []
        for offset, _, words, above, gloss in DATA[part]:
            spelled = " ".join(f"{word} 0" for word in words)
            up = "".join(f" @ {other} {pos} 0000" for other in above)
            frames = " 00" if pos == "v" else ""
            counts = f"{len(words):02x} {spelled} {len(above):03d}{up}{frames}"
            lines.append(f"{offset} 03 {pos} {counts} | {gloss}  \n")
        (folder / f"data.{part}").write_text("".join(lines), encoding="utf-8")
        index = [
            f"{lemma} {pos} {len(at)} 0 {len(at)} 0 {' '.join(f'0000000{n}' for n in at)}  \n"
            for lemma, at in SENSES[part].items()
        ]
        (folder / f"index.{part}").write_text("".join(index), encoding="utf-8")
    return folder


def write_task(folder: Path, gold: str = GOLD) -> Path:
    """Write three concepts per half; one of them is a verb that is labeled as a noun."""
    for half, names in FILES.items():
        data, key = (folder / name for name in names)
        for path, text in ((data, CONCEPTS), (key, gold)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(half=half), encoding="utf-8")
    return folder
