"""Which Python and which packages run this, and is the embedded model there?"""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from collect.config.embedded import ENGINE
from collect.doctor.context import Scene, and_more
from collect.doctor.findings import found
from collect.local.weights import find_weights
from collect.local.wheel import SIZE_BYTES
from schemas.output.doctor import DoctorCheck

SHOWN = ("benchlake", "httpx", "pydantic", "pyarrow", "duckdb")


async def check_packages(scene: Scene) -> list[DoctorCheck]:
    """Return findings on Python, our packages, the event loop and the embedded model."""
    versions = {name: _version(name) for name in SHOWN}
    missing = [name for name, one in versions.items() if one is None]
    checks = [
        found("packages", "python", "ok", f"{platform.python_version()} at {sys.executable}"),
    ]
    if missing:
        text = f"not installed: {', '.join(missing)}"
        advice = f"{sys.executable} -m pip install --upgrade benchlake"
        checks.append(found("packages", "versions", "fail", text, advice))
    else:
        text = ", ".join(f"{name} {one}" for name, one in versions.items())
        checks.append(found("packages", "versions", "ok", text, details=dict(versions)))
    return [*checks, _loop(), _embedded(scene)]


def _loop() -> DoctorCheck:
    if (uvloop := _version("uvloop")) is not None:
        return found(
            "packages", "event loop", "ok", f"uvloop {uvloop}", details={"version": uvloop}
        )
    text = "uvloop is not installed: stamps of hundreds of requests at once come later"
    return found("packages", "event loop", "warn", text, "pip install uvloop")


def _embedded(scene: Scene) -> DoctorCheck:
    users = scene.embedded()
    if find_spec(ENGINE) is None:
        advice = "pip install 'benchlake[local]'"
        if users:
            text = f"its engine is not installed; needed by {and_more([name for name, _ in users])}"
            return found("packages", "embedded model", "fail", text, advice)
        text = "not installed; `provider: embedded` and `collect demo` need it"
        return found("packages", "embedded model", "skip", text, advice)
    engine = _version(ENGINE)
    if find_weights() is None:
        megabytes = SIZE_BYTES // 1_000_000
        text = f"engine {engine}; its weights ({megabytes} MB) are fetched at the first run"
        return found("packages", "embedded model", "ok", text, details={"version": engine})
    text = f"engine {engine} and weights are there"
    return found("packages", "embedded model", "ok", text, details={"version": engine})


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
