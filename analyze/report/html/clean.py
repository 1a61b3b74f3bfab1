r"""Text from outside, made visible before it stands in a page (D-H5).

Markup is the template engine's to escape; here is what would act as text: control characters,
characters that turn the direction or have no width, halves of surrogates, NUL. Each becomes the
escape that Python writes for it, such as `\u202e`, as on a terminal.
"""

from __future__ import annotations

from analyze.render.text import safe

LINE_ENDS = "\n"


def visible(text: str) -> str:
    """Return text whose every character can be seen; line ends and tabs stay."""
    if text.isprintable():
        return text
    lines = text.replace("\r\n", LINE_ENDS).split(LINE_ENDS)
    return LINE_ENDS.join("\t".join(map(safe, line.split("\t"))) for line in lines)


def visible_in(value: object) -> object:
    """Return a JSON value whose every text can be seen: names and values, at any depth."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible_in(name): visible_in(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible_in(inner) for inner in value]
    return value
