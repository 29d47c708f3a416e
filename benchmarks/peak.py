"""Runs a command, and says on the last line of its output how many seconds and how many bytes of memory it took.

A process has at its birth the size of whoever starts it, and its peak counts from there. So this is a program of its
own that imports nearly nothing: it is smaller than whatever it measures.
"""

import os
import sys
import time


def main(command: list[str]) -> int:
    began = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    print(time.perf_counter() - began, usage.ru_maxrss * 1024)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
