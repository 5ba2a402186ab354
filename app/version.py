"""The version of the service. The packages, the command and the API read it from here."""

VERSION = "0.2.0"
