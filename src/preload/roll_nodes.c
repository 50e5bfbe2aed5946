#include "preload/roll_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  kLongestName = 256,
  kLongestPart = 200,       /* of the ranks of a node in one value, as MPI_MAX_PORT_NAME may be 256 */
  kPauseNsPerNode = 100000, /* before the next question: all leaders together ask not much faster than the
                               launcher answers */
  kLongestPauses = 16       /* of these */
};

static const char kAll[] = "all", kMissing[] = "missing";

struct Roll {
  const struct pmio_board* board;
  const struct pmio_node_roll* node;
  long long began_ms;
  long pause_ns;
};

static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void name_it(const struct Roll* roll, char* name, const char* what, int rank, int part) {
  snprintf(name, kLongestName, "pmio-%s-%s-%d-%d", roll->node->job, what, rank, part);
}

static int put(const struct Roll* roll, const char* what, int rank, int part, const char* value) {
  char name[kLongestName];
  name_it(roll, name, what, rank, part);
  return roll->board->put(name, value);
}

static int get(const struct Roll* roll, const char* what, int rank, int part, char* value) {
  char name[kLongestName];
  name_it(roll, name, what, rank, part);
  return roll->board->get(name, value);
}

/* Before the next question. */
static void pause_a_little(struct Roll* roll) {
  const int nodes = roll->node->ranks / roll->node->ranks_here + 1;
  const long first = (long)kPauseNsPerNode * nodes;
  roll->pause_ns = roll->pause_ns == 0 ? first : roll->pause_ns * 2;
  if (roll->pause_ns > first * kLongestPauses) roll->pause_ns = first * kLongestPauses;
  const struct timespec pause = {roll->pause_ns / 1000000000, roll->pause_ns % 1000000000};
  nanosleep(&pause, NULL);
}

static int is_patient(const struct Roll* roll, int patience_ms) {
  return now_ms() - roll->began_ms < patience_ms;
}

static int has_verdict(const struct Roll* roll, enum pmio_roll* verdict) {
  char value[PMIO_BOARD_VALUE];
  if (!get(roll, "verdict", 0, 0, value)) return 0;
  *verdict = strcmp(value, kAll) == 0 ? PMIO_ROLL_ALL : PMIO_ROLL_SOME_MISSING;
  return 1;
}

static void say_missing(const struct Roll* roll) { put(roll, "verdict", 0, 0, kMissing); }

/* How many of these follow each other at the distance of the first two. */
static int run_length(const int* ranks, int count) {
  int length = count < 2 ? count : 2;
  while (length < count && ranks[length] - ranks[length - 1] == ranks[1] - ranks[0]) ++length;
  return length;
}

/* Puts up this node's ranks, as parts of runs `first:count:distance,`. The last part ends with a full stop.
 */
static int put_ranks(const struct Roll* roll) {
  const struct pmio_node_roll* const node = roll->node;
  char value[PMIO_BOARD_VALUE] = "";
  size_t used = 0;
  int part = 0;
  for (int at = 0; at < node->ranks_here;) {
    const int* const run = node->here + at;
    const int length = run_length(run, node->ranks_here - at);
    used += (size_t)snprintf(value + used, sizeof value - used, "%d:%d:%d,", run[0], length,
                             length < 2 ? 1 : run[1] - run[0]);
    at += length;
    if (used < kLongestPart || at == node->ranks_here) continue;
    if (!put(roll, "ranks", node->here[0], part++, value)) return 0;
    used = 0;
  }
  snprintf(value + used, sizeof value - used, ".");
  return put(roll, "ranks", node->here[0], part, value);
}

/* Marks the ranks of a value. Below 0: it is none of ours; 1: that was the last part of a node; 0: not so. */
static int mark(const char* value, char* present, int ranks) {
  while (*value != '\0' && *value != '.') {
    char* end = NULL;
    const long first = strtol(value, &end, 10);
    const long count = *end == ':' ? strtol(end + 1, &end, 10) : 0;
    const long distance = *end == ':' ? strtol(end + 1, &end, 10) : 0;
    if (*end != ',' || first < 0 || count < 1 || distance < 1 || first >= ranks || count > ranks ||
        distance > ranks || first + (count - 1) * distance >= ranks)
      return -1;
    for (long i = 0; i < count; ++i) present[first + i * distance] = 1;
    value = end + 1;
  }
  return *value == '.';
}

/* Looks for the next part, in patience. Below 0: there is a verdict, or no patience any more. */
static int collect_part(struct Roll* roll, int leader, int part, char* present) {
  char value[PMIO_BOARD_VALUE];
  enum pmio_roll verdict;
  while (!get(roll, "ranks", leader, part, value)) {
    if (has_verdict(roll, &verdict) || !is_patient(roll, roll->node->collecting_ms)) return -1;
    pause_a_little(roll);
  }
  return mark(value, present, roll->node->ranks);
}

/* Looks for the ranks of all nodes. Their leaders' are 2 in present, the others' 1. */
static int collect(struct Roll* roll, char* present) {
  for (int leader = 0; leader < roll->node->ranks; ++leader) {
    if (present[leader]) continue;
    int last = 0;
    for (int part = 0; last == 0; ++part) last = collect_part(roll, leader, part, present);
    if (last < 0 || !present[leader]) return 0;
    present[leader] = 2;
  }
  return 1;
}

static int has_left(const struct Roll* roll, const char* present) {
  char value[PMIO_BOARD_VALUE];
  for (int rank = 1; rank < roll->node->ranks; ++rank) {
    if (present[rank] == 2 && get(roll, "left", rank, 0, value)) return 1;
  }
  return 0;
}

/* By the leader of rank 0. */
static enum pmio_roll decide(struct Roll* roll) {
  char* const present = calloc((size_t)roll->node->ranks, 1);
  const int all = present != NULL && collect(roll, present) && put(roll, "found", 0, 0, kAll) &&
                  !has_left(roll, present) && put(roll, "verdict", 0, 0, kAll);
  free(present);
  if (all) return PMIO_ROLL_ALL;
  /* Another process may have said so before, and says it to the user, too. */
  enum pmio_roll known;
  const int is_known = has_verdict(roll, &known);
  if (!is_known) say_missing(roll);
  return is_known ? PMIO_ROLL_SOME_MISSING : PMIO_ROLL_TO_SAY;
}

/* By another leader. */
static enum pmio_roll await_verdict(struct Roll* roll) {
  enum pmio_roll verdict;
  char value[PMIO_BOARD_VALUE];
  for (int leaves = 0; !has_verdict(roll, &verdict); pause_a_little(roll)) {
    if (leaves || is_patient(roll, roll->node->patience_ms)) continue;
    leaves = put(roll, "left", roll->node->here[0], 0, kMissing);
    if (leaves && get(roll, "found", 0, 0, value)) continue; /* rank 0's leader is about to decide */
    say_missing(roll);
    return PMIO_ROLL_TO_SAY;
  }
  return verdict;
}

enum pmio_roll pmio_roll_nodes(const struct pmio_board* board, const struct pmio_node_roll* node) {
  struct Roll roll = {board, node, now_ms(), 0};
  if (!put_ranks(&roll)) return PMIO_ROLL_UNKNOWN;
  return node->here[0] == 0 ? decide(&roll) : await_verdict(&roll);
}

void pmio_roll_tell_missing(const struct pmio_board* board, const char* job) {
  const struct pmio_node_roll node = {job, NULL, 0, 0, 0, 0};
  const struct Roll roll = {board, &node, 0, 0};
  say_missing(&roll);
}
