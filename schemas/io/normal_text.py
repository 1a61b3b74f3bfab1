"""A text without what differs from one call to the next: by it two results are told to be the same.

A version is never changed, since hashes of it lie in lakes; another rule is another version.
"""

from __future__ import annotations

import re

NORM_VERSION = 1

MAX_NORM_BYTES = 4_096
"""Of the text that is looked at, from its beginning."""

PATH = re.compile(rb"(?<![\\/])[\\/]++[\w.@+~-]++(?:[\\/]++[\w.@+~-]++)++[\\/]?")
"""Of two parts or more: `/tmp/x`, and not the `/` of `and/or`."""

HEXADECIMAL = re.compile(rb"\b(?:0[xX])?[0-9A-Fa-f][0-9A-Fa-f-]{6,}\b")
"""Of seven digits or more, one of them decimal: hashes, addresses, UUIDs, and long numbers."""

DECIMAL = re.compile(rb"[0-9]")

NUMBER = re.compile(rb"[0-9]+(?:[.,:TZ_+-]+[0-9]+)*Z?")
"""And times, which are numbers with signs between them."""


def normal_text(text: str) -> bytes:
    """Return the normal form of a text, in version 1.

    Paths become `/`, hexadecimal and numbers `0`, any space one blank; blanks at the ends go. Case
    stays.

    Args:
        text: of which the first 4,096 bytes of UTF-8 count, up to a whole character.
    """
    raw = text[:MAX_NORM_BYTES].encode()[:MAX_NORM_BYTES].decode(errors="ignore").encode()
    raw = PATH.sub(b"/", raw)
    raw = HEXADECIMAL.sub(_hidden, raw)
    raw = NUMBER.sub(b"0", raw)
    return b" ".join(raw.split())


def _hidden(found: re.Match[bytes]) -> bytes:
    return b"0" if DECIMAL.search(found[0]) else found[0]
