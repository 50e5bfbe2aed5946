/* Files of groups, on any number of hosts: of each rank alone, of the ranks of a node, of some ranks of
 * several nodes; one after the other, and the same file at once. The file is left for a look; it is the same
 * on any number of hosts. Rank 0 prints the number of hosts.
 *
 * Usage: groups_hosts FILE [log] [strict] [killed | left]
 *   log      what some ranks alone have open must be logged
 *   late     what some ranks of several hosts write must be logged at last, behind many small files
 *   strict   what is written is seen after a barrier, which the MPI standard promises only after a sync. Some
 *            file systems do not keep it. On MooseFS a client keeps what it has read, even after a sync, also
 *            for plain MPI-IO (5 of 12 runs; see handed_on_hosts.c): without `strict` no handle that may be
 *            handed on reads a place twice, or what was behind the file's end when it was opened
 *   killed   each rank has a file alone, and is killed when it has written it
 *   left     these files are as they were written */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group_files.h"

enum { LARGEST = 6000, LENGTH = 40000, ROUNDS = 60, RACING = 400 };

static MPI_File written_alone(void) {
  MPI_File file = opened(MPI_COMM_SELF, name_of("own", rank));
  expect_log(file, "a file of one rank is logged");
  set_strided_view(file, 3, 1);
  fill_records(rank);
  check(MPI_File_write_all(file, block, RECORD * RECORDS, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_all");
  expect_records(file, rank, "what this rank has written");
  return file;
}

static void read_alone(int writer) {
  MPI_File file = opened_for(MPI_COMM_SELF, name_of("own", writer), MPI_MODE_RDONLY);
  set_strided_view(file, 3, 1);
  expect_records(file, writer, "what another rank has written");
  close_it(&file);
}

/* Each rank has a file, and reads that of another one afterwards. */
static void each_alone(void) {
  MPI_File file = written_alone();
  close_it(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  read_alone((rank + 1) % ranks);
  remove_all("own", ranks);
}

/* Some ranks of several hosts write records in turn, some together and some by themselves. */
static MPI_File written_together(MPI_Comm some, const char* name) {
  int of = 0, which = 0;
  MPI_Comm_size(some, &of);
  MPI_Comm_rank(some, &which);
  MPI_File file = opened(some, name);
  expect_log(file, "a file of some ranks of several hosts is logged");
  set_strided_view(file, of, which);
  fill_records(which);
  enum { HALF = RECORD * RECORDS / 2 };
  check(MPI_File_write_all(file, block, HALF, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_all");
  check(MPI_File_write_at(file, HALF, block + HALF, HALF, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at");
  return file;
}

static void expect_written_together(MPI_File file, int of, const char* what) {
  for (int writer = 0; writer < of; ++writer) {
    set_strided_view(file, of, writer);
    expect_records(file, writer, what);
  }
}

/* The ranks but the last one, in another order than in MPI_COMM_WORLD. */
static MPI_Comm all_but_last(void) {
  MPI_Comm some;
  MPI_Comm_split(MPI_COMM_WORLD, rank < last ? 0 : MPI_UNDEFINED, ranks - rank, &some);
  return some;
}

static void be_killed(void) {
  MPI_Comm some = all_but_last();
  written_alone();
  if (some != MPI_COMM_NULL) written_together(some, name_of("some", 0));
  MPI_Barrier(MPI_COMM_WORLD);
  raise(SIGKILL);
}

static void look_after_kill(void) {
  read_alone((rank + 1) % ranks);
  MPI_File file = opened_for(MPI_COMM_WORLD, name_of("some", 0), MPI_MODE_RDONLY);
  expect_written_together(file, last, "what some ranks have written");
  close_it(&file);
}

static long long behind_all(int which) { return (long long)RECORD * RECORDS * ranks + which * 100; }

static void write_all_at(MPI_File file, int version) {
  check(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS, "set_view");
  fill(block, behind_all(rank), 100, version);
  check(MPI_File_write_at_all(file, behind_all(rank), block, 100, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_at_all");
}

/* Some ranks of several hosts have a file; then all, then one of them, then some again. */
static void some_then_others(void) {
  MPI_Comm some = all_but_last();
  for (int repeat = 0; repeat < 3; ++repeat) {
    MPI_File file = MPI_FILE_NULL;
    if (some != MPI_COMM_NULL) {
      file = written_together(some, name_of("some", 0));
      settle_among(some, file);
      expect_written_together(file, last, "what its ranks have written");
      close_it(&file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    file = opened(MPI_COMM_WORLD, name_of("some", 0));
    expect_log(file, "what some have closed, all log");
    expect_written_together(file, last, "what some ranks have written, read by all");
    write_all_at(file, repeat);
    close_it(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) {
      file = opened(MPI_COMM_SELF, name_of("some", 0));
      expect_log(file, "what all have closed, one logs");
      for (int i = 0; i < ranks; ++i)
        expect_block(file, behind_all(i), 100, repeat, "what all ranks have written behind");
      close_it(&file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  remove_all("some", 1);
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
}

/* Some ranks of several hosts have it open, and write in turn with one that opens it, too. */
static void some_and_one(int member) {
  MPI_Comm some = all_but_last();
  const int other = member ? 0 : last;
  MPI_File file = MPI_FILE_NULL, alone = MPI_FILE_NULL;
  if (some != MPI_COMM_NULL) file = written_together(some, name_of("both", 0));
  settle_both(alone, file);
  if (rank == other) {
    alone = opened(MPI_COMM_SELF, name_of("both", 0));
    expect_written_together(alone, last, "what some ranks have written, read by one more");
    check(MPI_File_set_view(alone, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS, "view");
  }
  if (file != MPI_FILE_NULL)
    check(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS, "view");
  settle_both(alone, file);
  memset(expected, 0, LENGTH);
  if (rank == other) {
    memset(block, 0, LENGTH);
    check(MPI_File_write_at(alone, 0, block, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_at");
  }
  settle_both(alone, file);
  srand(11);
  for (int round = 0; round < ROUNDS; ++round) {
    const int bytes = 1 + rand() % LARGEST, offset = rand() % (LENGTH - bytes), who = rand() % (ranks + 1);
    if (who < last && rank == who) write_block(file, offset, bytes, round);
    if (who == last && rank == other) write_block(alone, offset, bytes, round);
    if (who > last && file != MPI_FILE_NULL) {
      fill(block, offset, bytes, round);
      check(MPI_File_write_at_all(file, offset, block, rank == 0 ? bytes : 0, MPI_BYTE, MPI_STATUS_IGNORE) ==
                MPI_SUCCESS,
            "write_at_all");
    }
    fill(expected + offset, offset, bytes, round);
    settle_both(alone, file);
    if (strict && rank == other)
      expect_block(alone, offset, bytes, round, "what was just written, read by the one");
    if (strict && file != MPI_FILE_NULL)
      expect_block(file, offset, bytes, round, "what was just written, read by some");
    settle_both(alone, file);
  }
  close_it(&file);
  close_it(&alone);
  MPI_Barrier(MPI_COMM_WORLD);
  file = opened_for(MPI_COMM_SELF, name_of("both", 0), MPI_MODE_RDONLY);
  expect_bytes(file, 0, expected, LENGTH, "what all of them have written");
  close_it(&file);
  remove_all("both", 1);
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
}

static int hosts;

enum { FILES = 20, READ = 15, SMALL = 100 }; /* from READ on they are read, too */

/* Of file FILES so many that it is not small. */
static int small_calls(int file) { return file == FILES ? 12 : file > FILES ? 1 : 2; }

/* Such files are read twice, and behind the end that they had: without pmio the clients of several hosts may
 * show what was there before. */
static void read_small(MPI_File file, long long offset, int bytes, int version, const char* what) {
  if (strict || must_log || hosts == 1 || is_logged(file)) {
    expect_block(file, offset, bytes, version, what);
    return;
  }
  unsigned char* found = malloc((size_t)bytes);
  check(MPI_File_read_at(file, offset, found, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, what);
  free(found);
}

/* All ranks, or some of several hosts, write small files, which are left to the MPI library after a while,
 * one that becomes large, and one that another rank opens meanwhile. */
static void many_small(MPI_Comm some) {
  int of = 0;
  if (some != MPI_COMM_NULL) MPI_Comm_size(some, &of);
  MPI_Bcast(&of, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_File file = MPI_FILE_NULL, alone = MPI_FILE_NULL;
  for (int i = 0; some != MPI_COMM_NULL && i < FILES + 2; ++i) {
    file = opened(some, name_of("small", i));
    const int calls = small_calls(i);
    for (int call = 0; call < calls; ++call) {
      const long long offset = (long long)(call * of + rank) * SMALL;
      fill(block, offset, SMALL, i);
      check(MPI_File_write_at_all(file, offset, block, SMALL, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
            "write_at_all");
      settle_among(some, file);
      if (i >= READ)
        read_small(file, (long long)call * of * SMALL, of * SMALL, i, "what the ranks have just written");
    }
    if (i >= READ) read_small(file, 0, calls * of * SMALL, i, "what the ranks have written");
    if (i == FILES && logs_late) check(is_logged(file), "what has become large is logged");
    if (i <= FILES) close_it(&file);
  }
  settle_both(alone, file);
  for (int i = 0; rank == last && i < FILES + 2; ++i) {
    alone = opened(MPI_COMM_SELF, name_of("small", i));
    expect_block(alone, 0, small_calls(i) * of * SMALL, i, "what some ranks have written, read by one more");
    write_block(alone, 0, SMALL, 77);
    if (i <= FILES) close_it(&alone);
  }
  settle_both(alone, file);
  if (file != MPI_FILE_NULL && strict) expect_block(file, 0, SMALL, 77, "what the one has written");
  close_it(&file);
  close_it(&alone);
  remove_all("small", FILES + 2);
}

/* Groups that share ranks and hosts, with a file each, at once. */
static void overlapping(void) {
  MPI_Comm low = all_but_last(), high;
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 0 : MPI_UNDEFINED, rank, &high);
  MPI_File first = MPI_FILE_NULL, second = MPI_FILE_NULL;
  if (low != MPI_COMM_NULL) first = written_together(low, name_of("over", 0));
  if (high != MPI_COMM_NULL) second = written_together(high, name_of("over", 1));
  settle_both(first, second);
  if (first != MPI_FILE_NULL) expect_written_together(first, last, "the file of the first group");
  if (second != MPI_FILE_NULL) expect_written_together(second, last, "the file of the second group");
  close_it(&first);
  close_it(&second);
  remove_all("over", 2);
  if (low != MPI_COMM_NULL) MPI_Comm_free(&low);
  if (high != MPI_COMM_NULL) MPI_Comm_free(&high);
}

/* The ranks of a node have a file; all read all of them afterwards. */
static void each_node(void) {
  int here = 0, at = 0, first = rank;
  MPI_Comm_size(node, &here);
  MPI_Comm_rank(node, &at);
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  MPI_File file = opened(node, name_of("node", first));
  expect_log(file, "a file of a node's ranks is logged");
  set_strided_view(file, here, at);
  fill_records(rank);
  check(MPI_File_write_all(file, block, RECORD * RECORDS, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
        "write_all");
  MPI_Barrier(node);
  close_it(&file);
  int mine[3] = {first, here, at}, *all = malloc((size_t)ranks * sizeof mine);
  MPI_Allgather(mine, 3, MPI_INT, all, 3, MPI_INT, MPI_COMM_WORLD);
  for (int other = 0; other < ranks; ++other) {
    file = opened_for(MPI_COMM_WORLD, name_of("node", all[3 * other]), MPI_MODE_RDONLY);
    set_strided_view(file, all[3 * other + 1], all[3 * other + 2]);
    expect_records(file, other, "what another node's ranks have written");
    close_it(&file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (at == 0) check(MPI_File_delete(name_of("node", first), MPI_INFO_NULL) == MPI_SUCCESS, "delete");
  free(all);
}

/* One rank after the other has the file alone. */
static void in_turn(void) {
  for (int turn = 0; turn < 2 * ranks; ++turn) {
    if (turn % ranks == rank) {
      MPI_File file = opened(MPI_COMM_SELF, name_of("turn", 0));
      expect_log(file, "a file that nobody else has open any more is logged");
      for (int before = 0; before < turn; ++before)
        expect_block(file, before * 100, 100, before, "what others have written before");
      write_block(file, turn * 100, 100, turn);
      close_it(&file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  remove_all("turn", 1);
}

/* The first and the last rank have it open at once, and write whatever bytes in turn. */
static void at_once(void) {
  const int takes_part = rank == 0 || rank == last;
  MPI_File file = MPI_FILE_NULL;
  memset(expected, 0, LENGTH);
  if (rank == 0) {
    file = opened(MPI_COMM_SELF, path);
    expect_log(file, "a file that nobody else has open yet is logged");
    memset(block, 0, LENGTH);
    check(MPI_File_write_at(file, 0, block, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_at");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == last && rank != 0) file = opened(MPI_COMM_SELF, path);
  settle(file);
  srand(7);
  for (int round = 0; round < ROUNDS; ++round) {
    const int bytes = 1 + rand() % LARGEST, offset = rand() % (LENGTH - bytes);
    if (rank == (round % 2 == 0 ? 0 : last)) write_block(file, offset, bytes, round);
    fill(expected + offset, offset, bytes, round);
    settle(file);
    if (takes_part && strict) expect_bytes(file, 0, expected, LENGTH, "what the other one has written");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  close_it(&file);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The first rank writes while the last one opens the file. */
static void racing(void) {
  MPI_File file = MPI_FILE_NULL;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const char* name = name_of("race", repeat);
    if (rank == 0) file = opened(MPI_COMM_SELF, name);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < RACING; ++i) write_block(file, i * 100, 100, repeat);
    if (rank == last && rank != 0) {
      usleep((useconds_t)(200 * repeat));
      file = opened(MPI_COMM_SELF, name);
    }
    settle(file);
    if (rank == last && strict)
      for (int i = 0; i < RACING; ++i)
        expect_block(file, i * 100, 100, repeat, "what the first rank has written");
    close_it(&file);
  }
  remove_all("race", 5);
}

/* The first rank has it open alone, and then others, too, it among them. */
static void with_others(MPI_Comm others, const char* kind) {
  MPI_File alone = MPI_FILE_NULL, file = MPI_FILE_NULL;
  if (rank == 0) {
    alone = opened(MPI_COMM_SELF, name_of(kind, 0));
    write_block(alone, 0, RECORD, 1);
  }
  settle_both(alone, file);
  if (others != MPI_COMM_NULL) {
    file = opened(others, name_of(kind, 0));
    expect_block(file, 0, RECORD, 1, "what the first rank has written alone");
    write_block(file, (long long)(rank + 1) * RECORD, RECORD, 2);
  }
  settle_both(alone, file);
  if (rank == 0) write_block(alone, 0, RECORD, 3);
  settle_both(alone, file);
  if (file != MPI_FILE_NULL && strict)
    expect_block(file, 0, RECORD, 3, "what the first rank has written again");
  if (rank == 0 && strict) expect_block(alone, RECORD, RECORD, 2, "what the others have written");
  close_it(&file);
  close_it(&alone);
  remove_all(kind, 1);
}

/* All have it open, and then one of them alone, too. */
static void all_and_one(void) {
  MPI_File all = opened(MPI_COMM_WORLD, name_of("all", 0)), alone = MPI_FILE_NULL;
  write_block(all, (long long)rank * RECORD, RECORD, 1);
  settle(all);
  if (rank == last) {
    alone = opened(MPI_COMM_SELF, name_of("all", 0));
    for (int i = 0; i < ranks; ++i)
      expect_block(alone, (long long)i * RECORD, RECORD, 1, "what all have written");
    write_block(alone, 0, RECORD, 2);
    if (!strict) check(MPI_File_sync(alone) == MPI_SUCCESS, "sync");
  }
  settle(all);
  expect_block(all, 0, RECORD, 2, "what one has written");
  close_it(&alone);
  close_it(&all);
  remove_all("all", 1);
}

static void appended(void) {
  MPI_File file = MPI_FILE_NULL;
  if (rank == 0) {
    file = opened(MPI_COMM_SELF, name_of("end", 0));
    write_block(file, 0, 1000, 1);
    if (!strict) check(MPI_File_sync(file) == MPI_SUCCESS, "sync");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == last && rank != 0) {
    file = opened_for(MPI_COMM_SELF, name_of("end", 0), MPI_MODE_RDWR | MPI_MODE_APPEND);
    fill(block, 1000, 10, 1);
    check(MPI_File_write(file, block, 10, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
    expect_block(file, 0, 1010, 1, "what is behind the end of the file");
  }
  close_it(&file);
  remove_all("end", 1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  hosts = count_hosts();
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  path = argv[1];
  last = ranks - 1;
  for (int i = 2; i < argc; ++i) {
    must_log |= strcmp(argv[i], "log") == 0;
    strict |= strcmp(argv[i], "strict") == 0;
    logs_late |= strcmp(argv[i], "late") == 0;
  }
  block = malloc(RECORD * RECORDS);
  expected = malloc(LENGTH);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  if (strcmp(argv[argc - 1], "killed") == 0) be_killed();
  if (strcmp(argv[argc - 1], "left") == 0) {
    look_after_kill();
    return conclude();
  }
  each_alone();
  each_node();
  in_turn();
  at_once();
  racing();
  MPI_Comm some;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, rank, &some);
  with_others(some, "some");
  with_others(MPI_COMM_WORLD, "world");
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
  all_and_one();
  appended();
  some_then_others();
  overlapping();
  many_small(MPI_COMM_WORLD);
  some = all_but_last();
  many_small(some);
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
  some_and_one(0);
  some_and_one(1);
  MPI_Comm_free(&node);
  free(block);
  free(expected);
  const int failed = conclude();
  if (rank == 0 && !failed) printf("%d hosts\n", hosts);
  return failed;
}
