"""Self-supervised training of the network (`loop`) and of the text tower (`tower`), Section 4.3."""
