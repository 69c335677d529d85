"""HTML reports about suggestions, joint placements, trained models and suspicious relations."""
