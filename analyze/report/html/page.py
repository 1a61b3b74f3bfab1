"""One HTML file of a report: the only module that knows the template engine.

Every value that a template prints is made visible first and escaped then, in one place; only
scripts, the style and data that is made safe here stand in the page as they are. Its policy:
nothing is fetched, and only what is in it by hash may run or style.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import cast

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from analyze.render.numbers import duration, moment, whole
from analyze.render.text import safe
from analyze.report.html.chart_bundle import fetched_bundle
from analyze.report.packed import PackedTrials, as_base64, deflater
from analyze.report.sections import SECTIONS
from analyze.report.sentences import headline_of, origin_of
from analyze.report.table import Table, anchors_of, explained, filled
from schemas.errors import counted
from schemas.output.report import RunReport
from schemas.run.model_names import id_of

SCRIPTS = tuple(
    f"{name}.js"
    for name in ["unpack", "tables", "links", "transcript", "trials", "cases", "matrix", "boot"]
)
"""In the order in which they stand in the page, each an element with a hash of its own."""

STYLE = "style.css"

SITE_STYLE = "site.css"
"""Beside it in a site."""

IN_DATA = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})
"""What JSON may hold and an element of a page may not, as JSON's escapes of it."""


def read_asset(name: str) -> str:
    """Return the text of a packaged file of the page."""
    return (files("analyze.report.html") / name).read_text(encoding="utf-8")


def read_template(name: str) -> str | None:
    """Return the text of a template; None: there is none."""
    try:
        return read_asset(f"templates/{name}")
    except FileNotFoundError:
        return None


def visible(text: str) -> str:
    r"""Return text whose every character can be seen; line ends and tabs stay.

    Markup is the template engine's to escape; here is what would act as text (D-H5): control
    characters, characters that turn the direction or have no width, halves of surrogates, NUL. Each
    becomes the escape that Python writes for it, such as `\u202e`, as on a terminal.
    """
    if text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(safe, line.split("\t"))) for line in lines)


def visible_in(value: object) -> object:
    """Return a JSON value whose every text can be seen: names and values, at any depth."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible_in(name): visible_in(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible_in(inner) for inner in value]
    return value


@dataclass(frozen=True, slots=True)
class ShownCharts:
    """The charts of a page."""

    names: Collection[str]
    origin: str
    """Which run they are of, for a picture of one that is passed on."""


@dataclass(frozen=True, slots=True)
class ShownSection:
    """One section of the page: its id, its title, and what stands in it.

    The id names its template too; a section that is a table alone needs none.
    """

    id: str
    title: str
    parts: dict[str, object]


def sections_of(report: RunReport) -> list[ShownSection]:
    """Return the sections of a report that have something to show, in the order of the page."""
    found = []
    meanings = {term.name: term.meaning for term in report.glossary} | {
        term.field: term.meaning for term in report.glossary if term.field
    }
    for name in SECTIONS:
        section = SECTIONS[name]
        shown = section.show(report)
        if isinstance(shown, Table):
            shown = {"table": shown} if shown.rows else None
        if shown:
            parts = {key: _explained(value, meanings) for key, value in shown.items()}
            found.append(ShownSection(name, section.title, parts))
    return found


def _explained(part: object, meanings: Mapping[str, str]) -> object:
    """Return a part whose tables have columns that hold something, and say what they mean."""
    if isinstance(part, Table):
        columns, rows = filled(part.columns, part.rows)
        return replace(part, columns=explained(columns, meanings), rows=rows)
    return [_explained(one, meanings) for one in part] if isinstance(part, list) else part


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return the Content-Security-Policy of a page with these scripts and styles and no others."""
    return "; ".join(
        (
            "default-src 'none'",
            _only("script-src", scripts),
            _only("style-src", styles),
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


SITE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'"
)
"""Of a page whose style and scripts are files beside it."""


def _only(directive: str, texts: Sequence[str]) -> str:
    return " ".join((directive, *(map(source_of, texts) if texts else ("'none'",))))


def source_of(text: str) -> str:
    """Return the source expression of one inline script or style: `'sha256-...'`."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@dataclass(frozen=True, slots=True)
class Assets:
    """Files that the pages of a site share, as a page refers to them."""

    style: str
    script: str
    library: str
    """Of the charts; only a page with charts asks for it."""


@dataclass(frozen=True, slots=True)
class SitePlace:
    """Where a page stands in a site: links, as URLs from the page itself."""

    key: str
    """Of all that the page is made of."""
    assets: Assets
    index: str
    previous: str = ""
    """The run before of its suite; empty without one."""
    next: str = ""


def render_html(
    report: RunReport,
    charts: Mapping[str, object],
    bundle: Callable[[], str] = fetched_bundle,
    site: SitePlace | None = None,
) -> str:
    """Return a report as one HTML file, which needs no other and asks for none.

    Args:
        report: the typed parts; nothing else is shown.
        charts: `config` of all charts, and `specs` by name; a chart without a spec is left out.
        bundle: gives the library of the charts; not asked without a chart, or in a site.
        site: that it is a page of: style and scripts are files of the site, and so is the library.

    Raises:
        AnalyzeError: the library of the charts cannot be had.
    """
    specs = cast("Mapping[str, object]", charts.get("specs") or {})
    library = bundle() if specs and site is None else ""
    scripts = [*map(read_asset, SCRIPTS)]
    style = read_asset(STYLE)
    alone = policy([library, *scripts] if specs else scripts, [style])
    return rendered(
        "page.html.j2",
        report=report,
        headline=headline_of(report),
        sections=sections_of(report),
        charts=ShownCharts(specs.keys(), origin_of(report.run)),
        data=_data(charts) if specs else "",
        library=deflated(library) if library else "",
        trials=_trials(report),
        policy=alone if site is None else SITE_POLICY,
        style=Markup(style),  # noqa: S704 - packaged with us
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - packaged with us
        site=site,
    )


def rendered(template: str, **values: object) -> str:
    """Return what a packaged template makes of some values, each of them escaped."""
    return _environment().get_template(template).render(**values)


def deflated(text: str) -> str:
    """Return a text as `unpack.js` reads it: raw deflate as base64."""
    compressor = deflater()
    return as_base64(compressor.compress(text.encode()) + compressor.flush())


def _trials(report: RunReport) -> str:
    """Return the transcripts of a report as the page embeds them; empty without any."""
    shown = report.transcripts.shown
    if not shown:
        return ""
    packed = PackedTrials(
        visible,
        models=[id_of(answer.model_id) for answer in report.answer],
        cases=[*dict.fromkeys(cell.case_id for cell in report.matrix.cells)],
    )
    for anchor, one in zip(anchors_of(shown), shown, strict=True):
        packed.add(anchor, one)
    return packed.embedded()


@cache
def _environment() -> Environment:
    """Return the engine, which compiles each template once."""
    environment = Environment(
        loader=FunctionLoader(read_template),
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    environment.filters.update(
        moment=moment,
        whole=whole,
        counted=counted,
        duration=duration,
    )
    return environment


def _shown(value: object) -> object:
    """Return a value as templates print it: text from outside with nothing in it that acts."""
    if isinstance(value, Markup):
        return value
    return visible(value) if isinstance(value, str) else value


def _data(charts: Mapping[str, object]) -> Markup:
    """Return the charts as JSON that cannot end the element it stands in."""
    text = json.dumps(visible_in(dict(charts)), separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(IN_DATA))  # noqa: S704 - made safe in the line above
