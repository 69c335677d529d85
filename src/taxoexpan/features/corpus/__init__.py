"""Reading a text corpus: documents, phrases, parallel blocks."""
