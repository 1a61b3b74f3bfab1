"""What was waited for to be on the disk, by the identity of the file and not by its name."""

import os
import stat
from pathlib import Path


class Synced:
    """Records each fsync: which file or folder, how large it was, and what lay in it."""

    def __init__(self, monkeypatch):
        self.steps = []
        self._fsync, self._rename = os.fsync, Path.rename
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(Path, "rename", self._renaming())

    def fsync(self, handle):
        facts = os.fstat(handle)
        is_folder = stat.S_ISDIR(facts.st_mode)
        names = [entry.name for entry in os.scandir(handle)] if is_folder else ()
        self.steps.append(("sync", facts.st_ino, facts.st_size, frozenset(names)))
        self._fsync(handle)

    def _renaming(self):
        def rename(path, target):
            self.steps.append(("name", path.stat().st_ino, Path(target).name))
            return self._rename(path, target)

        return rename

    def whole(self, path):
        """Return the steps at which a file was synced as large as it is now."""
        facts = path.stat()
        wanted = ("sync", facts.st_ino, facts.st_size)
        return [place for place, step in enumerate(self.steps) if step[:3] == wanted]

    def named(self, path):
        """Return the step at which a file got its name."""
        return self.steps.index(("name", path.stat().st_ino, path.name))

    def holding(self, folder, name):
        """Return the steps at which a folder was synced with a name in it."""
        inode = folder.stat().st_ino
        return [
            place
            for place, step in enumerate(self.steps)
            if step[:2] == ("sync", inode) and name in step[3]
        ]
