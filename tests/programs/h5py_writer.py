"""Writes one HDF5 file in parallel in the ways that h5py offers, and reads it back; h5py_parallel.py runs this.

After a barrier, with the file still open, every rank checks what the others wrote.
"""

import sys

import h5py
import numpy as np
from mpi4py import MPI

ROWS_PER_RANK = 64
COLUMNS = 1000
comm = MPI.COMM_WORLD


def block(rank, shift=0):
    return np.arange(ROWS_PER_RANK * COLUMNS, dtype="f8").reshape(ROWS_PER_RANK, COLUMNS) + 1e6 * rank + shift


def rows_of(rank):
    return slice(rank * ROWS_PER_RANK, (rank + 1) * ROWS_PER_RANK)


def write(file):
    shape = (ROWS_PER_RANK * comm.size, COLUMNS)
    independent = file.create_dataset("independent", shape, "f8")
    collective = file.create_dataset("collective", shape, "f8")
    chunked = file.create_dataset("chunked", shape, "f8", chunks=(10, 130), fillvalue=-1.0)
    compressed = file.create_dataset("compressed", shape, "f8", chunks=(32, 250), compression="gzip")
    columns = file.create_dataset("columns", (COLUMNS, comm.size), "i4")
    grown = file.create_dataset("grown", (0, COLUMNS), "f8", maxshape=(None, COLUMNS), chunks=(7, COLUMNS))
    file.attrs["ranks"] = comm.size
    mine = rows_of(comm.rank)
    independent[mine] = block(comm.rank)
    independent[mine.start + 3, 5:900:7] = -1.0  # small strided records over what was just written
    with collective.collective:
        collective[mine] = block(comm.rank, 1)
    with chunked.collective:
        chunked[mine, ::2] = block(comm.rank, 2)[:, ::2]
    with compressed.collective:
        compressed[mine] = block(comm.rank, 3)
    with columns.collective:
        columns[:, comm.rank] = np.arange(COLUMNS) * (comm.rank + 1)
    for step in range(3):
        grown.resize(((step + 1) * comm.size, COLUMNS))
        with grown.collective:
            grown[step * comm.size + comm.rank] = step * 100.0 + comm.rank


def check(file):
    other = (comm.rank + 1) % comm.size
    expected = block(other)
    expected[3, 5:900:7] = -1.0
    np.testing.assert_array_equal(file["independent"][rows_of(other)], expected)
    np.testing.assert_array_equal(file["collective"][rows_of(other)], block(other, 1))
    expected = np.full((ROWS_PER_RANK, COLUMNS), -1.0)
    expected[:, ::2] = block(other, 2)[:, ::2]
    np.testing.assert_array_equal(file["chunked"][rows_of(other)], expected)
    with file["compressed"].collective:
        np.testing.assert_array_equal(file["compressed"][rows_of(other)], block(other, 3))
    np.testing.assert_array_equal(file["columns"][:, other], np.arange(COLUMNS) * (other + 1))
    np.testing.assert_array_equal(file["grown"][2 * comm.size + other], np.full(COLUMNS, 200.0 + other))
    assert file.attrs["ranks"] == comm.size


def main(path):
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        write(file)
        comm.Barrier()
        check(file)
    with h5py.File(path, "r+", driver="mpio", comm=comm) as file:
        check(file)
        file["collective"][comm.rank * ROWS_PER_RANK] = 7.0
    with h5py.File(path, "r", driver="mpio", comm=comm) as file:
        assert file["collective"][comm.rank * ROWS_PER_RANK, 1] == 7.0


main(sys.argv[1])
