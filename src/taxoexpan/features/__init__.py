"""From words to vectors: one module an encoder, and one that makes a concept's vector."""
