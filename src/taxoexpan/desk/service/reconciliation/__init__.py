"""Reconciliation: matching names with the taxonomy by the W3C Entity Reconciliation API v0.2."""
