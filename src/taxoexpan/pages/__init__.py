"""Reports on what was suggested and on what was learned, as pages to read."""

from taxoexpan.pages.suggesting import suggestions_page
from taxoexpan.pages.together import together_page
from taxoexpan.pages.training import training_page

__all__ = ["suggestions_page", "together_page", "training_page"]
