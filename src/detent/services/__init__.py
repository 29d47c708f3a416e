"""Services: asking somebody else's server politely.

Whoever asks takes a turn first (`pace`), and holds the service when it refuses, so that all processes which share a
database share one rate. Nothing here knows what is asked.
"""
