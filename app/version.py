"""The version of the service, which the packages, the command and the API read from here."""

VERSION = "0.2.0"
