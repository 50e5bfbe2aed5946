/* Files in a program that never calls MPI_Init: communicators are made from sessions (MPI 4), two sessions in
 * turn; then beside MPI_Init, with a file of a session that is used after MPI_Finalize. Checks itself; the
 * files stay in DIRECTORY. Usage: sessions DIRECTORY alone|beside. Exits with 77 where the MPI has no
 * sessions. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "checks.h"

#if MPI_VERSION < 4 && !(defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
int main(void) { return 77; }
#else

enum { INTS = 1000 };

static MPI_Comm communicator_of(MPI_Session session, const char* tag) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS, "group of the session");
  check(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) == MPI_SUCCESS,
        "communicator of the group");
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  return comm;
}

static MPI_File opened(MPI_Comm comm, const char* name) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(comm, path_of(name), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  return file;
}

static void set_view(MPI_File file) {
  MPI_Datatype strided;
  MPI_Type_create_resized(MPI_INT, 0, 4 * ranks, &strided);
  MPI_Type_commit(&strided);
  check(MPI_File_set_view(file, 4 * rank, MPI_INT, strided, "native", MPI_INFO_NULL) == MPI_SUCCESS,
        "set_view");
  MPI_Type_free(&strided);
}

static void write_ints(MPI_File file, int first) {
  int values[INTS];
  for (int i = 0; i < INTS; i++) values[i] = (first + i) * 5 + rank;
  check(MPI_File_write(file, values, INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
}

static void read_ints(MPI_File file, int first) {
  int values[INTS] = {0}, wrong = 0;
  check(MPI_File_read_at_all(file, first, values, INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "read_at_all");
  for (int i = 0; i < INTS; i++) wrong += values[i] != (first + i) * 5 + rank;
  check(wrong == 0, "what is read back");
}

static void session_alone(const char* name) {
  MPI_Session session;
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS, "MPI_Session_init");
  MPI_Comm comm = communicator_of(session, name);
  MPI_File file = opened(comm, name);
  if (file != MPI_FILE_NULL) { /* MPICH opens none without MPI_Init */
    set_view(file);
    write_ints(file, 0);
    write_ints(file, INTS);
    read_ints(file, INTS);
    check(MPI_File_close(&file) == MPI_SUCCESS, "close");
  }
  MPI_Comm_free(&comm);
  check(MPI_Session_finalize(&session) == MPI_SUCCESS, "MPI_Session_finalize");
}

/* The files of the session outlive the world, which may go first. */
static void session_beside(void) {
  MPI_Session session;
  MPI_Init(NULL, NULL);
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS, "MPI_Session_init");
  MPI_Comm comm = communicator_of(session, "beside");
  MPI_File first = opened(comm, "before"), second = opened(comm, "across");
  check(first != MPI_FILE_NULL && second != MPI_FILE_NULL, "open");
  set_view(first);
  set_view(second);
  write_ints(first, 0);
  write_ints(second, 0);
  check(MPI_File_close(&first) == MPI_SUCCESS, "close before MPI_Finalize");
  MPI_Finalize();
  write_ints(second, INTS);
  read_ints(second, 0);
  read_ints(second, INTS);
  check(MPI_File_close(&second) == MPI_SUCCESS, "close after MPI_Finalize");
  MPI_Comm_free(&comm);
  check(MPI_Session_finalize(&session) == MPI_SUCCESS, "MPI_Session_finalize");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  directory = argv[1];
  if (strcmp(argv[2], "beside") == 0) {
    session_beside();
  } else {
    session_alone("first");
    if (strcmp(argv[2], "two") == 0) session_alone("second");
  }
  return failures != 0;
}
#endif
