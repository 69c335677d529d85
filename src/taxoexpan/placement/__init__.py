"""From scores to suggestions."""
