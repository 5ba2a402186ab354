"""Telemetry for operators: log lines, metrics and traces."""
