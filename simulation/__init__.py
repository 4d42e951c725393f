"""Matches that nobody played: who plays (policies), what with (decks), how many and where."""
