"""What the routes share: authentication, bodies, conditions, ranges, content, problems."""
