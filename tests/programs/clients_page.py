#!/usr/bin/env python3
"""docs/clients.md: which files of which client are the same under pmio, by MPI.

From what clients.py, h5py_parallel.py and lammps.py left in a build directory:

  clients_page.py write [--build DIRECTORY]     writes the page
  clients_page.py check [--build DIRECTORY]     fails if the page says something else than the records that are there
"""

from pmiolab import client_records, mpi_libraries, pages, places

PAGE = places.ROOT / "docs" / "clients.md"
# In the page's order: the record's name, and what readers call it.
CLIENTS = {
    "kernels": "MPI-IO",
    "hdf5": "HDF5",
    "netcdf": "netCDF",
    "pnetcdf": "PnetCDF",
    "petsc": "PETSc",
    "h5py": "h5py",
    "lammps": "LAMMPS",
}
HEAD = """\
# Clients that are tested under pmio

Which libraries and programs write the same file under pmio as without, in which MPI: a row for each
file.

`tests/programs/clients_page.py write` writes this page; CTest's `programs.clients_page` fails when
it is out of date.

Each program runs plain and under pmio and reads back what it wrote. pmio wrote all of the data,
and the hints that the library tells are those of the plain run and pmio's own.

- *identical*: its file is the same byte for byte.
- *equal*: h5diff finds no difference. HDF5 writes into gaps of such a file what its memory happened
  to hold, so that bytes differ between plain runs too.
- `-`: not tested. The libraries are those of the distribution, each built with the MPI in whose
  column it is. PnetCDF is built from its source for MPICH 5, since no package has its burst buffer.

The programs:

- *MPI-IO*: `btio-*` write as the NAS benchmark BT-IO does, by nested types, by lines and by vector
  views, collective and independent. `hints-*` compare `MPI_File_get_info`.
- *HDF5*: transfers and metadata independent or collective; chunked, compressed, extended; the file
  space strategies, also with free space that is kept in the file. Each file is flushed, closed,
  reopened and completed. `olam-*` write as the climate model OLAM does, 1,312 bytes at a time all
  over a dataset.
- *netCDF*: netCDF-4 on HDF5, and the 64-bit data format on PnetCDF.
- *PnetCDF*: collective, independent, nonblocking and buffered puts; `burst-buffer*` with its own
  burst buffer on.
- *PETSc*: vectors and matrices through the binary viewer with MPI-IO, loaded again. The files are
  also those that the viewer writes without MPI-IO.

"""


def page(build):
    mpis = pages.in_order(mpi_libraries.load(build))
    records = {(client, mpi): client_records.read_client(build, client, mpi) for client in CLIENTS for mpi in mpis}
    if not any(records.values()):
        return None
    header = ["file", *(pages.label(mpi.tag) for mpi in mpis)]
    rows = []
    for client, name in CLIENTS.items():
        cases = {case: None for mpi in mpis for case in records[client, mpi]}  # each once, in their order
        rows += [[f"{name}: `{case}`", *(records[client, mpi].get(case, "-") for mpi in mpis)] for case in cases]
    return HEAD + pages.table(header, rows)


def complaints(now, filed):
    """Where the page on file differs from the records; what has no record here is not judged."""
    for case, cells in now.items():
        for column, cell in cells.items():
            known = filed.get(case, {}).get(column)
            if cell not in ("-", known):
                yield f"{case}, {column}: the page has {known}, the records {cell}"


if __name__ == "__main__":
    raise SystemExit(pages.main(__doc__, PAGE, page, complaints))
