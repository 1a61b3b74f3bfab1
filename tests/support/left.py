"""What a trial has left, kept as a sandbox keeps it."""

from collect.workspace import HOME, TMP
from collect.workspace.record import keep_workspace
from collect.workspace.snapshot import Budget


def leave(files, target, *, tmp=None, home=None):
    """Keep the files of a folder below `target`, with texts by their names in /tmp and the home."""
    folders = {TMP: files.parent / "tmp", HOME: files.parent / "home"}
    named = []
    for place, texts in ((TMP, tmp or {}), (HOME, home or {})):
        folders[place].mkdir(exist_ok=True)
        for name, text in texts.items():
            (folders[place] / name).write_text(text)
            named.append(f"{place}/{name}")
    budget = Budget(size=500_000_000, files=10_000, file_size=100_000_000)
    keep_workspace(files, target, budget, elsewhere=folders, named=named)
    target.mkdir(exist_ok=True)
    return target
