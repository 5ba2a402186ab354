"""The services, one folder for each noun or duty.

Tool results go through three stages, one package each: `normalization` (pure), `persistence`
(media into the store), `packaging` (the canonical record).
"""
