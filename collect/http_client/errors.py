"""How an exchange can fail, whoever carries it, and what a trial that ends so is called."""

from __future__ import annotations

from collections.abc import Iterator
from errno import ECONNREFUSED

MAX_BODY_BYTES = 32_000_000
"""Bytes of an answer, decoded; more is not an answer."""


MAX_PIECES = 1_000_000
"""Pieces of an answer: more than the tokens of any. Each costs time that every answer waits for."""


REFUSED = "refused"
"""The code of a connection that the machine at the other end refused: nobody listens there."""


def causes(exc: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and all that led to it, the outermost first."""
    while exc is not None:
        yield exc
        if isinstance(exc, BaseExceptionGroup):
            for one in exc.exceptions:
                yield from causes(one)
        exc = exc.__cause__ or exc.__context__


def words_of_error(exc: BaseException) -> str:
    """Return what the outermost error says that says anything; many of httpx say nothing."""
    return next((text for one in causes(exc) if (text := str(one))), type(exc).__name__)


def is_refusal(exc: BaseException | None) -> bool:
    """Return whether a connection was refused; where a host has several addresses, by any."""
    return any(
        isinstance(one, ConnectionRefusedError) or f"[Errno {ECONNREFUSED}]" in str(one)
        for one in causes(exc)
    )


class WireError(Exception):
    """An exchange failed; it keeps what had arrived.

    Args:
        text: what happened, for people.
        failure_type: of `schemas.failures`, where it is not that of the class.
        code: finer than that.
    """

    failure_type = "connection_error"
    code = "connect"

    def __init__(self, text: str, failure_type: str | None = None, code: str | None = None) -> None:
        super().__init__(text)
        self.failure_type = failure_type or self.failure_type
        self.code = code or self.code


class ConnectError(WireError):
    """There is nobody at that address, no such host, or no TLS."""


class ConnectRefused(ConnectError):
    """The machine at that address says that nobody listens there."""

    code = REFUSED


class ConnectTimeout(WireError):
    """There is nobody who answers."""

    failure_type, code = "timeout", "timeout"


class WriteError(WireError):
    """The connection was cut while the request was sent."""

    code = "write"


class ReadError(WireError):
    """The connection was cut while the answer was read."""

    failure_type, code = "stream_interrupted", "read"


class ProtocolError(WireError):
    """The server closed too early, or does not speak HTTP."""

    failure_type, code = "stream_interrupted", "protocol"


class BodyError(WireError):
    """The body is not what its content encoding says."""

    failure_type, code = "invalid_response", "encoding"


class BodyTooLarge(BodyError):
    """The answer is larger than any answer."""

    def __init__(self) -> None:
        super().__init__(f"the answer is larger than {MAX_BODY_BYTES:,} bytes")


class TooManyPieces(BodyError):
    """The answer comes in more pieces than any answer has."""

    def __init__(self) -> None:
        super().__init__(f"the answer came in more than {MAX_PIECES:,} pieces")


class UnknownEncoding(BodyError):
    """The body is encoded although it was asked for as it is, and in a way we do not read."""
