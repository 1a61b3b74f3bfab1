"""A real Spark of several processes on this machine: a master, two workers, an executor on each.

Bound to the loopback, little memory, silent, no page of its own; all ends with the test file.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from analyze.spark.session import own_spark

N_WORKERS = 2

SIZE = ("--cores", "1", "--memory", "512m")
"""Of a worker."""

START_S = 60

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of a JVM that ends before the second compiler would pay."""

SETTINGS = {
    "spark.driver.memory": "768m",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": SHORT_LIVED,
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # rows by the hundred: plans that adapt and code that is compiled cost more than they save
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def need_spark() -> None:
    """Skip, or in CI fail, where Spark cannot run here; says what is missing and what brings it."""
    missing = []
    if importlib.util.find_spec("pyspark") is None:
        missing.append("pyspark (make spark)")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing.append("a Java runtime (apt-get install default-jre-headless)")
    if missing:
        reason = f"nothing was asked of Spark; missing: {', '.join(missing)}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@contextmanager
def spark_cluster(folder: Path) -> Iterator[str]:
    """Yield the address of a master with two workers, each a process with one core."""
    need_spark()
    import pyspark

    home = Path(pyspark.__file__).parent
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "192m"}
    own |= {"SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED}

    def start(name: str, kind: str, *words: object) -> Path:
        command = [
            *(home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}"),
            *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *words),
        ]
        log = folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(word) for word in command], env=os.environ | own, stdout=out, stderr=out
            )
        ended.callback(process.wait)
        ended.callback(process.terminate)
        return log

    with ExitStack() as ended:
        master = start("master", "master.Master")
        url = said(master, r"Starting Spark master at (spark://\S+)")
        names = [f"worker_{number}" for number in range(N_WORKERS)]
        logs = [
            start(name, "worker.Worker", *SIZE, "--work-dir", folder / name, url) for name in names
        ]
        for log in logs:
            said(log, "(registered with master)")
        yield url


def said(log: Path, pattern: str) -> str:
    """Return what a process of Spark says of itself once it is there."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.05)
    pytest.fail(f"{log.name} does not say {pattern}:\n{log.read_text(errors='replace')}")


@contextmanager
def cluster_session(master: str) -> Iterator[Any]:
    """Yield a session on a cluster, both of whose executors are there."""
    with own_spark(master, SETTINGS) as spark:
        session = spark.session()
        session.range(10).count()  # waits for both
        yield session


def n_executors(session: Any) -> int:
    """Return how many processes beside the driver's have done work."""
    infos = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return len(infos) - 1


def plain(value: Any) -> Any:
    """Return what Spark returns as what DuckDB does: a struct is a dict."""
    if hasattr(value, "asDict"):
        return {name: plain(part) for name, part in value.asDict().items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value
