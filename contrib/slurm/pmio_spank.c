/* SPANK plugin for Slurm: `srun --pmio ./app` and `srun --pmio=off ./app`, for sbatch and salloc too.
 *
 * In plugstack.conf:
 *
 *   optional PREFIX/lib/pmio/pmio_spank.so library=PREFIX/lib/pmio/libpmio.so default=on
 *
 * library: what is preloaded. Without it nothing is done; libpmio.so beside the plugin's file is not looked
 * for. default: `on` or `off`, for jobs that do not say; off if it is left out. The option of a job's
 * allocation holds for its steps, unless they have their own. It is handed on in the environment, as
 * PMIO_MODE=off or LD_PRELOAD.
 */
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

SPANK_PLUGIN(pmio, 1);

enum { kUnsaid, kOn, kOff };
enum { kLongestList = 65536 };

static int said = kUnsaid;
static int site_default = kOff;
static const char* library;

static int parse(const char* word, int* into) {
  if (word == NULL || *word == '\0' || strcasecmp(word, "on") == 0) {
    *into = kOn;
  } else if (strcasecmp(word, "off") == 0) {
    *into = kOff;
  } else {
    slurm_error("pmio: '%s' is not on or off", word);
    return -1;
  }
  return 0;
}

static int option_given(int value, const char* argument, int remote) {
  (void)value;
  (void)remote;
  return parse(argument, &said);
}

static struct spank_option option = {"pmio", "on|off", "Log the MPI-IO of the job's programs by pmio",
                                     2,      0,        option_given};

int slurm_spank_init(spank_t job, int argc, char** argv) {
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "library=", 8) == 0) library = argv[i] + 8;
    if (strncmp(argv[i], "default=", 8) == 0 && parse(argv[i] + 8, &site_default) != 0) return -1;
  }
  return spank_option_register(job, &option) == ESPANK_SUCCESS ? 0 : -1;
}

static int preload(spank_t job) {
  static char list[kLongestList], others[kLongestList];
  /* If a library is not there, the loader complains to every program of the job. */
  if (library == NULL || access(library, R_OK) != 0) {
    slurm_error("pmio: cannot read %s: the job runs without pmio",
                library == NULL ? "(no library=)" : library);
    return 0;
  }
  if (spank_getenv(job, "LD_PRELOAD", others, sizeof others) != ESPANK_SUCCESS) others[0] = '\0';
  if (strstr(others, "libpmio.so") != NULL) return 0;
  snprintf(list, sizeof list, "%s%s%s", others, *others ? ":" : "", library);
  return spank_setenv(job, "LD_PRELOAD", list, 1) == ESPANK_SUCCESS ? 0 : -1;
}

/* On the node, as the user, before the task is started. */
int slurm_spank_task_init(spank_t job, int argc, char** argv) {
  (void)argc;
  (void)argv;
  if (said == kOff) return spank_setenv(job, "PMIO_MODE", "off", 1) == ESPANK_SUCCESS ? 0 : -1;
  if (said == kOn) {
    char mode[16];
    /* Of an allocation that said off. */
    if (spank_getenv(job, "PMIO_MODE", mode, sizeof mode) == ESPANK_SUCCESS && strcasecmp(mode, "off") == 0)
      spank_unsetenv(job, "PMIO_MODE");
  }
  return said == kOn || site_default == kOn ? preload(job) : 0;
}
