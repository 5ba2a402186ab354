"""Maintenance of the stores: removes garbage, checks stored files, and reports the status."""
