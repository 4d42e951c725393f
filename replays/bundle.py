"""Bundles: a record with everything by which a stranger can check it, in one zip file that there is one way to write.

README.txt  verify.py                   for whoever has never seen any of this
replay.soulrift.jsonl                   the record
keys.txt                                the keys that signed, a line each
checkpoints/1.note …                    what was signed
proofs/entry-61.tlog-proof …            of the entries that are disputed
audit.json  report.html                 the judgment, as data and as a page
SHA256SUMS                              of all the others
"""

import io
import re
import zipfile
from collections.abc import Mapping
from hashlib import sha256

from replays.evidence import Held
from replays.notes import NoteError, VerifierKey, verifier_key
from replays.proofs import InclusionProof, parse_inclusion

README, VERIFY, REPLAY, KEYS = "README.txt", "verify.py", "replay.soulrift.jsonl", "keys.txt"
AUDIT, REPORT, SUMS = "audit.json", "report.html", "SHA256SUMS"

_ORDER = (
    README,
    VERIFY,
    REPLAY,
    KEYS,
    r"checkpoints/[1-9][0-9]{0,8}\.note",
    r"proofs/entry-[1-9][0-9]{0,8}\.tlog-proof",
    AUDIT,
    REPORT,
    SUMS,
)
_REQUIRED = frozenset({README, VERIFY, REPLAY, KEYS, AUDIT, REPORT})

_EPOCH = (1980, 1, 1, 0, 0, 0)
_NUMBER = re.compile(r"[0-9]+")

START = b"PK\x03\x04"
"""How a zip file begins."""


class BundleError(Exception):
    """Bytes that are no bundle as this program writes it; the message says where."""


def checkpoint_name(number: int) -> str:
    """The name of a checkpoint in a bundle, from 1."""
    return f"checkpoints/{number}.note"


def proof_name(entry: int) -> str:
    """The name of the proof of an entry."""
    return f"proofs/entry-{entry}.tlog-proof"


def held(files: Mapping[str, bytes]) -> tuple[Held, ...]:
    """The checkpoints of a bundle."""
    return tuple([Held(name, content) for name, content in files.items() if name.startswith("checkpoints/")])


def keys(files: Mapping[str, bytes]) -> tuple[VerifierKey, ...]:
    """The keys that came along with a bundle.

    Raises:
        BundleError: what stands there is none.

    """
    try:
        return tuple([verifier_key(line) for line in files[KEYS].decode().splitlines()])
    except (NoteError, UnicodeDecodeError) as error:
        message = f"{KEYS}: {error}"
        raise BundleError(message) from None


def proofs(files: Mapping[str, bytes]) -> dict[str, InclusionProof]:
    """The proofs of a bundle.

    Raises:
        BundleError: what stands there is none.

    """
    found = dict[str, InclusionProof]()
    for name in files:
        if name.startswith("proofs/"):
            try:
                found[name] = parse_inclusion(files[name])
            except NoteError as error:
                message = f"{name}: {error}"
                raise BundleError(message) from None
    return found


def packed(files: Mapping[str, bytes]) -> bytes:
    """The bytes of a bundle of these files, by name, to which their SHA-256 are added."""
    names = sorted(files, key=_place)
    sums = "".join(f"{sha256(files[name]).hexdigest()}  {name}\n" for name in names)
    return _zipped({**{name: files[name] for name in names}, SUMS: sums.encode()})


def _place(name: str) -> tuple[int, int]:
    """Where in a bundle a file of this name stands."""
    for place, form in enumerate(_ORDER):
        if re.fullmatch(form, name):
            number = _NUMBER.search(name)
            return place, int(number[0]) if number and "/" in name else 0
    message = f"a file {name[:100]!r} belongs to no bundle"
    raise BundleError(message)


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip file, not compressed, so that its bytes are the same wherever it is written."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as made:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, 0o644 << 16
            made.writestr(info, data)
    return content.getvalue()


_NOT_READ = (NotImplementedError, RuntimeError, EOFError, ValueError, OverflowError, OSError)
"""What the standard library raises, beside its own error, for bytes that somebody made to look like a zip file."""


def _see_readable(members: list[zipfile.ZipInfo], size: int) -> None:
    """See that each file stands once in a zip of this size, as it is, and that they are not more than that."""
    names = [member.filename for member in members]
    packed_ones = [member.filename for member in members if member.compress_type != zipfile.ZIP_STORED]
    if len(set(names)) < len(names):
        message = "a file stands in it twice"
    elif packed_ones:
        message = f"{packed_ones[0][:100]} is compressed"
    elif sum(member.file_size for member in members) > size:
        message = "its files are larger than the whole"
    else:
        for name in names:
            _place(name)
        return
    raise BundleError(message)


def unpacked(content: bytes) -> dict[str, bytes]:
    """The files of a bundle, by name.

    Raises:
        BundleError: it is none; or not, byte for byte, as it would be written.

    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as found:
            _see_readable(found.infolist(), len(content))
            files = {name: found.read(name) for name in found.namelist()}
    except (*_NOT_READ, zipfile.BadZipFile) as error:
        message = f"it is no whole zip file: {error}"
        raise BundleError(message) from None
    missing = _REQUIRED - files.keys()
    if missing:
        message = f"it has no {min(missing)}"
        raise BundleError(message)
    if packed({name: data for name, data in files.items() if name != SUMS}) != content:
        message = "it is not as it was written: files are changed, renamed or in another order"
        raise BundleError(message)
    return files
