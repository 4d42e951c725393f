"""`python -m benchmarks.memory STORE`: the most MB that a process has which makes the views of a store."""

import sys
from contextlib import closing
from pathlib import Path

from domain.application import Matches
from domain.sqlite import sqlite_settings
from projections.follower import Follower
from projections.opening import views_of

if __name__ == "__main__":
    with Matches(sqlite_settings(sys.argv[1], read_only=True)) as matches, closing(views_of(matches)) as views:
        Follower(matches, views).up_to_date()
        status = Path("/proc/self/status").read_text()  # unlike getrusage, it forgets the process that started this one
        print(int(status.split("VmHWM:")[1].split()[0]) / 1_024)
