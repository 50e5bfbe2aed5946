// MADV_POPULATE_READ and MADV_POPULATE_WRITE for C libraries that do not know them; Linux 5.14 does.
#pragma once

#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
