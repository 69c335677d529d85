"""HTML reports about suggestions, joint placements, trained models and suspicious relations.

Each function returns a `Page`, which `taxoexpan.report.page.render` turns into HTML.
"""
