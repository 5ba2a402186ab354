"""Generated clients, each called once against a live service."""
