"""What operators see: log lines and metrics."""
