"""JSON, as far as taxonomies need it: its text with places, its shapes, its style, its growth."""
