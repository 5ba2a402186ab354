"""What is handed to users of a version, and the checks that come before it."""
