"""HTML reports about suggestions, joint placements, trained models and suspicious relations.

Each function returns a `Page`, which `taxoexpan.report.page.render` turns into HTML.
"""

from taxoexpan.report.suggestions_page import joint_page, suggestions_page
from taxoexpan.report.suspicious_relations_page import suspicious_relations_page
from taxoexpan.report.training_page import training_page

__all__ = ["joint_page", "suggestions_page", "suspicious_relations_page", "training_page"]
