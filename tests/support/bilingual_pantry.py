"""A SKOS file of foods with English and German labels."""

from __future__ import annotations

KINDS = {"milk": "milch", "bread": "brot", "soup": "suppe", "tea": "tee", "cheese": "käse"}
SORTS = {
    **{"oat": "Hafer", "goat": "Ziegen", "rye": "Roggen", "lentil": "Linsen", "almond": "Mandel"},
    **{"mint": "Minz", "potato": "Kartoffel", "wheat": "Weizen", "onion": "Zwiebel"},
    **{"hazelnut": "Haselnuss", "chickpea": "Kichererbsen", "sheep": "Schafs", "corn": "Mais"},
}
GERMAN = ["Reismilch", "Dinkelbrot", "Kamillentee", "Gemüsesuppe", "Büffelkäse", "Sojamilch"]
ENGLISH = ["rice milk", "spelt bread", "camomile tea", "vegetable soup", "buffalo cheese"]


def bilingual_pantry() -> str:
    """Return the file; every concept has a label in both languages."""
    lines = [
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .",
        "@prefix : <http://f.org/> .",
    ]

    def add(id: str, english: str, german: str, parent: str = "") -> None:
        broader = f" ; skos:broader :{parent}" if parent else ""
        labels = f'"{english}"@en, "{german}"@de'
        lines.append(f":{id} a skos:Concept ; skos:prefLabel {labels}{broader} .")

    add("food", "food", "Lebensmittel")
    for kind, own in KINDS.items():
        add(kind, kind, own.capitalize(), "food")
        for sort, other in SORTS.items():
            add(f"{sort}-{kind}", f"{sort} {kind}", other + own, kind)
    return "\n".join(lines) + "\n"
