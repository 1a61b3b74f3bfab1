"""Members of an `.eval` file, which is a zip; many of them are zstd, which `zipfile` refuses.

The directory is read by `zipfile`, the data here. Names never become paths. Nothing is unpacked
beyond the size that the directory says, and that is bounded: by member, and by what the file itself
takes. A name that stands there twice is the last one, as the tool appends what it writes again.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import zstandard

from schemas.errors import ConfigError, Problem

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
ENCRYPTED = 0x1

LOCAL_HEADER = struct.Struct("<4s22xHH")
LOCAL_MAGIC = b"PK\x03\x04"
HEADER_BYTES = 4096
"""Read with a member's data at once: most local headers and their names are shorter."""

MAX_MEMBER_BYTES = 1 << 28
"""Unpacked; as Python's objects it takes several times as much."""

PIECE_BYTES = 1 << 20
"""Of a member that is read in pieces: what is unpacked of it at once."""

PACKED_BYTES = 1 << 16

MAX_RATIO = 250
"""Of all that is unpacked to the file, from `FREE_BYTES` on; logs of agents are 5 to 60."""

FREE_BYTES = 1 << 30


class MemberError(ValueError):
    """A member cannot be read.

    Args:
        name: of it.
        why: it cannot.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"`{name:.200}` {why}")


class Member(NamedTuple):
    """Where the data of a member lies, and what it becomes."""

    method: int
    offset: int
    """Of its local header."""
    packed_bytes: int
    n_bytes: int
    crc: int
    is_encrypted: bool


class Archive:
    """An open `.eval` file.

    Args:
        path: of the file.
        members: of it that are asked for, where its directory was read before.

    Raises:
        ConfigError: it is no whole zip, or would unpack to more than a log does.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, members: dict[str, Member] | None = None) -> None:
        self.path = path
        self.members = _members_of(path) if members is None else members
        """By name, in the order in which each stands there last."""
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._zstd = zstandard.ZstdDecompressor()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def read(self, name: str) -> bytes:
        """Return the content of a member.

        Raises:
            MemberError: it is not there, torn, encrypted, too large, or packed in another way.
            OSError: the file cannot be read.
        """
        member = self.members.get(name)
        if member is None:
            raise MemberError(name, "is not there")
        if member.is_encrypted:
            raise MemberError(name, "is encrypted")
        if member.n_bytes > MAX_MEMBER_BYTES:
            size = f"{member.n_bytes:,} bytes unpacked"
            raise MemberError(name, f"has {size}, of at most {MAX_MEMBER_BYTES:,}")
        content = self._unpacked(name, member, self._packed(name, member))
        if len(content) != member.n_bytes or zlib.crc32(content) != member.crc:
            raise MemberError(name, "is damaged: not what the directory says it is")
        return content

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a member, which may be large, piece by piece.

        It is unpacked twice, the first time to see whether it is whole.

        Raises:
            MemberError: as `read`, but before the first piece.
            OSError: the file cannot be read.
        """
        member = self.members.get(name)
        if member is None or member.is_encrypted or member.method not in {DEFLATED, ZSTANDARD}:
            yield self.read(name)
            return
        crc = n_bytes = 0
        for piece in self._stream(name, member):
            crc, n_bytes = zlib.crc32(piece, crc), n_bytes + len(piece)
        if n_bytes != member.n_bytes or crc != member.crc:
            raise MemberError(name, "is damaged: not what the directory says it is")
        yield from self._stream(name, member)

    def _stream(self, name: str, member: Member) -> Iterator[bytes]:
        packed, left = self._packed(name, member), member.n_bytes + 1
        try:
            if member.method == ZSTANDARD:
                reader = self._zstd.stream_reader(packed, read_across_frames=True)
                while left > 0 and (piece := reader.read(min(PIECE_BYTES, left))):
                    left -= len(piece)
                    yield piece
                return
            deflated = zlib.decompressobj(-zlib.MAX_WBITS)
            for begin in range(0, len(packed), PACKED_BYTES):
                rest: bytes | memoryview = packed[begin : begin + PACKED_BYTES]
                while rest and left > 0:
                    piece = deflated.decompress(rest, min(PIECE_BYTES, left))
                    rest, left = deflated.unconsumed_tail, left - len(piece)
                    yield piece
            if left > 0:
                yield deflated.flush()
        except (zlib.error, zstandard.ZstdError) as exc:
            raise MemberError(name, f"is damaged: {exc}") from None

    def _packed(self, name: str, member: Member) -> memoryview:
        raw = os.pread(self._file, member.packed_bytes + HEADER_BYTES, member.offset)
        if len(raw) < LOCAL_HEADER.size or not raw.startswith(LOCAL_MAGIC):
            raise MemberError(name, "does not begin where the directory says")
        _, n_name, n_extra = LOCAL_HEADER.unpack_from(raw)
        begin = LOCAL_HEADER.size + n_name + n_extra
        if begin > HEADER_BYTES:
            raw = os.pread(self._file, member.packed_bytes + begin, member.offset)
        return memoryview(raw)[begin : begin + member.packed_bytes]

    def _unpacked(self, name: str, member: Member, packed: memoryview) -> bytes:
        """Return the unpacked content, at most one byte more than it should have."""
        most = member.n_bytes + 1
        try:
            if member.method == DEFLATED:
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
            if member.method == ZSTANDARD:
                return self._zstd.stream_reader(packed, read_across_frames=True).read(most)
        except (zlib.error, zstandard.ZstdError) as exc:
            raise MemberError(name, f"is damaged: {exc}") from None
        if member.method == STORED:
            return bytes(packed[:most])
        what = f"is packed by method {member.method}; stored, deflate (8) and zstd (93) can be read"
        raise MemberError(name, what)


def _members_of(path: Path) -> dict[str, Member]:
    advice = "a log that was cut off while it was copied is not whole; copy it again"
    try:
        with zipfile.ZipFile(path) as zipped:
            infos = zipped.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as exc:
        what = f"is no whole .eval file ({exc})"
        raise ConfigError([Problem(path, what, allowed="a zip", advice=advice)]) from None
    members: dict[str, Member] = {}
    for one in infos:
        members.pop(one.filename, None)
        members[one.filename] = Member(
            one.compress_type, one.header_offset, one.compress_size, one.file_size, one.CRC,
            bool(one.flag_bits & ENCRYPTED),
        )  # fmt: skip
    total, size = sum(one.n_bytes for one in members.values()), path.stat().st_size
    if total > FREE_BYTES and total > MAX_RATIO * size:
        what = f"would unpack to {total:,} bytes, {total // max(size, 1):,} times its size"
        raise ConfigError([Problem(path, what, allowed=f"at most {MAX_RATIO} times")])
    return members
