"""What several test modules share: example data, servers, and slow obvious versions."""
