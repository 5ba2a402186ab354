"""Code that routes share: authentication, bodies, conditions, ranges, content, problems."""
