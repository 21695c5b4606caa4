"""Snakemake, loaded before it is known what it is to do.

`servesweep run` starts this first, prepares its deployment meanwhile, and then writes one line of JSON:
Snakemake's words, the log, the environment. Without a line there is nothing to do.
"""

import json
import os
import sys

from snakemake.cli import get_argument_parser, main

# What loads the plugins too.
get_argument_parser()
line = sys.stdin.readline()
if not line:
    sys.exit()
order = json.loads(line)
os.environ.clear()
os.environ.update(order["environment"])
log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
for stream in (sys.stdout, sys.stderr):
    os.dup2(log, stream.fileno())
os.close(log)
main(order["words"])
