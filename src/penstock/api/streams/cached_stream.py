"""`CachedDataStream`: a stream whose records are computed once."""

from __future__ import annotations

from dataclasses import replace

from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.no_operator import NoOperator
from penstock.connectors.cache import CacheSource, cache_of
from penstock.errors import GraphError
from penstock.types.type_parameters import T


class CachedDataStream(NoOperator, DataStream[T]):
    """A stream whose records the first job that needs them stores in files.

    The first `execute` that reads the stream computes it by a batch run of its own, into files
    of the temporary directory; that job and all later ones of the environment read the files.
    They are removed by `invalidate`, or when the program ends. Timestamps are not stored: assign
    them after `cache()`.

    Example:
        >>> type(numbers.cache()).__name__
        'CachedDataStream'
    """

    def invalidate(self) -> None:
        """Remove the stored records; the next job that needs them computes them again.

        Do not call it while a job reads them.

        Example:
            >>> cached = numbers.cache()
            >>> cached.invalidate()
        """
        source = self._source()
        for file in source.files or ():
            file.path.unlink(missing_ok=True)
        self._graph.change(self._node_id, source=replace(source, files=None))

    def cache(self) -> CachedDataStream[T]:
        """Return this stream: it is cached already.

        Example:
            >>> cached = numbers.cache()
            >>> cached.cache() is cached
            True
        """
        return self

    def _source(self) -> CacheSource:
        source = cache_of(self._graph.node(self._node_id).source)
        assert source is not None, "a handle of this class is made of nothing else"
        return source

    def _refusal(self, call: str) -> GraphError:
        return GraphError.here(
            f"{call} was called on the result of cache(), which is not an operator",
            hint="Call it on the stream before cache() or on what is computed from it.",
        )
