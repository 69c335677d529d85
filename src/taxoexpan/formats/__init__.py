"""Files in, files out: one module a format, each with a `read` and an additive `extend`."""
