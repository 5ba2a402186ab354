"""The version, that of the service."""

VERSION = "0.1.0"
