"""The colours of what states mean."""

STYLES = {"waiting": "", "held_back": "dim", "working": "cyan", "failed": "red", "stopped": "yellow", "done": "green"}
