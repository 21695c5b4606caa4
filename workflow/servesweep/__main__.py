"""`python3 -m servesweep` is the command `servesweep`."""

from servesweep.cli import main

main()
