"""Changes to a taxonomy in the formats in which they are exchanged: KGCL, SSSOM and Markdown."""
