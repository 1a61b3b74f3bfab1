"""The child process that serves a GGUF file over HTTP on the loopback interface.

`python -m collect.local.server --model=PATH --alias=NAME --slots=4 --context=4096 --threads=1`

Prints one JSON line, `{"port": N}`, when it answers, and lives until its standard input ends, so
that it is gone when its parent is, however that died. Everything else goes to standard error.

Imports nothing of this project, because it is started by its path. The engine is loaded only here,
never in the process that measures.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import time
from typing import Any
from urllib.parse import urlsplit

KEY_VARIABLE = "BENCHLAKE_LOCAL_API_KEY"
"""The key comes through the environment, because every user of the machine can read arguments."""
PARENT_CHECK_SECONDS = 1.0
LAST_WORDS_SECONDS = 0.5
"""The engine logs from a thread of its own, which an exit at once would cut off."""
LOG_ERRORS_ONLY = 1


def main() -> None:
    """Serve until standard input ends or the parent is gone; exit code 1 when that cannot start."""
    parser = argparse.ArgumentParser(description="Serve a GGUF file on a free loopback port.")
    parser.add_argument("--model", required=True, help="path of the GGUF file")
    parser.add_argument("--alias", required=True, help="the model's name in answers")
    parser.add_argument("--slots", type=int, required=True, help="requests served at once")
    parser.add_argument("--context", type=int, required=True, help="tokens per slot")
    parser.add_argument("--threads", type=int, required=True, help="cores to compute with")
    options = parser.parse_args()
    if not (api_key := os.environ.get(KEY_VARIABLE)):
        sys.exit(f"{KEY_VARIABLE} is not set: the server is not started without a key")
    parent = os.getppid()
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever the engine prints must not be taken for our one line
    try:
        server = _start(options, api_key)
    except (ImportError, RuntimeError) as exc:
        time.sleep(LAST_WORDS_SECONDS)
        sys.exit(f"{type(exc).__name__}: {exc}")
    port = urlsplit(server.listening_address).port
    os.write(answers, json.dumps({"port": port}).encode() + b"\n")
    _wait_for_the_end(parent)
    os._exit(0)  # requests in flight have nobody left to read them


def _start(options: argparse.Namespace, api_key: str) -> Any:
    """Return the engine's server, loaded and listening."""
    import xllamacpp  # noqa: PLC0415

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.n_parallel = options.slots
    params.n_ctx = options.slots * options.context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.use_jinja = True
    params.endpoint_metrics = True
    params.ui = False
    params.fit_params = False  # would load the model twice to guess what is set above
    params.cache_ram_mib = 0  # the default keeps up to 8 GB of old prompts in memory
    params.verbosity = LOG_ERRORS_ONLY
    return xllamacpp.Server(params)


def _wait_for_the_end(parent: int) -> None:
    """Return when standard input ends or the parent is another process than at the start.

    The second condition covers a pipe kept open by some other child of the parent. The kernel's
    parent-death signal is no substitute: it fires when the *thread* that started us ends.
    """
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], PARENT_CHECK_SECONDS)
        if readable and not os.read(0, 4096):
            return


if __name__ == "__main__":
    main()
