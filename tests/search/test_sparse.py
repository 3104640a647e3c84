from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knotwork.search.sparse import by_row

SHAPE = st.tuples(st.integers(1, 8), st.integers(1, 8))


@given(
    SHAPE.flatmap(
        lambda shape: st.tuples(
            st.just(shape), st.sets(st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1)))
        )
    )
)
def test_rows_and_products_are_those_of_the_full_matrix(case: tuple[tuple[int, int], set[tuple[int, int]]]) -> None:
    (n, m), cells = case
    full = np.zeros((n, m), np.float32)
    for at, (row, column) in enumerate(cells, 1):
        full[row, column] = at
    rows = np.array([row for row, _ in cells], np.int64)
    columns = np.array([column for _, column in cells], np.int64)
    sparse = by_row(rows, columns, full[rows, columns], n)
    for at in range(n):
        assert sparse.row(at).tolist() == np.flatnonzero(full[at]).tolist()
    vector = np.arange(1, m + 1, dtype=np.float32)
    assert np.allclose(sparse.times(vector), full @ vector)
    assert np.allclose(sparse.sums(), full.sum(axis=1))
