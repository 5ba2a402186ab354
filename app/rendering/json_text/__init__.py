"""JSON text in pieces: strings written as bytes arrive, marks where media go."""
