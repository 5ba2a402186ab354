"""The version, that of the service."""

VERSION = "0.2.0"
