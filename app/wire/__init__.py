"""The shapes of HTTP; nothing here imports a web framework or does I/O."""
