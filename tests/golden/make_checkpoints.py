"""Makes the golden checkpoints of the golden matches: `python -m tests.golden.make_checkpoints`.

`checkpoints/NAME-SIZE.note` are signed notes as of some entries of matches of the corpus; some of these are in the
golden stores too. `checkpoints/key` is the text of the key that signed them, whose secret half was forgotten at once.
They are made once: every later version has to find that the records of those matches begin with what was signed.
"""

import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from replays.checkpoints import Checkpoint, origin_of
from replays.files import opened
from replays.merkle import ProvingTree
from replays.notes import SignerKey
from replays.reading import Reader
from tests.golden.make_corpus import corpus

FOLDER = Path(__file__).parent / "checkpoints"

KEY = FOLDER / "key"

IN_STORES = {
    "disputed": ("disputed", (5, 23)),
    "long-duel": ("long-duel", (1, 40, 89)),
    "hoard": ("worked-8-hoard-bursts", (7,)),
}
"""By the name of the file: the match, and the sizes; of matches that the golden stores have as well."""

IN_CORPUS = {
    "vector": ("vector-7", (32, 60)),
    "corrections": ("J-1: every kind of correction", (15,)),
    "odd-names": ("odd names", (57,)),
    "sixteen": ("sixteen players", (5,)),
}
"""The same of others."""


def main() -> str | None:
    """Make them; why they cannot be made."""
    if FOLDER.exists():
        return f"{FOLDER.name} is there already; what was written once is not written anew"
    trees = _trees()
    FOLDER.mkdir()
    key, store = SignerKey.generate("golden.example/checkpoints"), secrets.token_hex(8)
    KEY.write_text(f"{key.verifier}\n", "ascii")
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name, (match, sizes) in {**IN_STORES, **IN_CORPUS}.items():
        for size in sizes:
            checkpoint = Checkpoint(origin_of(store, match), size, trees[match].root(size), at)
            (FOLDER / f"{name}-{size}.note").write_bytes(checkpoint.signed(key))
    return None


def _trees() -> dict[str, ProvingTree]:
    """The trees of all matches of the corpus."""
    trees = {}
    with opened(corpus(1)) as file:
        for recording in Reader(file).recordings():
            trees[recording.match] = tree = ProvingTree()
            for found in recording.lines():
                tree.append(found.content)
    return trees


if __name__ == "__main__":
    sys.exit(main())
