"""The page that the documentation shows is the page that `analyze report` makes today."""

import hashlib
import runpy
import struct

import pytest

from tests.support.paths import ROOT
from tests.support.watched_page import chromium

pytestmark = pytest.mark.docs

made_docs = runpy.run_path(str(ROOT / "docs" / "make.py"))
PAGE = made_docs["PAGE"]
PICTURES = made_docs["PICTURES"]


def test_the_sample_page_is_of_today(tmp_path):
    made_docs["make_page"](tmp_path / "page.html")

    again = "python docs/make.py page pictures"
    assert (tmp_path / "page.html").read_text() == PAGE.read_text(), f"of before: {again}"


def test_the_pictures_are_of_the_sample_page():
    shown = (PICTURES / "page.sha256").read_text().strip()

    again = "python docs/make.py pictures"
    assert shown == hashlib.sha256(PAGE.read_bytes()).hexdigest(), f"of before: {again}"
    for scheme in made_docs["SCHEMES"]:
        assert f"docs/pictures/report-{scheme}.png" in (ROOT / "README.md").read_text()


def size_of(picture):
    """Return width and height of a PNG, which stand in its header."""
    return struct.unpack(">II", picture.read_bytes()[16:24])


def test_pictures_are_made_of_a_page_in_both_colour_schemes(tmp_path):
    chromium()  # or say so
    made_docs["make_pictures"](PAGE, tmp_path)

    light, dark = (tmp_path / f"report-{scheme}.png" for scheme in made_docs["SCHEMES"])
    assert size_of(light) == size_of(dark) == tuple(made_docs["SIZE"].values())
    assert light.read_bytes() != dark.read_bytes()
