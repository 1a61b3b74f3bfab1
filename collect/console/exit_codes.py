"""How a command ends: errors made on purpose with their sentence and exit code (D-I1)."""

from __future__ import annotations

import sys
from collections.abc import Callable

from schemas.errors import EXIT_BAD_NEWS, EXIT_OK, BenchError, file_error
from schemas.io.standard_streams import is_trouble_of_output


def exit_code_of(app: Callable[[], object]) -> int:
    """Run the command and return its exit code."""
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else EXIT_OK
    except BenchError as exc:
        from schemas.io.files import shortage_of

        lines = str(exc).splitlines()
        if (text := shortage_of(exc)) is not None and "ulimit" not in lines[-1]:
            lines.append(text)
        sys.stderr.write("".join(f"error: {line}\n" for line in lines))
        return exc.exit_code
    except Exception as exc:  # noqa: BLE001 - a mistake of ours, and no other
        if isinstance(exc, OSError) and is_trouble_of_output(exc):
            return EXIT_BAD_NEWS
        from schemas.io.files import shortage_of

        if (text := shortage_of(exc)) is not None:
            sys.stderr.write(f"error: {text}\n")
            return EXIT_BAD_NEWS
        if isinstance(exc, OSError) and (error := file_error(exc)) is not None:
            sys.stderr.write(f"error: {error}\n")
            return error.exit_code
        from traceback import print_exc

        print_exc()
        return EXIT_BAD_NEWS
    return EXIT_OK
