/* What MPI_File_get_info gives back: after an open with and without hints, and after hints that come later.
 */
#include "client.h"

static MPI_Info make_info(const char* const* keys_and_values) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; keys_and_values[i] != NULL; i += 2)
    MPI_Info_set(info, keys_and_values[i], keys_and_values[i + 1]);
  return info;
}

static void say_info_of(MPI_File file) {
  MPI_Info info;
  must(MPI_File_get_info(file, &info) == MPI_SUCCESS, "MPI_File_get_info");
  say_hints(info);
  MPI_Info_free(&info);
}

static void run_case(const char* name, MPI_Info at_open, MPI_Info later) {
  MPI_File file;
  const MPI_Offset at = (MPI_Offset)rank * RECORD_BYTES;
  float data[RECORD_FLOATS];
  say_case(name);
  must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, at_open, &file) == MPI_SUCCESS,
       name);
  if (later != MPI_INFO_NULL) must(MPI_File_set_info(file, later) == MPI_SUCCESS, "MPI_File_set_info");
  say_info_of(file);
  fill_record(data, rank);
  must(MPI_File_write_at_all(file, at, data, RECORD_FLOATS, MPI_FLOAT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
       "write");
  say_stored((long long)ranks * RECORD_BYTES);
  must(MPI_File_close(&file) == MPI_SUCCESS, "close");
}

int main(int argc, char** argv) {
  const char* const strings[] = {
      "cb_buffer_size", "1048576",      "cb_nodes",   "1", "striping_unit", "65536", "romio_cb_write",
      "disable",        "access_style", "write_once", NULL};
  const char* const late[] = {"cb_buffer_size", "2097152", "romio_ds_write", "disable", NULL};
  const char* const unknown[] = {"a_key_of_nobody", "1", NULL};
  start(&argc, &argv);
  MPI_Info hints = make_info(strings), late_hints = make_info(late), unknown_hints = make_info(unknown);
  run_case("hints-none", MPI_INFO_NULL, MPI_INFO_NULL);
  run_case("hints-at-open", hints, MPI_INFO_NULL);
  run_case("hints-unknown", unknown_hints, MPI_INFO_NULL);
  run_case("hints-later", hints, late_hints);
  MPI_Info_free(&hints);
  MPI_Info_free(&late_hints);
  MPI_Info_free(&unknown_hints);
  finish();
  return 0;
}
