"""How the lake is asked: what every view reads, and under which names."""
