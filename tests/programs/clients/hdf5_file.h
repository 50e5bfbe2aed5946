/* Parallel HDF5 files without times in them, so that two runs write the same bytes. */
#ifndef HDF5_FILE_H
#define HDF5_FILE_H
#include <hdf5.h>

#include "client.h"

static inline hid_t access_list(int collective_metadata) {
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  must(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
  must(H5Pset_all_coll_metadata_ops(list, collective_metadata) >= 0, "H5Pset_all_coll_metadata_ops");
  must(H5Pset_coll_metadata_write(list, collective_metadata) >= 0, "H5Pset_coll_metadata_write");
  return list;
}

static inline hid_t transfer_list(int collective) {
  hid_t list = H5Pcreate(H5P_DATASET_XFER);
  must(H5Pset_dxpl_mpio(list, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT) >= 0,
       "H5Pset_dxpl_mpio");
  return list;
}

static inline void say_file_hints(hid_t file) {
  MPI_File* handle;
  MPI_Info info;
  must(H5Fget_vfd_handle(file, H5P_DEFAULT, (void**)&handle) >= 0, "H5Fget_vfd_handle");
  must(MPI_File_get_info(*handle, &info) == MPI_SUCCESS, "MPI_File_get_info");
  say_hints(info);
  MPI_Info_free(&info);
}

/* Creates a dataset of records; most is the greatest number of them, chunk the records per chunk (0:
 * contiguous). */
static inline hid_t create_records(hid_t file, const char* name, hsize_t records, hsize_t most, hsize_t chunk,
                                   int deflate) {
  const hsize_t size[2] = {records, RECORD_FLOATS}, greatest[2] = {most, RECORD_FLOATS};
  const hsize_t chunk_size[2] = {chunk, RECORD_FLOATS / 2};
  hid_t space = H5Screate_simple(2, size, greatest), list = H5Pcreate(H5P_DATASET_CREATE);
  must(H5Pset_obj_track_times(list, 0) >= 0, "H5Pset_obj_track_times");
  if (chunk > 0) must(H5Pset_chunk(list, 2, chunk_size) >= 0, "H5Pset_chunk");
  if (deflate) must(H5Pset_deflate(list, 4) >= 0, "H5Pset_deflate");
  hid_t set = H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, list, H5P_DEFAULT);
  must(set >= 0, "H5Dcreate2");
  H5Pclose(list);
  H5Sclose(space);
  return set;
}

/* The records first, first + stride, ... of a dataset as a selection of its space. */
static inline hid_t select_records(hid_t set, hsize_t first, hsize_t stride, hsize_t count) {
  const hsize_t start[2] = {first, 0}, step[2] = {stride, 1}, number[2] = {count, 1};
  const hsize_t block[2] = {1, RECORD_FLOATS};
  hid_t space = H5Dget_space(set);
  must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, step, number, block) >= 0, "H5Sselect_hyperslab");
  return space;
}

static inline hid_t record_memory(hsize_t count) {
  const hsize_t size[2] = {count, RECORD_FLOATS};
  return H5Screate_simple(2, size, NULL);
}
#endif
