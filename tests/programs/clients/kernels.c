/* BT-IO's output by MPI-IO alone: a grid of 5-vectors, cut by the diagonal multi-partition (each rank has a
 * cell in every row and column of cells), appended step by step, in BT-IO's ways to write it. */
#include "client.h"

enum { SIDE = 12, GHOST = 2, STEPS = 4, COMPONENTS = 5, PADDED = SIDE + 2 * GHOST };
typedef double Cell[PADDED][PADDED][PADDED][COMPONENTS];

static MPI_Datatype point;        /* what one point of the grid has */
static MPI_Datatype memory_cells; /* the rank's cells without their ghosts */
static MPI_Datatype file_cells;   /* the same in the file */
static Cell* cells;

static long long step_bytes(void) {
  return (long long)ranks * ranks * SIDE * SIDE * SIDE * COMPONENTS * (long long)sizeof(double);
}

static int column_of(int row) { return (row + rank) % ranks; }

/* Global coordinates of a point in a rank's cell number `row`: ranks x ranks cells in y and z, one in x. */
static double value(int step, int row, int z, int y, int x, int m) {
  const int global_z = row * SIDE + z, global_y = column_of(row) * SIDE + y;
  return 1e6 * step + ((global_z * ranks * SIDE + global_y) * SIDE + x) * COMPONENTS + m;
}

static MPI_Datatype subarray(int dimensions, const int* whole, const int* part, const int* first) {
  MPI_Datatype type;
  MPI_Type_create_subarray(dimensions, whole, part, first, MPI_ORDER_C, point, &type);
  return type;
}

/* Structures of subarrays, one per cell. */
static void make_types(void) {
  int* lengths = allocate((size_t)ranks * sizeof *lengths);
  MPI_Aint* places = allocate((size_t)ranks * sizeof *places);
  MPI_Datatype *in_memory = allocate((size_t)ranks * sizeof *in_memory),
               *in_file = allocate((size_t)ranks * sizeof *in_file);
  const int part[3] = {SIDE, SIDE, SIDE}, padded[3] = {PADDED, PADDED, PADDED},
            inner[3] = {GHOST, GHOST, GHOST};
  const int whole[3] = {SIDE * ranks, SIDE * ranks, SIDE};
  MPI_Type_contiguous(COMPONENTS, MPI_DOUBLE, &point);
  MPI_Type_commit(&point);
  for (int row = 0; row < ranks; ++row) {
    const int first[3] = {row * SIDE, column_of(row) * SIDE, 0};
    lengths[row] = 1;
    places[row] = (MPI_Aint)row * (MPI_Aint)sizeof(Cell);
    in_memory[row] = subarray(3, padded, part, inner);
    in_file[row] = subarray(3, whole, part, first);
  }
  MPI_Type_create_struct(ranks, lengths, places, in_memory, &memory_cells);
  for (int row = 0; row < ranks; ++row) places[row] = 0;
  MPI_Type_create_struct(ranks, lengths, places, in_file, &file_cells);
  MPI_Type_commit(&memory_cells);
  MPI_Type_commit(&file_cells);
  for (int row = 0; row < ranks; ++row) {
    MPI_Type_free(&in_memory[row]);
    MPI_Type_free(&in_file[row]);
  }
  free(lengths), free(places), free(in_memory), free(in_file);
}

/* All points of the rank's cells: set, or, where check is given, compared. */
static void visit(int step, const char* check) {
  for (int row = 0; row < ranks; ++row)
    for (int z = 0; z < SIDE; ++z)
      for (int y = 0; y < SIDE; ++y)
        for (int x = 0; x < SIDE; ++x)
          for (int m = 0; m < COMPONENTS; ++m) {
            double* at = &cells[row][z + GHOST][y + GHOST][x + GHOST][m];
            if (check != NULL) must(*at == value(step, row, z, y, x, m), check);
            *at = check != NULL ? 0 : value(step, row, z, y, x, m);
          }
}

typedef struct {
  int writing, collective;
} Way;

static void move_at(MPI_File file, MPI_Offset at, void* data, int count, MPI_Datatype type, Way way) {
  if (way.writing && way.collective)
    MPI_File_write_at_all(file, at, data, count, type, MPI_STATUS_IGNORE);
  else if (way.writing)
    MPI_File_write_at(file, at, data, count, type, MPI_STATUS_IGNORE);
  else if (way.collective)
    MPI_File_read_at_all(file, at, data, count, type, MPI_STATUS_IGNORE);
  else
    MPI_File_read_at(file, at, data, count, type, MPI_STATUS_IGNORE);
}

/* At the individual file pointer. */
static void move_on(MPI_File file, void* data, int count, MPI_Datatype type, Way way) {
  if (way.writing && way.collective)
    MPI_File_write_all(file, data, count, type, MPI_STATUS_IGNORE);
  else if (way.writing)
    MPI_File_write(file, data, count, type, MPI_STATUS_IGNORE);
  else if (way.collective)
    MPI_File_read_all(file, data, count, type, MPI_STATUS_IGNORE);
  else
    MPI_File_read(file, data, count, type, MPI_STATUS_IGNORE);
}

/* BT-IO "full": a call per step, nested types in memory and file. */
static void transfer_full(MPI_File file, int step, Way way) {
  const MPI_Offset at = (MPI_Offset)step * SIDE * SIDE * SIDE * COMPONENTS * ranks;
  move_at(file, at, cells, 1, memory_cells, way);
}

/* BT-IO "simple": a call per line of points. */
static void transfer_simple(MPI_File file, int step, Way way) {
  const MPI_Offset line = SIDE * COMPONENTS * (MPI_Offset)sizeof(double);
  for (int row = 0; row < ranks; ++row)
    for (int z = 0; z < SIDE; ++z)
      for (int y = 0; y < SIDE; ++y) {
        const MPI_Offset number = (MPI_Offset)(row * SIDE + z) * ranks * SIDE + column_of(row) * SIDE + y;
        move_at(file, step * step_bytes() + number * line, cells[row][z + GHOST][y + GHOST][GHOST], SIDE,
                point, way);
      }
}

/* Vector views: a call per cell through a view of the cell's lines alone. */
static void transfer_vector(MPI_File file, int step, Way way) {
  const MPI_Offset line = SIDE * COMPONENTS * (MPI_Offset)sizeof(double);
  MPI_Datatype plane, planes, lines;
  MPI_Type_vector(SIDE, SIDE, SIDE, point, &plane);
  MPI_Type_create_hvector(SIDE, 1, ranks * SIDE * line, plane, &planes);
  MPI_Type_commit(&planes);
  for (int row = 0; row < ranks; ++row) {
    const MPI_Offset number = (MPI_Offset)row * SIDE * ranks * SIDE + column_of(row) * SIDE;
    const int padded[3] = {PADDED, PADDED, PADDED}, part[3] = {SIDE, SIDE, SIDE},
              inner[3] = {GHOST, GHOST, GHOST};
    lines = subarray(3, padded, part, inner);
    MPI_Type_commit(&lines);
    MPI_File_set_view(file, step * step_bytes() + number * line, point, planes, "native", MPI_INFO_NULL);
    move_on(file, cells[row], 1, lines, way);
    MPI_Type_free(&lines);
  }
  MPI_Type_free(&planes);
  MPI_Type_free(&plane);
}

typedef void Transfer(MPI_File file, int step, Way way);

static void run_case(const char* name, Transfer* transfer, int collective) {
  const Way write = {1, collective}, read = {0, collective};
  MPI_File file;
  MPI_Info info;
  must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
           MPI_SUCCESS,
       name);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  MPI_File_get_info(file, &info);
  say_case(name);
  say_hints(info);
  say_stored(STEPS * step_bytes());
  MPI_Info_free(&info);
  if (transfer == transfer_full) MPI_File_set_view(file, 0, MPI_DOUBLE, file_cells, "native", MPI_INFO_NULL);
  for (int step = 0; step < STEPS; ++step) {
    visit(step, NULL);
    transfer(file, step, write);
  }
  for (int step = 0; step < STEPS; ++step) {
    transfer(file, step, read);
    visit(step, name);
  }
  must(MPI_File_close(&file) == MPI_SUCCESS, name);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  cells = calloc((size_t)ranks, sizeof *cells);
  must(cells != NULL, "out of memory");
  make_types();
  run_case("btio-full", transfer_full, 1);
  run_case("btio-full-independent", transfer_full, 0);
  run_case("btio-simple", transfer_simple, 0);
  run_case("btio-vector", transfer_vector, 1);
  run_case("btio-vector-independent", transfer_vector, 0);
  free(cells);
  MPI_Type_free(&point);
  MPI_Type_free(&memory_cells);
  MPI_Type_free(&file_cells);
  finish();
  return 0;
}
