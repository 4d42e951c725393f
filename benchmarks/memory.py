"""`python -m benchmarks.memory COMMAND…`: the most MB of memory that a command of the program has."""

import sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from soulrift.cli import main

if __name__ == "__main__":
    with redirect_stdout(StringIO()), suppress(SystemExit):
        main(sys.argv[1:], standalone_mode=False)
    status = Path("/proc/self/status").read_text()  # unlike getrusage, it forgets the process that started this one
    print(int(status.split("VmHWM:")[1].split()[0]) / 1_024)
