"""Structured logs: one JSON object a line on standard error, off unless asked for."""

import logging
import sys
from datetime import UTC, datetime

import msgspec

LEVELS = ("debug", "info", "warning", "error")

_OURS = "soulrift"
_KNOWN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        more = {name: value for name, value in vars(record).items() if name not in _KNOWN}
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "what": record.getMessage(),
            **more,
        }
        return msgspec.json.encode(line, enc_hook=str).decode()


def start(level: str) -> None:
    """Write what the store does, from this level up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    ours = logging.getLogger(_OURS)
    ours.addHandler(handler)
    ours.setLevel(level.upper())
