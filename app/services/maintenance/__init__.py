"""Sweep, scrub and fsck: garbage removed, stored files read again and checked."""
