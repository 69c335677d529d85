"""Examples for the help of every command, and the order in which the commands are listed."""

from __future__ import annotations

WORKFLOW = (
    "taxoexpan check topics.ttl",
    "taxoexpan train topics.ttl -o model",
    "taxoexpan suggest model new.csv -o suggestions.csv --report report.html",
    "taxoexpan apply topics.ttl suggestions.csv -o topics-v2.ttl",
)

GROUPS = {
    "place new concepts": ("train", "suggest", "review", "apply", "expand", "update"),
    "maintain a taxonomy": ("check", "clean", "discover", "info", "diff", "convert"),
    "integrate with other programs": ("serve", "mcp", "export"),
    "demo, evaluation and setup": ("demo", "evaluate", "doctor", "completion"),
}
"""The commands, each a module, as `taxoexpan --help` lists them."""

EXAMPLES = {
    "apply": (
        "taxoexpan apply topics.ttl suggestions.csv -o topics-v2.ttl",
        "taxoexpan apply topics.ttl suggestions.csv -o topics-v2.ttl --min-confidence 0.8",
        "taxoexpan apply topics.ttl decisions.csv -o topics-v2.ttl --allow-moves --allow-merges",
    ),
    "check": (
        "taxoexpan check topics.ttl",
        "taxoexpan check topics.ttl --fail-on error --ignore hub,repeated-label",
        "taxoexpan check products.csv --columns id=SKU,label=Name,parent=3 --json",
    ),
    "clean": (
        "taxoexpan clean topics.ttl -o suspicious.csv",
        "taxoexpan clean topics.ttl -o suspicious.csv --preset fast --report clean.html",
    ),
    "completion": (
        "taxoexpan completion bash > ~/.local/share/bash-completion/completions/taxoexpan",
        "taxoexpan completion zsh > ~/.zfunc/_taxoexpan",
    ),
    "convert": (
        "taxoexpan convert topics.ttl topics.csv",
        "taxoexpan convert topics.csv topics.ttl --base https://example.org/topics/",
    ),
    "demo": ("taxoexpan demo", "taxoexpan demo --preset fast -o demo-fast"),
    "diff": (
        "taxoexpan diff topics.ttl topics-v2.ttl",
        "taxoexpan diff topics.ttl topics-v2.ttl --to markdown > changes.md",
    ),
    "discover": (
        "taxoexpan discover abstracts.txt --taxonomy topics.ttl -o new.csv",
        "taxoexpan discover corpus/ --taxonomy topics.ttl -o new.csv --min-count 20 --top 100",
    ),
    "doctor": ("taxoexpan doctor",),
    "evaluate": (
        "taxoexpan evaluate topics-2024.ttl topics-2025.ttl",
        "taxoexpan evaluate topics-2024.ttl topics-2025.ttl --methods "
        "closest-parent,taxoexpan-fast",
    ),
    "expand": (
        "taxoexpan expand topics.ttl new.csv -o topics-v2.ttl --suggestions suggestions.csv",
        "taxoexpan expand topics.ttl new.csv -o topics-v2.ttl --preset fast --report report.html",
        "taxoexpan expand topics.ttl new.csv -o topics-v2.ttl --accept-at-precision 0.9",
    ),
    "export": (
        "taxoexpan export decisions.db -o decisions.csv",
        "taxoexpan export decisions.db -o changes.kgcl --taxonomy topics.ttl",
        "taxoexpan export decisions.db --backup decisions-backup.db",
    ),
    "info": ("taxoexpan info topics.ttl", "taxoexpan info model --json"),
    "mcp": ("taxoexpan mcp /home/me/model",),
    "review": (
        "taxoexpan review model new.csv --taxonomy topics.ttl",
        "taxoexpan review model new.csv --decisions decisions.db --curator Ada --no-browser",
    ),
    "serve": (
        "taxoexpan serve model",
        "taxoexpan serve model --port 8080 --max-concepts 500",
        "TAXOEXPAN_TOKEN=$(openssl rand -hex 16) taxoexpan serve model --host 0.0.0.0",
    ),
    "suggest": (
        "taxoexpan suggest model new.csv --table",
        "taxoexpan suggest model new.csv -o suggestions.csv --report report.html",
        "taxoexpan suggest model new.csv -o suggestions.csv --top-k 10 --glossary glossary.tsv",
    ),
    "train": (
        "taxoexpan train topics.ttl -o model",
        "taxoexpan train products.csv -o model --preset fast --seed 1",
        "taxoexpan train topics.ttl -o model --resume --log epochs.jsonl",
        "taxoexpan train topics-v2.ttl -o model-v2 --from model",
    ),
    "update": ("taxoexpan update model topics-v2.ttl -o model-v2",),
}


def with_examples(command: str) -> str:
    """Return the examples of a command, which follow its help."""
    examples = EXAMPLES[command]
    return indented("example" if len(examples) == 1 else "examples", examples)


def indented(title: str, lines: tuple[str, ...]) -> str:
    """Return a title with indented lines below it, which the help does not wrap."""
    return "\n".join([f"{title}:", *(f"  {line}" for line in lines)])
