"""Time and memory from ten thousand to a million concepts, on generated taxonomies."""
