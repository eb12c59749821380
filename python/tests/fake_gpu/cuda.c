/* A driver with one context and nothing behind it: enough for hodo to find CUDA running. */
#include <stddef.h>
#include <string.h>

static char context;
static void* current = &context;
int waits;

int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetName(char* name, int size, int device) {
  return device ? 1 : (strncpy(name, "Made Up", (size_t)size), 0);
}
int cuCtxGetCurrent(void** to) { return *to = current, 0; }
int cuCtxPushCurrent_v2(void* to) { return current = to, 0; }
int cuCtxPopCurrent_v2(void** to) { return *to = current, current = &context, 0; }
int cuCtxSynchronize(void) { return ++waits, 0; }
