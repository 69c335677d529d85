"""Changes of a taxonomy in the formats in which they are exchanged, and as a patch for git."""
