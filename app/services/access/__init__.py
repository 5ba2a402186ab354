"""Who may call: API keys, their projects, signed links and tickets."""
