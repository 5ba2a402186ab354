"""HTTP shapes that differ from the domain models; nothing here imports a web framework."""
