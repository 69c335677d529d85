"""The paper's experiments and others."""
