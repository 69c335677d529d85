"""Place new concepts in an existing taxonomy.

>>> from taxoexpan import TaxoExpan, read_taxonomy, write_taxonomy
"""

from __future__ import annotations

TYPE_CHECKING = False  # the import of `typing` would delay the start of the command line
if TYPE_CHECKING:
    from typing import Any

    from taxoexpan.config import Settings
    from taxoexpan.decisions.additions import AppliedSuggestions
    from taxoexpan.decisions.feedback import Feedback
    from taxoexpan.decisions.suggestion import (
        Decider,
        Suggestion,
        SuggestionKind,
        Suitability,
        Verdict,
    )
    from taxoexpan.decisions.suggestions import Suggestions
    from taxoexpan.errors import TaxoExpanError
    from taxoexpan.evaluation.growth import growth_between
    from taxoexpan.evaluation.methods import Method, Problem, TrainedMethod, make_method
    from taxoexpan.evaluation.results import MethodResult, evaluate_methods
    from taxoexpan.expansion import ExpandFileOptions, expand_file
    from taxoexpan.features.glossary.glossary import Glossary
    from taxoexpan.formats.taxonomy_io import read_taxonomy, write_taxonomy
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.fitting.judged_taxonomy import JudgedTaxonomy
    from taxoexpan.placement.fitting.updating import UpdateReport
    from taxoexpan.placement.learned.confidence import Reliability
    from taxoexpan.taxonomy import Concept, Taxonomy
    from taxoexpan.training.holdout import Holdout, hold_out, hold_out_leaves
    from taxoexpan.training.metrics import Metrics

    __version__: str

__all__ = [
    "AppliedSuggestions",
    "Concept",
    "Decider",
    "ExpandFileOptions",
    "Feedback",
    "Glossary",
    "Holdout",
    "JudgedTaxonomy",
    "Method",
    "MethodResult",
    "Metrics",
    "Problem",
    "Reliability",
    "Settings",
    "Suggestion",
    "SuggestionKind",
    "Suggestions",
    "Suitability",
    "TaxoExpan",
    "TaxoExpanError",
    "Taxonomy",
    "TrainedMethod",
    "UpdateReport",
    "Verdict",
    "__version__",
    "evaluate_methods",
    "expand_file",
    "growth_between",
    "hold_out",
    "hold_out_leaves",
    "make_method",
    "read_taxonomy",
    "write_taxonomy",
]

_HOMES = {
    "AppliedSuggestions": "taxoexpan.decisions.additions",
    "Concept": "taxoexpan.taxonomy",
    "Decider": "taxoexpan.decisions.suggestion",
    "ExpandFileOptions": "taxoexpan.expansion",
    "Feedback": "taxoexpan.decisions.feedback",
    "Glossary": "taxoexpan.features.glossary.glossary",
    "Holdout": "taxoexpan.training.holdout",
    "JudgedTaxonomy": "taxoexpan.placement.fitting.judged_taxonomy",
    "Method": "taxoexpan.evaluation.methods",
    "MethodResult": "taxoexpan.evaluation.results",
    "Metrics": "taxoexpan.training.metrics",
    "Suitability": "taxoexpan.decisions.suggestion",
    "Problem": "taxoexpan.evaluation.methods",
    "Reliability": "taxoexpan.placement.learned.confidence",
    "Settings": "taxoexpan.config",
    "Suggestion": "taxoexpan.decisions.suggestion",
    "SuggestionKind": "taxoexpan.decisions.suggestion",
    "Suggestions": "taxoexpan.decisions.suggestions",
    "TaxoExpan": "taxoexpan.model",
    "TaxoExpanError": "taxoexpan.errors",
    "Taxonomy": "taxoexpan.taxonomy",
    "TrainedMethod": "taxoexpan.evaluation.methods",
    "UpdateReport": "taxoexpan.placement.fitting.updating",
    "Verdict": "taxoexpan.decisions.suggestion",
    "evaluate_methods": "taxoexpan.evaluation.results",
    "expand_file": "taxoexpan.expansion",
    "growth_between": "taxoexpan.evaluation.growth",
    "hold_out": "taxoexpan.training.holdout",
    "hold_out_leaves": "taxoexpan.training.holdout",
    "make_method": "taxoexpan.evaluation.methods",
    "read_taxonomy": "taxoexpan.formats.taxonomy_io",
    "write_taxonomy": "taxoexpan.formats.taxonomy_io",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: reading files needs no torch, and the command line no numpy."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("taxoexpan")
    raise AttributeError(f"module 'taxoexpan' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
