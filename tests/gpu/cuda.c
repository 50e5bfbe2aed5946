/* CUDA's driver. A copy to the device is on its way until the stream is waited for, and nothing is copied by
 * a thread without a context. */
#include "device.h"

enum { INVALID_VALUE = 1, INVALID_CONTEXT = 201, CONTEXT = 1, MEMORY_TYPE = 2, IS_MANAGED = 8, DEVICE = 2 };

static int context;
static __thread void* current;
static struct {
  void *to, *bytes;
  size_t count;
} under_way;

int cuPointerGetAttribute(void* data, int attribute, unsigned long long address) {
  if (buffer_of((void*)address) == NULL) return INVALID_VALUE;
  if (attribute == CONTEXT) *(void**)data = &context;
  if (attribute == MEMORY_TYPE) *(unsigned*)data = DEVICE;
  if (attribute == IS_MANAGED) *(unsigned char*)data = 0;
  return 0;
}

int cuCtxPushCurrent_v2(void* pushed) {
  current = pushed;
  return 0;
}

int cuCtxPopCurrent_v2(void** popped) {
  *popped = current;
  current = NULL;
  return 0;
}

int cuMemcpy(unsigned long long to, unsigned long long from, size_t bytes) {
  if (current != &context) return INVALID_CONTEXT;
  if (buffer_of((void*)to) == NULL) return copy_bytes((void*)to, (void*)from, bytes);
  under_way.to = (void*)to;
  under_way.bytes = malloc(bytes);
  under_way.count = bytes;
  return copy_bytes(under_way.bytes, (void*)from, bytes);
}

int cuStreamSynchronize(void* stream) {
  if (stream != NULL || current != &context) return INVALID_CONTEXT;
  if (under_way.to == NULL) return 0;
  const int code = copy_bytes(under_way.to, under_way.bytes, under_way.count);
  free(under_way.bytes);
  under_way.to = NULL;
  return code;
}
