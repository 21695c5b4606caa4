"""Neither a timer nor a last look for garbage keeps a process that has done its work."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import threading
from servesweep.runtime.process_end import end_at_once
end_at_once()
worker = threading.Thread(target=lambda: (threading.main_thread().join(), print("the worker is done")))
worker.start()
threading.Timer(3600, lambda: None).start()
print("the main thread is done", flush=True)
"""


def test_a_timer_keeps_no_process_and_another_thread_does() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == ["the main thread is done", "the worker is done"]


FROZEN = """
import atexit, gc
# What is registered first is called last.
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from servesweep.runtime.process_end import end_at_once
end_at_once()
"""


def test_what_is_loaded_is_not_looked_through_at_the_end() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FROZEN], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "True\n"
