"""Results of a search that name the benchmark itself, and are dropped.

A page about a benchmark may hold its questions and their answers. What names it is known by words,
phrases and hosts. Only words are compared: letter case, accents and whatever stands between two
words count for nothing, so `SWE-bench`, `swe_bench` and `Swe Bench` are one phrase, and no word is
found inside another. In scripts that put no space between words (Chinese, Japanese, Thai) each
character may begin one, as Unicode has it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import unescape
from urllib.parse import unquote, urlsplit

from schemas.config.project import HOST

MAX_COMPARED_CHARS = 20_000
"""Characters of one field of a result that are looked through."""

TAG = re.compile(r"<[^<>]{0,200}>")

MIN_ID_WORDS, MIN_ID_LETTERS, MIN_TITLE_WORDS = 2, 8, 3
"""What the name of a suite needs to say which one is meant: `demo` says nothing."""


def blocked_of(suite_id: str, title: str) -> tuple[str, ...]:
    """Return the phrases of a suite itself, where they are none that everybody uses."""
    letters = sum(map(str.isalpha, suite_id))
    has_id = len(folded(suite_id).split()) >= MIN_ID_WORDS or letters >= MIN_ID_LETTERS
    has_title = len(folded(title).split()) >= MIN_TITLE_WORDS
    return tuple(dict.fromkeys([suite_id] * has_id + [title] * has_title))


def folded(text: str) -> str:
    """Return the words of a text, one space between them: case and accents gone, signs left out."""
    import regex  # noqa: PLC0415 - 20 ms that runs without the tool do not pay

    plain = unicodedata.normalize("NFKD", text).casefold()
    bare = regex.sub(r"[\p{Mn}\p{Me}\p{Cf}]+", "", plain)
    return regex.sub(r"[^\p{L}\p{N}\p{Mc}]+", " ", bare).strip()


def untagged(text: str) -> str:
    """Return a text without HTML, in which engines mark the words that were searched for."""
    return unescape(TAG.sub("", text))


class Term:
    """One word, phrase or host that no result may name."""

    def __init__(self, written: str) -> None:
        """Make ready what is looked for; a text without a word is found nowhere."""
        import regex  # noqa: PLC0415 - as above

        self.written = written
        words = folded(written)
        self._pattern = regex.compile(rf"(?w)\b{regex.escape(words)}\b") if words else None
        host = _plain_host(written)
        self._host = host if "." in host and HOST.fullmatch(host) else None

    def is_named(self, words: str, address: str, path: str, host: str) -> bool:
        """Return whether a result names it; all but the host in folded text.

        A host is compared with hosts as a whole, so that example.co is not in example.co.uk.
        """
        if self._host is not None:
            if host == self._host or host.endswith(f".{self._host}"):
                return True
            address = path
        return self._pattern is not None and any(map(self._pattern.search, (words, address)))


class Blocklist:
    """Everything that no result of a search may name."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = [Term(text) for text in dict.fromkeys(map(str.strip, terms)) if text]

    def named_in(self, title: str, url: str, snippet: str) -> str | None:
        """Return what a result names, as it was written; None: nothing."""
        if not self._terms:
            return None
        texts = [text[:MAX_COMPARED_CHARS] for text in (title, snippet)]
        texts += [untagged(text) for text in texts if "<" in text or "&" in text]
        words = "\n".join(map(folded, texts))  # no phrase reaches across a line
        address = unquote(url[:MAX_COMPARED_CHARS])
        host, path = _parts(address)
        place, below = folded(address), folded(path)
        for term in self._terms:
            if term.is_named(words, place, below, host):
                return term.written
        return None


def _parts(url: str) -> tuple[str, str]:
    """Return the host of an address and what follows it; no host where it is no address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", url
    return _plain_host(host), f"{parts.path}?{parts.query}#{parts.fragment}"


def _plain_host(host: str) -> str:
    """Return a host as name servers know it: lower case, other scripts in ASCII, no last dot."""
    host = host.strip().rstrip(".").lower()
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:  # a label that no host has
        return host
