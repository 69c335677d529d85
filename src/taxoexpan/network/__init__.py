"""The network of the paper (Section 4.2), a fusion head and a text tower."""
