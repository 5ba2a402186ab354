"""Diagnosis and repair of foreign histories."""
