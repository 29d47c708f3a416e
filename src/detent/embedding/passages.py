"""Which texts get a vector."""

from __future__ import annotations

from detent.configuration import EmbeddingSettings


def reason_to_skip(settings: EmbeddingSettings, label: str, text: str) -> str | None:
    """Why a text gets no vector, or None if it gets one. White space around a text does not count."""
    if label in settings.skip_labels:
        return f"items with the label {label} get no vector"
    if len(text.strip()) < max(settings.min_characters, 1):
        return f"a text of fewer than {max(settings.min_characters, 1)} characters gets no vector"
    return None
