"""Self-cleaning: find relations that look wrong to a model that was not trained on them.

Exports `clean`, the `ModelOptions` it trains with, and its result: `SuspiciousRelation`s, which
`suspicious_relations_csv` writes as a table.
"""

from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.self_cleaning import clean
from taxoexpan.curation.cleaning.suspicious_relations import (
    SuspiciousRelation,
    suspicious_relations_csv,
)

__all__ = ["ModelOptions", "SuspiciousRelation", "clean", "suspicious_relations_csv"]
