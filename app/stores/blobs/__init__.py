"""Bytes by project and SHA-256, whole or not at all: a directory or an S3 bucket."""
