"""The colours of the meanings of states."""

STYLES = {"waiting": "", "held_back": "dim", "working": "cyan", "failed": "red", "stopped": "yellow", "done": "green"}
