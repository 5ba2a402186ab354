"""Media: kept with their type and hints, and checked for damage."""
