"""The proxy as a server of Streamable HTTP: sessions, streams of events, keys."""
