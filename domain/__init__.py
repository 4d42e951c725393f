"""Soulrift's domain: the rules of the game and what is recorded of a match. Importing it loads no store."""
