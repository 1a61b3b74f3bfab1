"""Typed parts of a report (`schemas.output.report`): one room a section, `build` joins them.

Each room takes what was asked and returns records; nothing here knows how a report looks.
"""
