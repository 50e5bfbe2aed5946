/* Level Zero, with one driver and one device. */
#include "device.h"

struct description {
  int type;
  const void* next;
  uint32_t ordinal, index, flags;
  int mode, priority;
};
struct properties {
  int type;
  void* next;
  int memory;
  uint64_t id, page_bytes;
};

static int initialized, driver, context, device, list;

/* For tests: what the program calls, as zeInit. */
int zeInit(uint32_t flags) {
  initialized = 1;
  return flags == 0 ? 0 : 1;
}

int zeDriverGet(uint32_t* count, void** drivers) {
  if (!initialized) return 0x78000001;
  *count = 1;
  if (drivers != NULL) drivers[0] = &driver;
  return 0;
}

int zeContextCreate(void* of, const struct description* how, void** made) {
  *made = &context;
  return of == &driver && how->type == 0xd ? 0 : 1;
}

int zeMemGetAllocProperties(void* in, const void* address, struct properties* found, void** of) {
  if (in != &context || found->type != 0x17) return 1;
  found->memory = buffer_of(address) == NULL ? 0 : 2;
  *of = found->memory == 2 ? &device : NULL;
  return 0;
}

int zeCommandListCreateImmediate(void* in, void* of, const struct description* how, void** made) {
  *made = &list;
  return in == &context && of == &device && how->type == 0xe && how->mode == 1 ? 0 : 1;
}

int zeCommandListAppendMemoryCopy(void* by, void* to, const void* from, size_t bytes, void* event,
                                  uint32_t waits, void** events) {
  if (by != &list || event != NULL || waits != 0 || events != NULL) return 1;
  return copy_bytes(to, from, bytes);
}
