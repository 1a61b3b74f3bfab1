"""What tests of a trial's files share: a user without rights, a file that grows."""

import contextlib
import os
import stat
import threading

from tests.support.cage import OTHER_USER


def without_rights(work, source, folder):
    """Do something as a user who owns the files but is not root; return the exit code."""
    if os.geteuid() == 0:
        for path in (folder, source, *source.rglob("*")):
            os.chown(path, OTHER_USER, OTHER_USER)
        for above in folder.parents:
            if above.stat().st_uid == 0 and not above.stat().st_mode & stat.S_IXOTH:
                above.chmod(above.stat().st_mode | 0o011)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setresgid(OTHER_USER, OTHER_USER, OTHER_USER)
                os.setresuid(OTHER_USER, OTHER_USER, OTHER_USER)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextlib.contextmanager
def growing(path, step):
    """Hold a file that grows by so many bytes again and again, and now and then begins anew."""
    path.write_bytes(b"x")
    is_over = threading.Event()

    def grow():
        with path.open("ab") as file:
            while not is_over.is_set():
                file.write(b"y" * step)
                file.flush()
                if file.tell() > 5_000_000:
                    file.truncate(1)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
