"""TLS settings of the clients of the tests, which trust no certificate."""

import ssl

TRUSTS_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For `verify`: all is plain http, and to read the machine's certificates, as every client does by
default, takes longer than most tests."""
