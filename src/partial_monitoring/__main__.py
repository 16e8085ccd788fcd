"""Run the command line as ``python -m partial_monitoring``."""

from partial_monitoring.cli import main

main(prog_name="pm")
