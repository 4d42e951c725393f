"""Simulated matches made into tables on a Dask cluster, and a question that the cluster answers of them:
python examples/tables_dask.py [MATCHES [SEED [WORKERS]]].

Each batch of matches is played, and its files are written, wherever there is a worker; this program adds them to the
manifest. Then each file of a table is counted where there is a worker, and this program adds up the counts. Here the
workers are processes of this machine. With the address of a scheduler in the place of the cluster they are anywhere,
and the folder is one that all of them reach, such as s3://games/tables.
"""

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster

from projections.analytics.folder import Folder
from projections.analytics.parts import File
from simulation.batches import Tables, batches_for_tables, play_batch
from simulation.runners import dask
from simulation.runs import Run
from soulrift.tabling import run_tables


def make(address: str, run: Run, matches: int, scheduler: str) -> None:
    """Make tables of a run, batch by batch; what is there of it already is not made again."""
    with run_tables(run, address) as tables:
        place = Tables(address, tables.folder.token, tables.manifest.commits + 1)
        work = batches_for_tables(run, matches, place, tables.done(), cover=False)
        for result in dask(play_batch, work, jobs=1, scheduler=scheduler):
            tables.add_batch(result.made)


def burned(client: Client, address: str) -> Counter[str]:
    """The life that Soulburn took, by source."""
    files = Folder(address).manifest().files("soulburns")  # those of the manifest, and no others
    return sum(client.gather(client.map(burned_in, list(files), address=address)), Counter[str]())


def burned_in(file: File, address: str) -> Counter[str]:
    """The same in one file."""
    with Folder(address).opened(file) as content:
        rows = pq.read_table(content, columns=["source", "damage"])
    sums = rows.group_by("source").aggregate([("damage", "sum")])
    return Counter(dict(zip(*(sums[name].to_pylist() for name in ("source", "damage_sum")), strict=True)))


def main(matches: int = 4_000, seed: int = 1, workers: int = 2) -> None:
    """Make tables on workers of this machine, ask them, and print the answer."""
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with TemporaryDirectory() as place, cluster, Client(cluster) as client:
        address = str(Path(place) / "tables")
        make(address, Run(seed), matches, cluster.scheduler_address)
        count = sum(part.matches for part in Folder(address).manifest().parts)
        print(f"{count:,} matches, of which {workers} workers made tables")
        for source, life in burned(client, address).most_common():
            print(f"{source}: {life / count:.2f} life a match")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
