"""What was sent and received for one request, and when; on a failure, what had passed before it.

Stamps are seconds of `time.perf_counter`, taken when bytes pass and not when a task wakes up: the
delay of a busy event loop must not count as latency of the model.
"""

from __future__ import annotations

import re
import zlib
from array import array
from bisect import bisect_left
from typing import Protocol

from collect.http_client.errors import (
    MAX_BODY_BYTES,
    MAX_PIECES,
    BodyError,
    BodyTooLarge,
    TooManyPieces,
    UnknownEncoding,
)
from schemas.redact import redact

MAX_HEAD_BYTES = 65_536
"""Bytes of a header block, or of trailers."""

OVERLAP = 64
"""Bytes of earlier chunks in which an end marker may begin."""

MAX_EXACT_STAMPS = 10_000
"""Reads of one answer that have a stamp of their own."""

COARSE_S = 0.001
"""Beyond those a stamp stands for all that arrived within so long after it."""

BOTH_FORMATS = zlib.MAX_WBITS | 32
"""Tells zlib to take gzip or zlib, whichever the header says."""


class Decoder(Protocol):
    """What undoes a content encoding."""

    @property
    def unconsumed_tail(self) -> bytes:
        """Return the input that did not fit."""

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        """Return at most `max_length` bytes."""


class Exchange:
    """One request and its answer, as far as they came."""

    __slots__ = (
        "_body",
        "_decoder",
        "_end",
        "_ends",
        "_is_deflate",
        "_moments",
        "_tail",
        "accepted",
        "complete",
        "first_byte",
        "headers",
        "heard",
        "last_byte",
        "pieces",
        "requests",
        "size",
        "status",
        "written",
    )

    def __init__(self, end: re.Pattern[bytes] | None = None) -> None:
        """Start an exchange.

        Args:
            end: what marks the end of the body where the body itself says so, in at most
                `OVERLAP` bytes; it begins with the line break before its line, and the first
                line has one as well.
        """
        self.written: float | None = None
        """Just before the first byte of the request went to the kernel."""
        self.accepted = False
        """The kernel has taken the whole request."""
        self.requests = 0
        """How often it was written: twice where hardly anybody read it the first time."""
        self.heard = False
        """The server has said something, if only half a head."""
        self.status = 0
        """The HTTP status, 0 before it arrived."""
        self.headers: dict[bytes, bytes] = {}
        """By lower-case name."""
        self.pieces = 0
        """In how many pieces the body came: chunks of HTTP or reads."""
        self.size = 0
        """Bytes of the decoded body."""
        self.first_byte: float | None = None
        """The first byte of the body."""
        self.last_byte: float | None = None
        """The last byte of the answer, or of its end marker."""
        self.complete = False
        """The answer arrived as a whole."""
        self._body = bytearray()
        self._moments = array("d")
        """When bytes arrived, in order."""
        self._ends = array("q")
        """How many bytes of the decoded body had arrived by each of these moments."""
        self._end = end
        self._tail = b"\n"
        self._decoder: Decoder | None = None
        self._is_deflate = False

    def restart(self) -> None:
        """Forget a request that hardly anybody read, before it is sent once more."""
        self.written = None
        self.accepted = False

    def header(self, name: bytes) -> str:
        """Return a header by its lower-case name, or an empty text."""
        return self.headers.get(name, b"").decode("latin-1")

    def body(self) -> bytes:
        """Return the body as far as it arrived."""
        return bytes(self._body)

    def moment_of(self, size: int) -> float | None:
        """Return when the first `size` bytes of the body had arrived."""
        at = bisect_left(self._ends, size)
        return self._moments[at] if at < len(self._moments) else self.last_byte

    def begin(self, status: int, headers: dict[bytes, bytes]) -> None:
        """Take the head of the answer.

        Raises:
            BodyTooLarge: the body is announced with more than `MAX_BODY_BYTES` bytes.
            UnknownEncoding: the body comes in a content encoding that we do not read.
        """
        self.status, self.headers = status, headers
        if int(headers.get(b"content-length", 0)) > MAX_BODY_BYTES:
            raise BodyTooLarge
        encoding = self.header(b"content-encoding").strip().lower()
        if encoding in {"", "identity"}:
            return
        if encoding not in {"gzip", "x-gzip", "deflate"}:
            said = redact(self.header(b"content-encoding").strip())[:40]
            message = f"the answer is encoded as `{said}`, which was not asked for"
            raise UnknownEncoding(message)
        self._is_deflate = encoding == "deflate"
        self._decoder = zlib.decompressobj(BOTH_FORMATS)

    def add(self, moment: float, data: bytes, pieces: int = 1) -> bool:
        """Take in what arrived of the body; return whether it brought the end marker.

        Args:
            moment: when it arrived.
            data: as it was sent, without the frames of its chunks.
            pieces: in how many it was sent.

        Raises:
            TooManyPieces: the body came in more than `MAX_PIECES`.
            BodyTooLarge: the body grew beyond `MAX_BODY_BYTES` bytes.
            BodyError: the body is not what its content encoding says.
        """
        if self.first_byte is None:
            self.first_byte = moment
        self.pieces += pieces
        if self.pieces > MAX_PIECES:
            raise TooManyPieces
        if self._decoder is not None:
            data = self._decoded(self._decoder, data)
            if not data:
                return False
        self.size += len(data)
        if self.size > MAX_BODY_BYTES:
            raise BodyTooLarge
        self._body += data
        moments = self._moments
        if len(moments) >= MAX_EXACT_STAMPS and moment - moments[-1] < COARSE_S:
            self._ends[-1] = self.size
        else:
            moments.append(moment)
            self._ends.append(self.size)
        if self._end is None:
            return False
        window = self._tail + data
        if self._end.search(window):
            self.last_byte = moment
            return True
        self._tail = window[-OVERLAP:]
        return False

    def finish(self, moment: float) -> None:
        """Note that the answer arrived as a whole; an end marker's own moment stays."""
        self.complete = True
        if self.last_byte is None:
            self.last_byte = moment

    def _decoded(self, decoder: Decoder, data: bytes) -> bytes:
        if self._is_deflate:  # some servers leave the zlib header out
            self._is_deflate = False
            if data[0] & 0x0F != zlib.DEFLATED:
                self._decoder = decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        room = MAX_BODY_BYTES - self.size
        try:
            plain = decoder.decompress(data, room + 1)
        except zlib.error as exc:
            message = f"the answer is not what its content encoding says: {exc}"
            raise BodyError(message) from exc
        if decoder.unconsumed_tail:
            raise BodyTooLarge
        return plain
