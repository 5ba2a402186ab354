"""Sessions: their histories, messages, interactions, forks, lists and deletion."""
