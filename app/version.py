"""The version of the service: said here, and read by the packages, the command and the API."""

VERSION = "0.2.0"
