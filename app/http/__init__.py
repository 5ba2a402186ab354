"""Code that several routers use: authentication, bodies, conditions, ranges, content, problems."""
