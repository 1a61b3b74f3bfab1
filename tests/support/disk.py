"""A small disk of its own, for tests of what happens when it is full."""

import contextlib
import shutil
import subprocess

import pytest


class Disk:
    """A mounted file system."""

    def __init__(self, folder):
        self.folder = folder

    def resize(self, size):
        subprocess.check_call(["mount", "-o", f"remount,size={size}", self.folder])


@contextlib.contextmanager
def mounted_disk(folder, size="3m"):
    """Mount a tmpfs for the block; skip the test where this process may not."""
    folder.mkdir()
    done = shutil.which("mount") and not subprocess.call(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if not done:
        pytest.skip("needs leave to mount a tmpfs: a real full disk cannot be made here")
    yield Disk(folder)
    subprocess.check_call(["umount", folder])
