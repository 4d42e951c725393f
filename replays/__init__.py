"""Replay files: recordings of matches that anybody can read, prove and play on, without a store."""
