"""The holder of `detent db start`: a user of the server that only stays. Run as a script, in `.detent`.

It is started with `holder.lock` already held. When it shares `users.lock` it reports this on its output, so that
its starter can leave, and waits for the signal that ends it.
"""

import fcntl
import os
import signal

if __name__ == "__main__":
    fcntl.flock(os.open("locks/users.lock", os.O_RDWR), fcntl.LOCK_SH)
    os.write(1, b"holding\n")
    os.dup2(0, 1)
    os.dup2(0, 2)
    signal.pause()
