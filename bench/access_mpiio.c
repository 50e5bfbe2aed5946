/* Where a call's data are one block they are accessed at their explicit offset, else through a view. */
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
  MPI_Type_create_resized(pieces, 0, (MPI_Aint)(call_bytes(s) * s->writers), &array);
  MPI_Type_commit(&array);
  must(MPI_File_set_view(file, 0, MPI_UINT64_T, array, "native", MPI_INFO_NULL), "set_view");
  MPI_Type_free(&array);
  MPI_Type_free(&pieces);
  free(places);
  free(lengths);
}

static void select_tile(MPI_File file, const struct strided* s, int owner) {
  int sizes[MAX_DIMENSIONS], starts[MAX_DIMENSIONS], part = part_of(s, owner);
  for (int i = s->dimensions - 1; i >= 0; i--) {
    sizes[i] = s->tile[i] * s->grid[i];
    starts[i] = part % s->grid[i] * s->tile[i];
    part /= s->grid[i];
  }
  MPI_Datatype element, tile;
  MPI_Type_contiguous((int)(s->element_bytes / 8), MPI_UINT64_T, &element);
  MPI_Type_create_subarray(s->dimensions, sizes, s->tile, starts, MPI_ORDER_C, element, &tile);
  MPI_Type_commit(&tile);
  must(MPI_File_set_view(file, 0, MPI_UINT64_T, tile, "native", MPI_INFO_NULL), "set_view");
  MPI_Type_free(&tile);
  MPI_Type_free(&element);
}

void access_select(struct access* access, int owner) {
  const struct strided* s = access->pattern;
  if (s->dimensions) {
    select_tile(access->file->file, s, owner);
    return;
  }
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

/* In bytes, or through a view in its elementary types. */
static MPI_Offset offset_of(const struct strided* s, int owner, MPI_Offset call, int units) {
  const MPI_Offset place = place_of(s, owner, call);
  if (s->blocks_per_call > 1 || s->pieces || s->dimensions) return place * units;
  if (s->segmented) return part_of(s, owner) * s->rank_bytes + place * s->block_bytes;
  return place * array_rows(s) * row_bytes(s) + tile_row(s, owner) * row_bytes(s) + tile_byte(s, owner);
}

void access_call(struct access* access, int owner, MPI_Offset call, int writing) {
  const struct strided* s = access->pattern;
  const int unit = s->block_bytes % 8 == 0 ? 8 : 1;
  const MPI_Datatype type = unit == 8 ? MPI_UINT64_T : MPI_BYTE;
  const int units = writes(s, owner) ? (int)(call_bytes(s) / unit) : 0;
  const MPI_Offset offset = offset_of(s, owner, call, units);
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
