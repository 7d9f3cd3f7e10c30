"""Training, evaluation and export of the streaming recogniser (see docs/training.md)."""
