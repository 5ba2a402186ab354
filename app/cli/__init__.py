"""The `pagefault` command. Each group of commands has a file, which is imported when it runs."""
