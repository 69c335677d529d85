"""Taxonomy maintenance: `checks`, `cleaning` (suspicious relations) and term `discovery`."""
