"""Charts, one idea a file: a frame goes in, an `alt.Chart` comes out.

The frames are those of `analyze.frames` and of the marts, aggregated in SQL already; what a chart
needs of them stands in its docstring.
"""
