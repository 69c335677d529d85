"""Which relations of a taxonomy look wrong to a model that has not seen them (self-cleaning)."""

from taxoexpan.cleaning.doubts import Doubt, doubts_csv
from taxoexpan.cleaning.judging import Training
from taxoexpan.cleaning.running import clean

__all__ = ["Doubt", "Training", "clean", "doubts_csv"]
