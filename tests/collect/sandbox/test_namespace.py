"""What lies in a closed folder of root's, shown to commands that run without its rights."""

import os

import pytest

from collect.sandbox.base import Command, SandboxError
from collect.sandbox.namespace import closed_above
from tests.support.cage import Cage, require_bwrap, temporary_folder

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders closed to it")


@pytest.fixture
def closed():
    """A folder that nobody else may look into, with a library and a secret."""
    require_bwrap()
    with temporary_folder() as folder:
        place = folder / "closed"
        (place / "python" / "lib").mkdir(parents=True)
        (place / "python" / "lib" / "a.txt").write_text("shown")
        (place / "python" / "tool").write_text("#!/bin/sh\necho a tool\n")
        (place / "python" / "tool").chmod(0o755)
        (place / "named").symlink_to("python/lib")
        (place / "secret").write_text("a secret")
        place.chmod(0o700)
        yield place


def run(shows, bound, *argv):
    cage = Cage(shows=[str(one) for one in shows])
    try:
        binds = tuple((str(one), str(one)) for one in bound)
        folders = cage.folders()
        return cage.call(cage.sandbox.run(folders, Command(argv=argv, binds=binds)))
    finally:
        cage.close()


def test_a_folder_a_file_and_a_link_are_found_and_nothing_around_them(closed):
    shows = [closed / "python" / "lib", closed / "python" / "tool", closed / "named"]

    done = run(
        shows, shows, "sh", "-c",
        f"cat {closed}/python/lib/a.txt {closed}/named/a.txt; {closed}/python/tool; "
        f"ls {closed}; echo x > {closed}/python/lib/a.txt",
    )  # fmt: skip

    assert done.stdout.data.decode().split() == ["shownshowna", "tool", "named", "python"]
    assert done.exit_code
    assert (closed / "python" / "lib" / "a.txt").read_text() == "shown"
    assert sorted(one.name for one in closed.iterdir()) == ["named", "python", "secret"], (
        "here all is as it was"
    )


def test_without_it_the_folder_is_closed(closed):
    with pytest.raises(SandboxError, match="Permission denied"):
        run([], [closed / "python" / "lib"], "true")


def test_what_is_not_there_is_said(closed):
    with pytest.raises(SandboxError, match="No such file"):
        run([closed / "gone"], [], "true")


def test_only_what_is_closed_is_shown(closed):
    assert closed_above(closed / "python" / "lib" / "a.txt") == closed
    assert closed_above(closed) == closed
    assert closed_above(closed.parent) is None
