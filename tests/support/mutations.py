"""Small wrong changes of the bytes of a file, the same ones for a seed."""

import json
import random

ODD = (
    b"null", b"true", b"-1", b"1e999", b"NaN", b"Infinity", b"1" * 5000, b'"\\ud800"', b"[]", b"{}",
    b'""', b'{"a":' * 60, b"[" * 3000, b"\xff\xfe", b"\x00", b'"results":', b"99999999999999999999",
)  # fmt: skip


def mutated(content, seed):
    """Return a file with one to four changes: bytes cut, doubled, swapped, or made odd."""
    rng = random.Random(seed)
    found = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found) + 1)
        length = min(rng.choice((1, 3, 20, 200)), len(found) - at)
        match rng.randrange(5):
            case 0:
                del found[at : at + length]
            case 1:
                found[at:at] = found[at : at + length]
            case 2:
                found[at : at + length] = rng.choice(ODD)
            case 3:
                _value_replaced(found, rng)
            case _:
                found[at : at + length] = rng.randbytes(length)
    return bytes(found)


def _value_replaced(found, rng):
    """Put something odd where a value of some key is, so that the JSON may stay whole."""
    colons = [n for n, byte in enumerate(found) if byte == ord(":")]
    if colons:
        at = rng.choice(colons) + 1
        ends = [n for n in range(at, len(found)) if found[n] in b",}]"]
        found[at : ends[0] if ends else len(found)] = b" " + rng.choice(ODD)


VALUES = (
    None, True, -1, 0.5, 10**400, float("inf"), "", "\ud800", "x" * 9000, [], {}, [[]], {"a": {}},
    [None, 1, "a"], {"": [1]}, "0" * 64, "[1]", 2**53,
)  # fmt: skip


def with_odd_value(document, seed):
    """Return a JSON document in which one to three values are others, at any depth."""
    rng = random.Random(seed)
    found = json.loads(json.dumps(document))
    for _ in range(rng.randint(1, 3)):
        inner = found
        while True:
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(inner[key], dict | list) and inner[key] and rng.random() < 0.85:
                inner = inner[key]
                continue
            inner[key] = rng.choice(VALUES)
            break
    return found
