#pragma once

#include <mpi.h>
#include <stdint.h>

struct crash_progress;
void crash_cut(struct crash_progress* mine, const char* path, uint64_t seed, uint64_t calls, int handles);
