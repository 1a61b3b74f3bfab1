"""`python -m collect`."""

from collect.cli import main

main()
