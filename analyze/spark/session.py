"""A Spark of our own: started without a word, ended with its JVM whatever happens.

Whoever has a session already hands it to `analyze.api.spark`; this one is for a command. What Spark
writes to its log goes nowhere, what Java says while it starts is kept for the sentence of an error.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import AnalyzeError, ConfigError, Problem, printable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
}
"""Of the session; what a user sets counts more."""

HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""Of a session whose workers are on this machine."""

QUIET = """status = off
appender.nowhere.type = Null
appender.nowhere.name = nowhere
rootLogger.level = off
rootLogger.appenderRef.nowhere.ref = nowhere
"""
"""Rules for log4j; without an appender Spark takes its own instead."""

END_S = 10
"""Seconds in which a JVM has to end by itself."""

LOST = ("stopped SparkContext", "SparkContext was shut down", "All masters are unresponsive")
"""What Spark says where its master, or its driver, has gone."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"


class SparkFailed(AnalyzeError):
    """Spark did not start, or was lost."""


class OwnSpark:
    """A session and the process behind it, which starts when it is first asked for."""

    def __init__(self, master: str, settings: Mapping[str, str], folder: Path) -> None:
        self.master = master
        self._settings = settings
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._session: SparkSession | None = None

    @property
    def is_started(self) -> bool:
        """Return whether its session has begun."""
        return self._session is not None

    def session(self) -> SparkSession:
        """Return the session; another thread may end it meanwhile.

        Raises:
            SparkFailed: it did not start; says why.
        """
        if self._session is None:
            self._session = self._start()
        return self._session

    def kill(self) -> None:
        """End the process at once, whatever it does; the session is of no use then."""
        if self._process is not None:
            self._process.kill()

    def _start(self) -> SparkSession:
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - takes long, and few have it
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415

        said, why = self._folder / "said", ""
        try:
            conf = SparkConf(loadDefaults=False).setAll(list(self._facts().items()))
            with said.open("wb") as out:
                gateway = launch_gateway(conf, {"stdout": out, "stderr": subprocess.STDOUT})
            self._process = gateway.proc
            return SparkSession(SparkContext(gateway=gateway, conf=conf))
        except Exception as exc:  # noqa: BLE001 - of Python, of Java, or of the way between
            why = first_line(exc)
        if self._process is None:
            lines = said.read_text(encoding="utf-8", errors="replace").splitlines()
            why = next((line for line in lines if line.strip()), why)
        if any(words in why for words in LOST):
            raise SparkFailed(lost(self.master))
        message = f"Spark did not start at {printable(self.master)}: {printable(why)}"
        raise SparkFailed(message)

    def _facts(self) -> dict[str, str]:
        rules = self._folder / "log4j2.properties"
        rules.write_text(QUIET, encoding="utf-8")
        own = {
            "spark.master": self.master,
            "spark.app.name": "benchlake",
            "spark.local.dir": str(self._folder / "local"),
            "spark.sql.warehouse.dir": str(self._folder / "warehouse"),
        }
        is_here = self.master.startswith(("local", "spark://127.0.0.1", "spark://localhost"))
        facts = SETTINGS | (HERE if is_here else {}) | own | dict(self._settings)
        given = self._settings.get(JAVA_OPTIONS, "")
        return facts | {JAVA_OPTIONS: f"-Dlog4j2.configurationFile={rules} {given}".strip()}

    def close(self) -> None:
        """End session and process; one that was killed, or hangs, is not waited for."""
        if self._process is None:
            return
        from pyspark import SparkContext  # noqa: PLC0415

        if self._session is not None and self._process.poll() is None:
            with contextlib.suppress(Exception):
                self._session.stop()
        with contextlib.suppress(Exception):
            SparkContext._gateway.shutdown()
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]  # a JVM ends with this pipe
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _forget()


def require_spark() -> None:
    """Refuse what needs Spark where it is not installed.

    Raises:
        ConfigError: says what to install.
    """
    missing = []
    if importlib.util.find_spec("pyspark") is None:
        missing.append("more packages: pip install 'benchlake[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing.append(
            "a Java runtime, version 17 or later, such as apt-get install default-jre-headless; "
            "JAVA_HOME names one that is not on PATH"
        )
    if missing:
        raise ConfigError([Problem(None, f"Spark needs {' and '.join(missing)}")])


@contextmanager
def own_spark(master: str, settings: Mapping[str, str]) -> Iterator[OwnSpark]:
    """Yield a Spark that ends with the block; nothing of its libraries writes anything meanwhile.

    Args:
        master: such as `local[*]` or `spark://host:7077`.
        settings: of Spark, by name.

    Raises:
        ConfigError: Spark or Java is not installed.
    """
    require_spark()
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            tempfile.TemporaryDirectory(
                prefix="benchlake-spark-", ignore_cleanup_errors=True
            ) as one,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            spark = OwnSpark(master, settings, Path(one))
            try:
                yield spark
            finally:
                spark.close()
    finally:
        logging.disable(before)


def _forget() -> None:
    """Let the next session of this process start a JVM of its own."""
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def lost(master: str) -> str:
    """Return what is said where nobody answers any more."""
    return f"no Spark answers at {printable(master)}, or it was lost on the way"


def first_line(exc: Exception) -> str:
    """Return what an error of Spark says, without its code and what Java was doing."""
    text = str(exc)
    java = getattr(exc, "java_exception", None)
    if java is not None:
        with contextlib.suppress(Exception):
            text = str(java.getMessage() or java.toString())
    line = next((one for one in text.splitlines() if one.strip()), type(exc).__name__)
    return line.partition(" SQLSTATE: ")[0].strip().rstrip(".")
