"""The shell: command line and settings, and the one place that wires the parts together."""
