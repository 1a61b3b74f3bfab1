"""Makes inputs out of a corpus: stored ones, cut, joined, repeated and mixed with known words."""

import random
import zlib
from itertools import pairwise

from hypothesis import strategies as st

LONGEST = 1 << 18
"""Bytes of an input; nothing that is read here needs more to go wrong."""

PLACE = st.integers(0, 1 << 16)


def inputs(corpus, words):
    """Return a strategy of bytes.

    Args:
        corpus: what an input begins as.
        words: what is put into it, pieces of the format.
    """
    piece = st.one_of(st.sampled_from(words), st.sampled_from(words), st.binary(max_size=4))
    made = st.lists(piece, max_size=30).map(b"".join)
    edit = st.one_of(
        st.tuples(st.just(_insert), PLACE, piece),
        st.tuples(st.just(_replace), PLACE, piece),
        st.tuples(st.just(_remove), PLACE, st.integers(1, 64)),
        st.tuples(st.just(_end), PLACE),
        st.tuples(st.just(_repeat), PLACE, st.integers(1, 64), st.integers(2, 300)),
        st.tuples(st.just(_flip), PLACE, st.integers(0, 7)),
        st.tuples(st.just(_join), PLACE, st.sampled_from(corpus), PLACE),
    )
    begun = st.one_of(st.sampled_from(corpus), st.sampled_from(corpus), made)
    return st.builds(_edited, begun, st.lists(edit, max_size=6))


def cuts(data, ways=3):
    """Return ways to take an input apart, always the same of the same input.

    Whole, a byte at a time where it is short, and a few at random.
    """
    chance = random.Random(zlib.crc32(data))
    found = [[data]]
    if len(data) <= 600:
        found.append([data[at : at + 1] for at in range(len(data))])
    for _ in range(ways):
        places = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randint(1, 4)))
        edges = [0, *places, len(data)]
        pieces = [data[a:b] for a, b in pairwise(edges)]
        found.append([piece for piece in pieces if piece])
    return found


def _edited(data, edits):
    for edit, *facts in edits:
        data = edit(data, *facts)[:LONGEST]
    return data


def _at(data, place):
    return place % (len(data) + 1)


def _insert(data, place, piece):
    at = _at(data, place)
    return data[:at] + piece + data[at:]


def _replace(data, place, piece):
    at = _at(data, place)
    return data[:at] + piece + data[at + len(piece) :]


def _remove(data, place, length):
    at = _at(data, place)
    return data[:at] + data[at + length :]


def _end(data, place):
    return data[: _at(data, place)]


def _repeat(data, place, length, times):
    at = _at(data, place)
    return data[:at] + data[at : at + length] * times + data[at + length :]


def _flip(data, place, bit):
    at = _at(data, place)
    return data[:at] + bytes(byte ^ (1 << bit) for byte in data[at : at + 1]) + data[at + 1 :]


def _join(data, place, other, place_of_other):
    return data[: _at(data, place)] + other[_at(other, place_of_other) :]
