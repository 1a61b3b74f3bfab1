"""The portable views on a real Spark, over the same Parquet files that DuckDB reads.

One session for a test file: local, no UI, no network but the loopback that Python and the JVM talk
over, little memory, silent.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from analyze.query.catalog import VIEWS, name_of, portable_sql_of

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # rows by the hundred: plans that adapt and code that is compiled cost more than they save
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
}
QUIET = """status = off
appender.nowhere.type = Null
appender.nowhere.name = nowhere
rootLogger.level = off
rootLogger.appenderRef.nowhere.ref = nowhere
"""
"""Rules for log4j; without an appender Spark takes its own instead."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of a JVM that ends before the second compiler would pay."""


def need_spark() -> None:
    """Skip, or in CI fail, where Spark cannot run here; says what is missing and what brings it."""
    missing = []
    if importlib.util.find_spec("pyspark") is None:
        missing.append("pyspark (make spark)")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing.append("a Java runtime (apt-get install default-jre-headless)")
    if missing:
        reason = f"the views were not compared with Spark; missing: {', '.join(missing)}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@contextmanager
def spark_session(folder: Path) -> Iterator[Any]:
    """A Spark of two threads that keeps its files in `folder` and ends with its JVM."""
    need_spark()
    log_rules = folder / "log4j2.properties"
    log_rules.write_text(QUIET)
    options = f"-Dlog4j2.configurationFile={log_rules} {SHORT_LIVED}"
    own = {
        "spark.driver.extraJavaOptions": options,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.delenv("SPARK_HOME", raising=False)
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("views")
        session = builder.config(map=SETTINGS | own).getOrCreate()
        gateway = SparkContext._gateway
        try:
            yield session
        finally:
            session.stop()
            gateway.shutdown()
            gateway.proc.stdin.close()  # the JVM ends with its parent's pipe
            gateway.proc.wait(timeout=30)
            SparkContext._gateway = SparkContext._jvm = None


def create_views_on_spark(session: Any, tables: Mapping[str, Sequence[Path]]) -> None:
    """Create every view, in their order, over raw tables of Parquet files.

    What marts stand on is computed once and kept: planning it again for each takes longest.
    """
    for table, paths in tables.items():
        frame = session.read.parquet(*map(str, paths))
        frame.createOrReplaceTempView(f"raw_{table}")
    for view in VIEWS:
        name, sql = name_of(view), portable_sql_of(view)
        if view.startswith("marts/"):
            session.sql(f"create or replace temporary view {name} as\n{sql}")
        else:
            session.sql(sql).localCheckpoint().createOrReplaceTempView(name)


def plain(value: Any) -> Any:
    """Return what Spark returns as what DuckDB does: a struct is a dict."""
    if hasattr(value, "asDict"):
        return {name: plain(part) for name, part in value.asDict().items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value
