"""The program: `soulrift`, or `python -m soulrift`."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; an interrupt while it is still being loaded is one as well."""
    try:
        from soulrift.cli import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
