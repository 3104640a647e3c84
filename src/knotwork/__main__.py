"""`python -m knotwork`."""

from knotwork.cli import main

main()
