"""The `pagefault` command: one file per group of commands, loaded when it runs."""
