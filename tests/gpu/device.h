/* Stand-ins for the libraries of GPUs: the functions that pmio calls, which answer as the real ones do for
 * memory that the CPU cannot touch. A library of one kind is this header and one source. */
#pragma once

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_BUFFERS = 64, PAGE_BYTES = 2 << 20 };

struct buffer {
  char* device; /* what the program is given: no access */
  char* behind; /* the same bytes, for copies */
  size_t bytes;
};
static struct buffer buffers[MOST_BUFFERS];
static int buffer_count;

/* For tests: device memory, as cuMemAlloc gives it. Of one thread at a time. */
__attribute__((visibility("default"))) void* fake_device_memory(size_t bytes) {
  struct buffer* buffer = &buffers[buffer_count++];
  const int fd = memfd_create("device", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return NULL;
  char* const room = mmap(NULL, bytes + PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const aligned = room + (PAGE_BYTES - (uintptr_t)room % PAGE_BYTES) % PAGE_BYTES;
  buffer->device = mmap(aligned, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0);
  buffer->behind = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  buffer->bytes = bytes;
  close(fd);
  return buffer->device;
}

static struct buffer* buffer_of(const void* address) {
  for (int i = 0; i < buffer_count; i++) {
    struct buffer* buffer = &buffers[i];
    if ((const char*)address >= buffer->device && (const char*)address < buffer->device + buffer->bytes)
      return buffer;
  }
  return NULL;
}

/* Copies by whichever end is the device's. Not beyond a buffer: there is other memory, or none. */
static int copy_bytes(void* to, const void* from, size_t bytes) {
  struct buffer *target = buffer_of(to), *source = buffer_of(from);
  if (target != NULL && (size_t)((char*)to - target->device) + bytes > target->bytes) return 1;
  if (source != NULL && (size_t)((const char*)from - source->device) + bytes > source->bytes) return 1;
  memcpy(target != NULL ? target->behind + ((char*)to - target->device) : to,
         source != NULL ? source->behind + ((const char*)from - source->device) : from, bytes);
  return 0;
}
