"""Where an event of a stream ends: at its blank line, and the end marker also without one."""

import pytest

from collect.providers.http import END_MARKER, events


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n", "\ndata: "])
def test_an_event_without_its_blank_line_is_torn(end):
    raw = b"data: a\n\ndata: b" + end.encode()

    assert list(events(raw)) == [(b"a", 9)]


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n"])
def test_the_end_marker_is_taken_however_it_ends(end):
    raw = b"data: a\n\ndata: [DONE]" + end.encode()

    assert list(events(raw)) == [(b"a", 9), (END_MARKER, len(raw))]


def test_an_event_may_have_several_lines_and_other_fields_between():
    raw = b"\xef\xbb\xbf: x\ndata: a\nid: 1\r\ndata:b\r\n\r\n\ndata\n\ndata:\n\n"

    assert list(events(raw)) == [(b"a\nb", 32)]
