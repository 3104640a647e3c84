"""Where an index is kept: implementations of `knotwork.protocols.Store`."""

from knotwork.stores.sqlite import SqliteStore

__all__ = ["SqliteStore"]
