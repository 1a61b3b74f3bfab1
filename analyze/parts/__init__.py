"""Typed parts of a report (`schemas.report_parts`): one room a section, `build` puts them together.

Each room takes what was asked and returns records; nothing here knows how a report looks.
"""
