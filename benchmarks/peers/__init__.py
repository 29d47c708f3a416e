"""The peers, each driven by a script in its own words: `procrastinate_run`, `pgqueuer_run`.

They are no dependencies of Detent. `environment` installs them, pinned in `requirements.lock`, into a virtual
environment under `build/`, whose interpreter runs the scripts; nothing of theirs is imported elsewhere.
"""
