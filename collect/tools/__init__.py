"""Tools a model may use, and how their use is recognised."""
