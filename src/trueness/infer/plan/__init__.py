"""How many rows a question needs."""
