"""The policy of the page: nothing is fetched, and only what is in it by hash may run or style."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return the Content-Security-Policy of a page with these scripts and styles and no others."""
    return "; ".join(
        (
            "default-src 'none'",
            _only("script-src", scripts),
            _only("style-src", styles),
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _only(directive: str, texts: Sequence[str]) -> str:
    return " ".join((directive, *(map(source_of, texts) if texts else ("'none'",))))


def source_of(text: str) -> str:
    """Return the source expression of one inline script or style: `'sha256-...'`."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
