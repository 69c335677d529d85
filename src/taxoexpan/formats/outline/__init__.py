"""Outlines: `scanning` finds the items, `outline` their paths, and `insertion` adds new ones."""
