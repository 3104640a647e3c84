"""Sparse matrices by row, as much as search needs of them: a row's columns, and a product with a vector.

docs/decisions/0004 says why this is not scipy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """n rows; those of row i are `columns[ends[i]:ends[i + 1]]`, ascending, with `values` beside them."""

    ends: Integers  # (n + 1,)
    columns: npt.NDArray[np.int32]
    values: Floats

    def row(self, at: int) -> npt.NDArray[np.int32]:
        """The columns that a row holds."""
        return self.columns[self.ends[at] : self.ends[at + 1]]

    def times(self, vector: Floats) -> Floats:
        """(n,) the product with a vector over the columns."""
        sums = np.zeros(len(self.ends) - 1, np.float32)
        filled = np.flatnonzero(self.ends[1:] > self.ends[:-1])  # reduceat has no notion of an empty row
        if len(filled):
            sums[filled] = np.add.reduceat(self.values * vector[self.columns], self.ends[filled])
        return sums

    def sums(self) -> Floats:
        """(n,) the sum of each row."""
        return self.times(np.ones(int(self.columns.max(initial=-1)) + 1, np.float32))


def by_row(rows: Integers, columns: Integers, values: Floats, count: int) -> Rows:
    """The matrix of `count` rows with these entries, each (row, column) at most once."""
    order = np.lexsort((columns, rows))
    ends = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=ends[1:])
    return Rows(ends, columns[order].astype(np.int32), values[order].astype(np.float32))
