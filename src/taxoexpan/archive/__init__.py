"""A model on disk: a directory of JSON, safetensors and a model card; never a pickle."""

from taxoexpan.archive.archive import Archive, new_archive, save_archive
from taxoexpan.archive.reader import ModelSummary, load_archive, load_summary

__all__ = [
    "Archive",
    "ModelSummary",
    "load_archive",
    "load_summary",
    "new_archive",
    "save_archive",
]
