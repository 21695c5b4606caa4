"""Makes `python3 -m servesweep.simulator` start the server."""

import sys

from servesweep.simulator.command_line import main

if __name__ == "__main__":
    sys.exit(main())
