"""Reports on what was suggested and on what was learned, as pages to read."""

from taxoexpan.report.joint_page import together_page
from taxoexpan.report.suggestions_page import suggestions_page
from taxoexpan.report.training_page import training_page

__all__ = ["suggestions_page", "together_page", "training_page"]
