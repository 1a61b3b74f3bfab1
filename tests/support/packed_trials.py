"""The trials that a page embeds, read as its own script reads them, in another language."""

import base64
import json
import re
import zlib

PACKED = re.compile(r'<script type="application/octet-stream" id="packed-trials">([^<]*)</script>')


def inflated(text):
    """Return what raw deflate as base64 holds."""
    return zlib.decompress(base64.b64decode(text, validate=True), -zlib.MAX_WBITS).decode()


def embedded_size(html):
    """Return the bytes that the trials take of a page."""
    found = PACKED.search(html)
    return len(found[1]) if found else 0


def trials_of(html):
    """Return the trials of a page as mappings, in their order."""
    found = PACKED.search(html)
    return unpacked(found[1]) if found else []


def unpacked(text):
    """Return packed trials as mappings."""
    head, *lines = inflated(text).splitlines()
    spec, known = json.loads(head), []

    def read(kind, value):
        match kind:
            case "text":
                if isinstance(value, int):
                    return known[value]
                if value:
                    known.append(value)
                return value or ""
            case "texts":
                return [read("text", one) for one in value or ()]
            case "rows":
                return [read("texts", one) for one in value or ()]
            case "parts":
                return [array(spec["part"], one) for one in value or ()]
        return value

    def array(places, values):
        padded = [*values, *[None] * (len(places) - len(values))]
        return {name: read(kind, value) for (name, kind), value in zip(places, padded, strict=True)}

    return [array(spec["trial"], json.loads(line)) for line in lines]
