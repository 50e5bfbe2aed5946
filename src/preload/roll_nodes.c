#include "preload/roll_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  kLongestName = 256,
  kLongestPart = 200, /* of the ranks of a node in one value, as MPI_MAX_PORT_NAME may be 256 */
  kPauseUsPerNode = 100,
  kMostNodes = 1000, /* that the pause counts */
  kLongestPauses = 8,
  kMostTries = 200,
  kLooks = 5,   /* for what may have been put up, before it is again */
  kProbes = 10, /* all fail: there are no names */
  kProbePauseMs = 10
};

static const char kAll[] = "all", kMissing[] = "missing", kIncomplete[] = "incomplete";

struct Roll {
  const struct pmio_board* board;
  const struct pmio_node_roll* node;
  long long began_ms;
  long pause_us;
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

static int is_leader_of_rank_0(const struct Roll* roll) { return roll->node->here[0] == 0; }

/* Before the next question: all leaders together ask not much faster than the launcher answers. */
static void pause_a_little(struct Roll* roll) {
  const int estimate = roll->node->ranks / roll->node->ranks_here + 1;
  const int nodes = is_leader_of_rank_0(roll) ? 1 : estimate < kMostNodes ? estimate : kMostNodes;
  const long first = (long)kPauseUsPerNode * nodes;
  roll->pause_us = roll->pause_us == 0 ? first : roll->pause_us * 2;
  if (roll->pause_us > first * kLongestPauses) roll->pause_us = first * kLongestPauses;
  const struct timespec pause = {roll->pause_us / 1000000, roll->pause_us % 1000000 * 1000};
  nanosleep(&pause, NULL);
}

static int is_patient(const struct Roll* roll, int patience_ms) {
  return now_ms() - roll->began_ms < patience_ms;
}

static int is_there(const struct Roll* roll, const char* what, int rank) {
  char value[PMIO_BOARD_VALUE];
  return get(roll, what, rank, 0, value);
}

/* Not twice: a call that has failed may have put it up all the same. */
static int put_once(struct Roll* roll, const char* what, int rank, const char* value) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries % kLooks == 0 && put(roll, what, rank, 0, value)) return 1;
    if (is_there(roll, what, rank)) return 1;
    pause_a_little(roll);
  }
  return 0;
}

static int has_verdict(const struct Roll* roll, enum pmio_roll* verdict) {
  char value[PMIO_BOARD_VALUE];
  if (!get(roll, "verdict", 0, 0, value)) return 0;
  *verdict = strcmp(value, kAll) == 0 ? PMIO_ROLL_ALL : PMIO_ROLL_SOME_MISSING;
  return 1;
}

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

/* Looks for a value, in patience. */
static int await_value(struct Roll* roll, const char* what, int rank, int part, char* value) {
  while (!get(roll, what, rank, part, value)) {
    if (!is_patient(roll, roll->node->patience_ms)) return 0;
    pause_a_little(roll);
  }
  roll->pause_us = 0;
  return 1;
}

/* Looks for the ranks of all nodes. Their leaders' are 2 in present, the others' 1. */
static int collect(struct Roll* roll, char* present) {
  char value[PMIO_BOARD_VALUE];
  for (int leader = 0; leader < roll->node->ranks; ++leader) {
    if (present[leader]) continue;
    int last = 0;
    for (int part = 0; last == 0; ++part) {
      if (!await_value(roll, "ranks", leader, part, value)) return 0;
      last = mark(value, present, roll->node->ranks);
    }
    if (last < 0 || !present[leader]) return 0;
    present[leader] = 2;
  }
  return 1;
}

static int all_stay(struct Roll* roll, const char* present) {
  char value[PMIO_BOARD_VALUE];
  for (int rank = 1; rank < roll->node->ranks; ++rank) {
    if (present[rank] == 2 && !await_value(roll, "stays", rank, 0, value)) return 0;
  }
  return 1;
}

/* By the leader of rank 0. */
static enum pmio_roll decide(struct Roll* roll, int told) {
  char* const present = told ? calloc((size_t)roll->node->ranks, 1) : NULL;
  const int all = present != NULL && collect(roll, present) && put_once(roll, "found", 0, kAll) &&
                  all_stay(roll, present);
  free(present);
  while (!put_once(roll, "verdict", 0, all ? kAll : kMissing)) {
  }
  return all ? PMIO_ROLL_ALL : PMIO_ROLL_TO_SAY;
}

/* By another leader. */
static enum pmio_roll await_verdict(struct Roll* roll) {
  enum pmio_roll verdict;
  for (int stays = 0; !has_verdict(roll, &verdict); pause_a_little(roll)) {
    if (stays) continue;
    stays = is_there(roll, "found", 0);
    if (stays)
      put_once(roll, "stays", roll->node->here[0], kAll);
    else if (!is_patient(roll, roll->node->patience_ms))
      return PMIO_ROLL_TO_SAY;
  }
  return verdict;
}

int pmio_roll_has_names(const struct pmio_board* board, const char* job, int id) {
  const struct pmio_node_roll node = {job, NULL, 0, 0, 0};
  const struct Roll roll = {board, &node, 0, 0};
  const struct timespec pause = {0, kProbePauseMs * 1000000L};
  char value[PMIO_BOARD_VALUE];
  for (int tries = 0; tries < kProbes; ++tries) {
    if (put(&roll, "probe", id, 0, kAll) || get(&roll, "probe", id, 0, value)) return 1;
    nanosleep(&pause, NULL);
  }
  return 0;
}

enum pmio_roll pmio_roll_nodes(const struct pmio_board* board, const struct pmio_node_roll* node) {
  struct Roll roll = {board, node, now_ms(), 0};
  const int told = put_ranks(&roll);
  if (!told && !pmio_roll_has_names(board, node->job, node->here[0])) return PMIO_ROLL_UNKNOWN;
  if (!is_leader_of_rank_0(&roll)) return await_verdict(&roll); /* they may have been found all the same */
  return decide(&roll, told);
}

enum pmio_roll pmio_roll_incomplete(const struct pmio_board* board, const struct pmio_node_roll* node) {
  struct Roll roll = {board, node, now_ms(), 0};
  const int told = put(&roll, "ranks", node->here[0], 0, kIncomplete);
  if (!told && !pmio_roll_has_names(board, node->job, node->here[0])) return PMIO_ROLL_UNKNOWN;
  return is_leader_of_rank_0(&roll) ? decide(&roll, 0) : PMIO_ROLL_TO_SAY;
}
