"""`python -m analyze`: the same as the `analyze` command."""

from analyze.cli import main

if __name__ == "__main__":
    main()
