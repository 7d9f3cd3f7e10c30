"""Measurements that users can run themselves: one module per subject, each with `run(settings, args) -> dict`."""
