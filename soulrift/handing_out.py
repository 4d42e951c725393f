"""`soulrift play --checkpoints`: checkpoints as files, as a match goes on."""

import secrets
from pathlib import Path

from domain.application import Matches
from replays.files import written
from replays.issuing import Issued, Issuer, When
from replays.notes import SignerKey
from soulrift import keyrings
from soulrift.terminal import complain


class Folder:
    """A folder into which checkpoints are handed out; `failed` once one could not be."""

    def __init__(self, path: Path, key: SignerKey) -> None:
        self.failed = False
        self._path = path
        self._key = key

    def hand_out(self, matches: Matches, every: int) -> None:
        """Let a checkpoint of a match be signed at turns, at its end and every so many entries."""
        identity = matches.recorder.identify(secrets.token_hex(8))
        issuer = Issuer(identity, self._key, When(every), keyrings.now, matches.entries, self._keep)
        matches.on_appended = issuer.appended

    def _keep(self, issued: Issued) -> None:
        """Write a checkpoint into a file of its own."""
        path = self._path / issued.file_name
        try:
            with written(path, replace=True) as file:
                file.write(issued.note)
        except OSError as error:
            self.failed = True
            complain(f"no checkpoint could be handed out: {path}: {error.strerror or error}")
            raise
