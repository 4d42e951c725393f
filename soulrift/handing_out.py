"""`soulrift play --checkpoints`: checkpoints as files, as a match goes on."""

import secrets
from pathlib import Path

from domain.application import Matches
from replays.files import written
from replays.issuing import Issued, Issuer, When
from soulrift import keyrings


def hand_out(matches: Matches, folder: Path, every: int, keys: Path, signer: str | None) -> None:
    """Let a checkpoint of a match be signed at turns, at its end and every so many entries, as a file in `folder`."""

    def keep(issued: Issued) -> None:
        with written(folder / issued.file_name, replace=True) as file:
            file.write(issued.note)

    key = keyrings.signer(keys, signer)
    identity = matches.recorder.identity() or matches.recorder.identify(secrets.token_hex(8))
    issuer = Issuer(identity, key, When(every), keyrings.now, matches.entries, keep)
    matches.on_appended = issuer.appended
