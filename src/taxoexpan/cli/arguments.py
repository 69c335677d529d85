"""Options that several commands share, and the files that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import note, warn
from taxoexpan.cli.taxonomy_messages import print_file_notes, print_language
from taxoexpan.cli.training_messages import print_training_advice
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import argument, option
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import DeviceOptions, ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.features.glossary.glossary import Glossary, GlossaryMatches
    from taxoexpan.formats.taxonomy_file import TaxonomyFile
    from taxoexpan.model import TaxoExpan
    from taxoexpan.taxonomy import Concept, Taxonomy


@dataclass(frozen=True, kw_only=True)
class ModelOptions(DeviceOptions):
    """A trained model, and the device that it runs on."""

    model: Path = argument("MODEL", "model directory, written by train")
    features: str | None = option(
        "location of the encoder's files, if they have moved since the training, for example "
        "vectors:NEW_PATH",
        metavar="ENCODER",
    )

    def load(self) -> TaxoExpan:
        """Load the model, and advise more training if its taxonomy has grown much."""
        from taxoexpan.model import TaxoExpan

        model = TaxoExpan.load(self.model, self.device, self.features)
        print_training_advice(model)
        return model


def require_extra(extra: str, *modules: str) -> None:
    """Refuse to start a command if libraries of an extra are not installed."""
    for name in modules:
        if find_spec(name) is None:
            message = f"this command needs {name}, which is not installed"
            raise ConfigurationError(message, fix=f"pip install 'taxoexpan[{extra}]'")


def refuse_json_beside(output: Path) -> None:
    """Refuse to print JSON on standard output if another output is already there."""
    if str(output) == "-":
        message = "standard output has no place for JSON besides the taxonomy"
        raise ConfigurationError(message, fix="write the taxonomy to a file", option="json")


def open_taxonomies(paths: Sequence[Path], options: ReadingOptions) -> list[TaxonomyFile]:
    """Open taxonomy files, and print each note of their readers once."""
    from taxoexpan.formats.taxonomy_file import TaxonomyFile, read_options

    reading = read_options(options)
    files = [TaxonomyFile.open(path, options.format, reading) for path in paths]
    # An option may be meant for one of several files.
    if set.intersection(*(set(file.unused_options) for file in files)):
        files[0].refuse_unused_options()
    print_file_notes(*files)
    return files


def open_taxonomy(path: Path, options: ReadingOptions) -> TaxonomyFile:
    """Open a taxonomy file and print the notes of its reader."""
    return open_taxonomies([path], options)[0]


def read_taxonomy(
    path: Path, options: ReadingOptions, glossary: Path | None = None, quiet: bool = False
) -> Taxonomy:
    """Read a taxonomy, print the notes of its reader, and look up definitions in a glossary."""
    file = open_taxonomy(path, options)
    print_language(file)
    taxonomy = file.taxonomy
    if not glossary:
        return taxonomy
    from taxoexpan.features.glossary.glossary import Glossary

    entries = Glossary.read(glossary, taxonomy.concepts, not quiet)
    defined = entries.define_taxonomy(taxonomy)
    print_glossary(glossary, entries, {"concepts": defined.matches})
    return defined.taxonomy


def defined_concepts(
    glossary: Path | None, concepts: Sequence[Concept], taxonomy: Taxonomy, quiet: bool
) -> Sequence[Concept]:
    """Return new concepts with definitions from a glossary, if there is one."""
    if not glossary:
        return concepts
    from taxoexpan.features.glossary.glossary import Glossary

    entries = Glossary.read(glossary, concepts, progress=not quiet)
    defined = entries.define_concepts(concepts, taxonomy)
    print_glossary(glossary, entries, {"new concepts": defined.matches})
    return defined.concepts


def print_glossary(path: Path, glossary: Glossary, matches: Mapping[str, GlossaryMatches]) -> None:
    """Print how many concepts of each group, named by a plural noun, got a definition."""
    broken = glossary.broken
    if broken.count:
        lines = pluralize(broken.count, "line")
        warn(f"{path}, line {broken.first}: not an entry; {lines} skipped in all")
    groups = [_group(noun, each) for noun, each in matches.items() if each.concepts]
    note(f"glossary: definitions for {' and '.join(groups)}")


def _group(noun: str, matches: GlossaryMatches) -> str:
    """Describe how many concepts of a group got a definition, and how it was found."""
    found = matches.found.total()
    without = matches.concepts - matches.defined_before
    text = f"{found:,} of {without:,} {noun}{' without one' if matches.defined_before else ''}"
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(matches.found.items()))
    senses = f"{matches.ambiguous:,} with several senses" if matches.ambiguous else ""
    senses += f", {matches.unclear:,} of them unclear and left out" if matches.unclear else ""
    details = "; ".join(filter(None, (kinds, senses)))
    return f"{text} ({details})" if details else text
