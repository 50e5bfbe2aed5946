/* Where a tile is one block it is accessed at its explicit offset, else through a view. */
#include <stdlib.h>

#include "access.h"

struct opened {
  MPI_File file;
};
static struct opened opened;

void access_open(struct access* access, const char* path, int is_there) {
  const int mode = MPI_MODE_RDWR | (is_there ? 0 : MPI_MODE_CREATE);
  access->file = &opened;
  must(MPI_File_open(MPI_COMM_WORLD, path, mode, access->info, &opened.file), "open");
}

static void select_pieces(MPI_File file, const struct strided* s, int owner) {
  const int groups = (int)s->blocks_per_call;
  int* lengths = malloc((size_t)groups * sizeof *lengths);
  MPI_Aint* places = malloc((size_t)groups * sizeof *places);
  if (!lengths || !places) fail("out of memory");
  for (int i = 0; i < groups; i++) {
    lengths[i] = (int)(s->pieces[i + 1] - s->pieces[i]) / 8;
    places[i] = (MPI_Aint)piece_byte(s, owner, i);
  }
  MPI_Datatype pieces, array;
  MPI_Type_create_hindexed(groups, lengths, places, MPI_UINT64_T, &pieces);
  MPI_Type_create_resized(pieces, 0, (MPI_Aint)(call_bytes(s) * s->ranks), &array);
  MPI_Type_commit(&array);
  must(MPI_File_set_view(file, 0, MPI_UINT64_T, array, "native", MPI_INFO_NULL), "set_view");
  MPI_Type_free(&array);
  MPI_Type_free(&pieces);
  free(places);
  free(lengths);
}

void access_select(struct access* access, int owner) {
  const struct strided* s = access->pattern;
  if (s->pieces) {
    select_pieces(access->file->file, s, owner);
    return;
  }
  if (s->blocks_per_call == 1) return;
  const MPI_Offset begin = tile_row(s, owner) * row_bytes(s) + tile_byte(s, owner);
  MPI_Datatype rows, tile;
  MPI_Type_create_hvector((int)s->blocks_per_call, (int)(s->block_bytes / 8), row_bytes(s), MPI_UINT64_T,
                          &rows);
  MPI_Type_create_resized(rows, 0, array_rows(s) * row_bytes(s), &tile);
  MPI_Type_commit(&tile);
  must(MPI_File_set_view(access->file->file, begin, MPI_UINT64_T, tile, "native", MPI_INFO_NULL), "set_view");
  MPI_Type_free(&tile);
  MPI_Type_free(&rows);
}

void access_call(struct access* access, int owner, MPI_Offset call, int writing) {
  const struct strided* s = access->pattern;
  const int unit = s->block_bytes % 8 == 0 ? 8 : 1;
  const MPI_Datatype type = unit == 8 ? MPI_UINT64_T : MPI_BYTE;
  const int units = (int)(call_bytes(s) / unit);
  const MPI_Offset array = array_rows(s) * row_bytes(s);
  const MPI_Offset offset = s->blocks_per_call == 1 && !s->pieces
                                ? call * array + tile_row(s, owner) * row_bytes(s) + tile_byte(s, owner)
                                : call * units;
  MPI_File file = access->file->file;
  unsigned char* data = (unsigned char*)s->data + call * call_bytes(s);
  int error;
  if (writing && access->independent)
    error = MPI_File_write_at(file, offset, data, units, type, MPI_STATUS_IGNORE);
  else if (writing)
    error = MPI_File_write_at_all(file, offset, data, units, type, MPI_STATUS_IGNORE);
  else if (access->independent)
    error = MPI_File_read_at(file, offset, data, units, type, MPI_STATUS_IGNORE);
  else
    error = MPI_File_read_at_all(file, offset, data, units, type, MPI_STATUS_IGNORE);
  must(error, writing ? "write" : "read");
}

MPI_Offset access_close(struct access* access) {
  must(MPI_File_close(&access->file->file), "close");
  return 0;
}
