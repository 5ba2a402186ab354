"""Services for agent hosts: tools of models, turns, conversations and references."""
