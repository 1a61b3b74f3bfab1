"""`python -m analyze`: the same as the `analyze` command."""

from analyze.cli import process

if __name__ == "__main__":
    process()
