/* Each rank writes MIB megabytes in blocks of KIB kilobytes, the ranks' blocks in turns, while its own memory
 * grows evenly by MEMORY megabytes; then it reads what it wrote by pread(2). Prints "right" where all ranks
 * find all of it in the file. Usage: limits FILE MIB KIB [MEMORY [die]]; die: by SIGKILL before the close. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, failures;

static void expect(int code, const char* what, long block) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  if (failures++ == 0) printf("rank %d, %s %ld: %s\n", rank, what, block, text);
}

static int value_of(long block) { return (int)((block * ranks + rank) % 251) + 1; }
static MPI_Offset place_of(long block, size_t bytes) {
  return (MPI_Offset)((block * ranks + rank) * (long)bytes);
}

static void grow(long mib) {
  if (mib <= 0) return;
  char* memory = malloc((size_t)mib << 20);
  if (memory == NULL) {
    failures++;
    printf("rank %d: no more memory\n", rank);
  } else {
    memset(memory, 1, (size_t)mib << 20);
  }
}

static void verify(const char* path, long blocks, char* expected, char* found, size_t bytes) {
  const int fd = open(path, O_RDONLY);
  for (long block = 0; block < blocks && fd >= 0; block++) {
    memset(expected, value_of(block), bytes);
    if (pread(fd, found, bytes, place_of(block, bytes)) == (ssize_t)bytes &&
        memcmp(expected, found, bytes) == 0)
      continue;
    if (failures++ == 0) printf("rank %d: block %ld is wrong\n", rank, block);
  }
  if (fd < 0) failures++;
  close(fd);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t bytes = (size_t)atol(argv[3]) << 10;
  const long blocks = (long)(((size_t)atol(argv[2]) << 20) / bytes), memory = argc > 4 ? atol(argv[4]) : 0;
  char *buffer = malloc(bytes), *found = malloc(bytes);
  MPI_File file;
  expect(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
         "open", 0);
  for (long block = 0; block < blocks && failures == 0; block++) {
    grow((block + 1) * memory / blocks - block * memory / blocks);
    memset(buffer, value_of(block), bytes);
    expect(MPI_File_write_at(file, place_of(block, bytes), buffer, (int)bytes, MPI_CHAR, MPI_STATUS_IGNORE),
           "write", block);
  }
  if (argc > 5) raise(SIGKILL);
  expect(MPI_File_close(&file), "close", 0);
  MPI_Barrier(MPI_COMM_WORLD);
  verify(argv[1], blocks, buffer, found, bytes);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "right" : "wrong");
  MPI_Finalize();
  return all != 0;
}
