"""Text of the subject as a judge is shown it: fenced, cut, and with nothing in it that acts (D-G1).

A fence is a pair of brackets that no fenced text can hold, with a marker that its author cannot
know. Characters that nobody sees are spelled, since instructions can be written in them.
"""

from __future__ import annotations

import re
from secrets import token_hex

from schemas.redact import escape, spelled

OPEN, CLOSE = "⟦", "⟧"

MARKER_BYTES = 8

JOINERS = frozenset("\u200c\u200d")
"""Without width, and needed to write Persian, Hindi and many emoji."""

HIDDEN = re.compile("[\U000e0100-\U000e01ef\u3164\u115f\u1160\uffa0\u2800]")
"""Blank, though they count as printable: further variation selectors, fillers."""


def new_marker() -> str:
    """Return a marker for the fences of one prompt."""
    return token_hex(MARKER_BYTES)


def plain(text: str) -> str:
    r"""Return text in which everything can be seen, and no bracket of a fence is.

    What cannot be seen becomes the escape that Python writes for it, such as `\u202e`; line ends,
    tabs and the two joiners stay.
    """
    text = text.replace("\r\n", "\n").replace(OPEN, escape(OPEN)).replace(CLOSE, escape(CLOSE))
    text = HIDDEN.sub(lambda found: escape(found[0]), text)
    return spelled(text, keeps=lambda char: char.isprintable() or char in JOINERS or char in "\n\t")


def cut(text: str, most_chars: int) -> str:
    """Return text of at most so many characters of its own, the middle left out and counted."""
    if len(text) <= most_chars:
        return text
    tail = most_chars // 3
    head = most_chars - tail
    return f"{text[:head]}\n[{len(text) - most_chars} characters left out]\n{text[-tail:]}"


def fenced(text: str, label: str, marker: str, most_chars: int) -> str:
    """Return a fenced text.

    Args:
        text: of the subject, as it came.
        label: what it is; the opening and the closing line name it.
        marker: of the prompt.
        most_chars: that are shown of it.
    """
    body = plain(cut(text, most_chars))
    return f"{OPEN}{label} {marker}{CLOSE}\n{body}\n{OPEN}/{label} {marker}{CLOSE}"
