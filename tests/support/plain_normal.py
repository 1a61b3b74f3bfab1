"""The normal form of a result's text, by character: what the rules have to agree with.

Standard library only, and nothing of the package: the rules are written down a second time.
"""

MAX_BYTES = 4_096
SLASHES = frozenset("\\/")
DIGITS = frozenset("0123456789")
HEX_DIGITS = DIGITS | frozenset("abcdefABCDEF")
WORD = DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
NAME = WORD | frozenset(".@+~-")
SIGNS = frozenset(".,:TZ_+-")
SPACES = " \t\n\r\x0b\x0c"


def normal_form(text):
    """Return the normal form of a text in version 1, as bytes."""
    begin = text[:MAX_BYTES]
    while len(begin.encode()) > MAX_BYTES:
        begin = begin[:-1]
    for rule in (_without_paths, _without_hexadecimal, _without_numbers):
        begin = rule(begin)
    for space in SPACES:
        begin = begin.replace(space, " ")
    return " ".join(word for word in begin.split(" ") if word).encode()


def _run(text, at, allowed):
    """Return where a run of characters ends."""
    while at < len(text) and text[at] in allowed:
        at += 1
    return at


def _without_paths(text):
    made, at = [], 0
    while at < len(text):
        end = None
        if text[at] in SLASHES and (at == 0 or text[at - 1] not in SLASHES):
            end = _path_end(text, at)
        made.append(text[at] if end is None else "/")
        at = at + 1 if end is None else end
    return "".join(made)


def _path_end(text, at):
    """Return where a path of two parts or more ends; None where none begins."""
    n_parts = 0
    while True:
        name = _run(text, at, SLASHES)
        end = _run(text, name, NAME)
        if name == at or end == name:
            break
        at, n_parts = end, n_parts + 1
    if n_parts < 2:
        return None
    return at + 1 if at < len(text) and text[at] in SLASHES else at


def _is_border(text, at):
    before = at > 0 and text[at - 1] in WORD
    after = at < len(text) and text[at] in WORD
    return before != after


def _without_hexadecimal(text):
    made, at = [], 0
    while at < len(text):
        end = _hexadecimal_end(text, at) if _is_border(text, at) else None
        if end is None:
            made.append(text[at])
            at += 1
            continue
        found = text[at:end]
        made.append("0" if DIGITS & set(found) else found)
        at = end
    return "".join(made)


def _hexadecimal_end(text, at):
    """Return where seven hexadecimal digits or more end, at a border of a word; else None."""
    first = at + 2 if text[at : at + 2] in {"0x", "0X"} else at
    if first >= len(text) or text[first] not in HEX_DIGITS:
        return None
    last = _run(text, first, HEX_DIGITS | {"-"})
    borders = (end for end in range(last, first + 6, -1) if _is_border(text, end))
    return next(borders, None)


def _without_numbers(text):
    made, at = [], 0
    while at < len(text):
        if text[at] not in DIGITS:
            made.append(text[at])
            at += 1
            continue
        at = _run(text, at, DIGITS)
        while True:
            signs = _run(text, at, SIGNS)
            end = _run(text, signs, DIGITS)
            if signs == at or end == signs:
                break
            at = end
        at += text[at : at + 1] == "Z"
        made.append("0")
    return "".join(made)
