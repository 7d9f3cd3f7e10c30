"""What keeps the stages running: stage, bounded queue, governor, watchdog, metrics."""
