"""`python -m soulrift`."""

from soulrift.cli import run

run()
