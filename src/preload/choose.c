#define _GNU_SOURCE
#include "preload/choose.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* last_component(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

const char* pmio_family_of(const char* path) {
  /* As in src/hints/family.h: what may follow is a point and further numbers. */
  static const char known[][2][16] = {{"libmpi.so.12", "mpich"},
                                      {"libmpich.so.12", "mpich"},
                                      {"libmpi.so.40", "openmpi"},
                                      {"libmpi_abi.so", "abi"}};
  const char* const name = last_component(path);
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    const size_t length = strlen(known[i][0]);
    if (strncmp(name, known[i][0], length) != 0) continue;
    if (name[length] == '\0' || name[length] == '.') return known[i][1];
  }
  return NULL;
}

int pmio_first_number(const char* text) {
  while (*text != '\0' && !isdigit((unsigned char)*text)) ++text;
  return (int)strtol(text, NULL, 10);
}

/* Intel counts years; nothing but its own library is near those. */
static int newness(int major) { return major >= 2000 ? 0 : major; }

/* Whether a runtime for version a is nearer to the MPI than one for version b. */
static int is_nearer(int a, int b, int mpi) {
  const int from_a = mpi == 0 ? 0 : abs(a - mpi);
  const int from_b = mpi == 0 ? 0 : abs(b - mpi);
  return from_a != from_b ? from_a < from_b : newness(a) > newness(b);
}

int pmio_choose_runtime(const char* list, const char* family, const char* mpi, int major, const char* wanted,
                        char path[PATH_MAX]) {
  FILE* const input = fopen(list, "re");
  if (input == NULL) return 0;
  const int directory = (int)(last_component(list) - list);
  char line[2 * PATH_MAX], candidate[PATH_MAX];
  int found = 0, nearest = 0;
  while (fgets(line, sizeof line, input) != NULL) {
    char tag[PMIO_LONGEST_WORD], kind[PMIO_LONGEST_WORD], version[PMIO_LONGEST_WORD], file[PMIO_LONGEST_WORD];
    int rest = 0;
    if (sscanf(line, "%63s %63s %63s %63s %n", tag, kind, version, file, &rest) != 4 || rest == 0) continue;
    if (strcmp(kind, family) != 0 || (wanted != NULL && strcmp(tag, wanted) != 0)) continue;
    line[strcspn(line, "\n")] = '\0';
    const int length = snprintf(candidate, sizeof candidate, "%.*s%s", directory, list, file);
    if (length >= (int)sizeof candidate || access(candidate, R_OK) != 0) continue;
    const int same = strcmp(line + rest, mpi) == 0;
    if (!same && found && !is_nearer(pmio_first_number(version), nearest, major)) continue;
    strcpy(path, candidate);
    found = 1;
    nearest = pmio_first_number(version);
    if (same) break;
  }
  fclose(input);
  return found;
}
