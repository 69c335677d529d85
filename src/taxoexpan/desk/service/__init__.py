"""The service: suggestions, concepts and name search for other programs, and reconciliation."""
