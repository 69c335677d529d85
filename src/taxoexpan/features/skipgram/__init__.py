"""Skip-gram vectors trained on a corpus."""
