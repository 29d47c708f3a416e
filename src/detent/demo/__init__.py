"""`make demo`: Detent reads its own documents and code, loses a worker on the way, and is searched.

The demo runs the real commands in a project of its own and prints each one before it runs, so that a reader can type
them. It kills one worker, then proves from the journal that nothing was lost, written twice or left behind. However it
ends, it stops what it started and removes what it made.
"""
