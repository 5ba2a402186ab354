"""Settings: `PAGEFAULT_*` variables and files of them, read once and passed on."""
