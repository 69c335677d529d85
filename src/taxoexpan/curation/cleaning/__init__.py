"""Self-cleaning: find relations that may be wrong, according to models trained without them."""

from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.self_cleaning import clean
from taxoexpan.curation.cleaning.suspicious_relations import (
    SuspiciousRelation,
    suspicious_relations_csv,
)

__all__ = ["ModelOptions", "SuspiciousRelation", "clean", "suspicious_relations_csv"]
