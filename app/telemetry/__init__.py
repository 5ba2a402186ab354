"""Telemetry for operators: log lines and metrics."""
