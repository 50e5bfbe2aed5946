/* Computing. */
#ifndef PMIO_BENCH_WORK_H
#define PMIO_BENCH_WORK_H

#include <time.h>

static inline void work(long units) {
  static volatile double result;
  double x = 1;
  for (long i = 0; i < units; i++) x = x * 1.0000001 + 1e-9;
  result = x;
  (void)result;
}

static inline double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Of a processor's time: for longer by the clock if something else has it. */
static inline void work_for(double seconds) {
  const double end = thread_seconds() + seconds;
  while (thread_seconds() < end) work(20000);
}

#endif
