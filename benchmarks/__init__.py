"""Benchmarks: every figure as a ratio against a bound or a peer, measured in one run (`make bench`)."""
