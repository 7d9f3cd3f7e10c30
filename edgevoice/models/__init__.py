"""Models: the catalogue, the store that finds and verifies them, loading with explicit threads."""
