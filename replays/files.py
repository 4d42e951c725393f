"""Replay files on the disk: plain, or compressed with gzip or Zstandard, told by their first bytes.

Neither format notices every change of its compressed bytes by itself: padding bits mean nothing, nor do some fields of
a header. So what this program compresses carries the SHA-256 of its compressed bytes in front, where each format has
room for what readers pass over: in gzip an extra field, in Zstandard a skippable frame. What other programs compressed
is read as well.
"""

import gzip
import io
import os
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_FIELD = b"SR" + struct.pack("<H", 32)
"""How the hash is announced: a name, and its length."""

_GZIP = b"\x1f\x8b"
_OUR_GZIP = b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff" + struct.pack("<H", len(_FIELD) + 32) + _FIELD

_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = 0x184D2A50
_OUR_ZSTD = struct.pack("<II", _SKIPPABLE + 3, len(_FIELD) + 32) + _FIELD

_FOREIGN = 4
"""So many bytes, at least, are others at the beginning of a file that another program compressed."""

_CHUNK = 1 << 18


class DamagedFileError(Exception):
    """The compressed bytes of a file are not what was written."""


# ------------------------------------------------------------ reading


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The uncompressed bytes of a file, read as they are asked for; reading may raise DamagedFileError.

    Raises:
        OSError: it cannot be read.

    """
    with path.open("rb") as file:
        start = file.peek(16)[:16]
        if start[:2] == _GZIP:
            chunks = _decompressed(file, _head(start, _OUR_GZIP), zstandard=False)
        elif start[:4] == _ZSTD or int.from_bytes(start[:4], "little") & ~0xF == _SKIPPABLE:
            chunks = _decompressed(file, _head(start, _OUR_ZSTD), zstandard=True)
        else:
            yield file
            return
        yield cast("BinaryIO", io.BufferedReader(_Chunks(chunks), _CHUNK))


def _head(start: bytes, ours: bytes) -> bytes:
    """What stands before the hash of a file that this program compressed; nothing if another one did."""
    changed = sum(found != written for found, written in zip(start, ours, strict=False))
    if 0 < changed < _FOREIGN:
        message = "the compressed bytes are damaged at their beginning"
        raise DamagedFileError(message)
    return b"" if changed else ours


class _Hashed:
    """A file of which everything that is read, from a place on, is hashed."""

    def __init__(self, file: BinaryIO, head: bytes) -> None:
        self._file = io.BytesIO(file.read(len(head) + 32)) if head else io.BytesIO()
        self.expected = self._file.getvalue()[len(head) :] if head else None
        self._rest = file
        self.hash = sha256()

    def read(self, size: int = -1) -> bytes:
        front = self._file.read(size)
        if front:
            return front
        chunk = self._rest.read(size)
        self.hash.update(chunk)
        return chunk


def _decompressed(file: BinaryIO, head: bytes, *, zstandard: bool) -> Iterator[bytes]:
    hashed = _Hashed(file, head)
    source = cast("BinaryIO", hashed)
    try:
        with zstd.ZstdFile(source) if zstandard else gzip.GzipFile(fileobj=source) as content:
            while chunk := content.read1(_CHUNK):  # what is whole, though the end be missing
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError) as error:
        message = f"the compressed bytes are damaged: {error}"
        raise DamagedFileError(message) from error
    while hashed.read(_CHUNK):
        pass
    if hashed.expected is not None and hashed.hash.digest() != hashed.expected:
        message = "the compressed bytes are not as they were written: they have another hash"
        raise DamagedFileError(message)


class _Chunks(io.RawIOBase):
    """What an iterator yields, as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed has any buffer
        if not self._left:
            self._left = memoryview(next(self._chunks, b""))
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


# ------------------------------------------------------------ in memory


def packed(content: bytes) -> bytes:
    """The same bytes in less memory, in little time."""
    return zstd.compress(content, 1)


def unpacked(content: bytes) -> bytes:
    """The bytes that were packed."""
    return zstd.decompress(content)


# ------------------------------------------------------------ writing


@contextmanager
def written(path: Path, *, replace: bool, compress: bool = True) -> Iterator[BinaryIO]:
    """A file to write bytes into, compressed as the ending of its name says (`.gz`, `.zst`) unless told not to.

    It appears under its name when it is whole and on the disk.

    Raises:
        FileExistsError: there is a file of that name, which is not to be replaced.
        OSError: it cannot be written.

    """
    exists = f"there is a {path} already"
    if os.path.lexists(path) and not replace:
        raise FileExistsError(exists)
    with tempfile.TemporaryDirectory(prefix=".soulrift-", dir=path.absolute().parent) as folder:
        partial = Path(folder) / path.name
        with partial.open("wb+") as file:
            if compress and path.suffix == ".gz":
                with _hash_in_front(file, _OUR_GZIP), _gzip_body(file) as content:
                    yield content
            elif compress and path.suffix == ".zst":
                with _hash_in_front(file, _OUR_ZSTD), _zstd_body(file) as content:
                    yield content
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            partial.replace(path)
            return
        try:
            os.link(partial, path)  # unlike a rename, it replaces nothing that came meanwhile
        except FileExistsError:
            raise FileExistsError(exists) from None


@contextmanager
def _hash_in_front(file: BinaryIO, head: bytes) -> Iterator[None]:
    """Leaves room for the hash of what is written within, and fills it in."""
    file.write(head + bytes(32))
    yield
    file.seek(len(head) + 32)
    digest = sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    file.seek(len(head))
    file.write(digest.digest())


@contextmanager
def _zstd_body(file: BinaryIO) -> Iterator[BinaryIO]:
    options = {int(zstd.CompressionParameter.checksum_flag): 1}
    with zstd.ZstdFile(cast("Any", file), mode="wb", options=options) as content:
        yield cast("BinaryIO", content)


@contextmanager
def _gzip_body(file: BinaryIO) -> Iterator[BinaryIO]:
    """A gzip member behind its header: the deflated bytes, their CRC and their length."""
    body = _Deflated(file)
    with io.BufferedWriter(cast("io.RawIOBase", body), _CHUNK) as content:
        yield cast("BinaryIO", content)


class _Deflated(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        self._crc, self._size = 0, 0

    def writable(self) -> bool:
        return True

    def write(self, data: memoryview) -> int:  # type: ignore[override]  # typeshed has any buffer
        self._crc, self._size = zlib.crc32(data, self._crc), self._size + len(data)
        self._file.write(self._deflate.compress(data))
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.write(self._deflate.flush() + struct.pack("<II", self._crc, self._size & 0xFFFFFFFF))
        super().close()
