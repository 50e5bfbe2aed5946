/* Hints of the MPI library, given by open, set_view and set_info: each rank leaves in DIRECTORY/info-<rank>
 * what MPI_File_get_info says after each, without pmio's own hints, of which it counts that they are there if
 * pmio is. Usage: hints DIRECTORY */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

static FILE* out;

static int by_text(const void* a, const void* b) { return strcmp(a, b); }

enum { LINE = MPI_MAX_INFO_KEY + MPI_MAX_INFO_VAL + 4, MOST = 200 };
static char lines[MOST][LINE];

static void tell(MPI_File file, const char* when) {
  MPI_Info used;
  int keys = 0, kept = 0, there;
  check(MPI_File_get_info(file, &used) == MPI_SUCCESS, "get_info");
  MPI_Info_get_nkeys(used, &keys);
  for (int i = 0; i < keys && kept < MOST; i++) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info_get_nthkey(used, i, key);
    MPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &there);
    if (strncmp(key, "pmio_", 5) != 0) snprintf(lines[kept++], LINE, "%s=%s", key, value);
  }
  MPI_Info_free(&used);
  qsort(lines, (size_t)kept, LINE, by_text);
  fprintf(out, "%s\n", when);
  for (int i = 0; i < kept; i++) fprintf(out, "  %s\n", lines[i]);
  if (getenv("PMIO_DIR") != NULL) check(keys >= kept + 6, "pmio's own hints");
}

static MPI_Info info_of(const char* const* pairs) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (; pairs[0] != NULL; pairs += 2) MPI_Info_set(info, pairs[0], pairs[1]);
  return info;
}

static void set_view(MPI_File file, const char* when, MPI_Info info) {
  int value = rank;
  check(MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", info) == MPI_SUCCESS, when);
  check(MPI_File_write_at_all(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at_all");
  tell(file, when);
}

/* What no MPI_Info can hold is left out. */
static void set_what_is_too_long(void) {
  static char text[2000], hints[3 * sizeof text];
  memset(text, 'x', sizeof text - 1);
  snprintf(hints, sizeof hints, "*:%s=1:nobody_knows=%s:cb_nodes=", text, text);
  setenv("PMIO_HINTS", hints, 1);
  setenv("PMIO_INTERFACE", text, 1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  set_what_is_too_long();
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  char name[4096];
  snprintf(name, sizeof name, "%s/info-%d", argv[1], rank);
  out = fopen(name, "w");
  snprintf(name, sizeof name, "%s/data", argv[1]);
  MPI_Info at_open = info_of((const char*[]){"romio_ds_read", "disable", "cb_buffer_size", "2097152", NULL});
  MPI_Info all = info_of((const char*[]){"romio_ds_write", "disable", "cb_buffer_size", "1048576",
                                         "romio_cb_write", "enable", "nobody_knows", "this", NULL});
  MPI_Info one =
      info_of((const char*[]){"romio_ds_read", rank == 0 ? "enable" : "disable", "pmio_stats", "0", NULL});
  MPI_Info later = info_of((const char*[]){"romio_ds_write", "enable", NULL});
  MPI_File file;
  check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, at_open, &file) == MPI_SUCCESS,
        "open");
  tell(file, "open");
  set_view(file, "set_view without", MPI_INFO_NULL);
  set_view(file, "set_view as at the open", at_open);
  set_view(file, "set_view with other hints", all);
  set_view(file, "set_view, one rank with another hint", one);
  check(MPI_File_set_info(file, later) == MPI_SUCCESS, "set_info");
  tell(file, "set_info");
  set_view(file, "set_view back", all);
  check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  MPI_Info* infos[] = {&at_open, &all, &one, &later};
  for (int i = 0; i < 4; i++) MPI_Info_free(infos[i]);
  fclose(out);
  return conclude();
}
