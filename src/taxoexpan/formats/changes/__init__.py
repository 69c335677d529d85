"""Changes of a taxonomy in exchange formats, and as a patch for git."""
