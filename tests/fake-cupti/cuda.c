/* FAKE libcuda.so.1: see fake.h. Built with the soname of the real one, so that the loader finds it
 * where hodo looks for the driver.
 *
 * FAKE_CUDA_VERSION: what cuDriverGetVersion says; 13000 unless set.
 * FAKE_OTHER_TOOL=1: CUPTI's subscriber is taken from the start. */
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_INITIALIZED 3
#define MOST_NODES 64

typedef struct graph {
  int count;
  uint32_t id;
  fake_node nodes[MOST_NODES];
} graph;

static _Atomic(const fake_hooks*) hooks;
static atomic_int up, subscribed, held;
static atomic_uint correlations, graphs;
static atomic_ulong nodes;
static __thread graph* capturing;
static __thread int refused;

void fake_register(const fake_hooks* now) { hooks = now; }

int fake_subscribe(void) {
  const char* other = getenv("FAKE_OTHER_TOOL");
  if (other && *other == '1') return 0;
  int none = 0;
  return atomic_compare_exchange_strong(&subscribed, &none, 1);
}
void fake_unsubscribe(void) { subscribed = 0; }

void fake_refuse(int result) { refused = result; }
int fake_is_held(void) { return held; }
void fake_hold(int on) {
  held = on;
  const fake_hooks* h = hooks;
  if (!on && h) h->release();
}

int cuInit(unsigned flags) {
  (void)flags;
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once);
  if (!up) {
    const char* path = getenv("CUDA_INJECTION64_PATH");
    void* library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
    int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (start && !start()) fprintf(stderr, "the injected library refused\n");
    up = 1;
  }
  pthread_mutex_unlock(&once);
  return 0;
}

int cuDriverGetVersion(int* version) {
  const char* set = getenv("FAKE_CUDA_VERSION");
  *version = set ? atoi(set) : 13000;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 1;
  return up ? 0 : NOT_INITIALIZED;
}

int cuDeviceGetName(char* name, int length, int device) {
  if (!up || device != 0) return 101;
  snprintf(name, (size_t)length, "FAKE GPU");
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  if (!up || device != 0) return 101;
  for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)(0x11 * i);
  return 0;
}

static void call(uint32_t domain, uint32_t number, uint32_t site, uint32_t correlation,
                 const int* result, fake_node* node, fake_node* original) {
  const fake_hooks* h = hooks;
  if (h) h->call(domain, number, site, correlation, result, node, original);
}

static fake_node* add(graph* g, fake_function* function) {
  if (g->count == MOST_NODES) abort();
  fake_node* node = &g->nodes[g->count++];
  node->id = ++nodes;
  node->function = function;
  call(FAKE_RESOURCE, FAKE_NODE_CREATED, 0, 0, NULL, node, NULL);
  return node;
}

/* A call that causes one piece of work, or becomes a node, or is refused. */
static int work(uint32_t number, uint32_t kind, uint64_t bytes, void* stream, fake_function* function) {
  if (!up) return NOT_INITIALIZED;
  uint32_t correlation = ++correlations;
  int result = refused;
  refused = 0;
  call(FAKE_DRIVER, number, FAKE_ENTER, correlation, NULL, NULL, NULL);
  if (capturing && !result) {
    add(capturing, function);
  } else if (!result && kind) {
    const fake_work made = {kind, correlation, (uint32_t)(uintptr_t)stream, 0, number, 0, bytes,
                            function ? function->name : NULL};
    const fake_hooks* h = hooks;
    if (h) h->work(&made);
  }
  call(FAKE_DRIVER, number, FAKE_EXIT, correlation, &result, NULL, NULL);
  return result;
}

int cuLaunchKernel(fake_function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, void* stream, void** arguments,
                   void** extra) {
  (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)arguments,
      (void)extra;
  return work(FAKE_LAUNCH, FAKE_K_KERNEL, 0, stream, function);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  (void)to, (void)from;
  return work(FAKE_COPY, FAKE_K_COPY, bytes, stream, NULL);
}
int cuMemsetD8Async(uint64_t at, unsigned char value, size_t bytes, void* stream) {
  (void)at, (void)value;
  return work(FAKE_SET, FAKE_K_SET, bytes, stream, NULL);
}
int cuMemAlloc_v2(uint64_t* at, size_t bytes) {
  *at = 4096;
  return work(FAKE_ALLOC, FAKE_K_MEMORY, bytes, NULL, NULL);
}
int cuStreamSynchronize(void* stream) { return work(FAKE_SYNC, FAKE_K_SYNC, 0, stream, NULL); }
int cuCtxDestroy_v2(void* context) {
  (void)context;
  return work(FAKE_CONTEXT_END, 0, 0, NULL, NULL);
}

void fake_capture(void) {
  capturing = calloc(1, sizeof(graph));
  capturing->id = ++graphs;
}

void fake_fatal(void) {
  call(FAKE_STATE, 1, 0, 0, NULL, NULL, NULL);
  hooks = NULL;
}

void fake_add_node(fake_function* function) {
  graph by_hand = {0};
  add(&by_hand, function);
}

void* fake_instantiate(void) {
  graph* ready = calloc(1, sizeof(graph));
  ready->id = ++graphs;
  for (int i = 0; i < capturing->count; ++i) {
    fake_node* node = add(ready, capturing->nodes[i].function);
    call(FAKE_RESOURCE, FAKE_NODE_CLONED, 0, 0, NULL, node, &capturing->nodes[i]);
  }
  free(capturing);
  capturing = NULL;
  return ready;
}

int cuGraphLaunch(void* at, void* stream) {
  const graph* g = at;
  uint32_t correlation = ++correlations;
  int result = 0;
  call(FAKE_DRIVER, FAKE_GRAPH_LAUNCH, FAKE_ENTER, correlation, NULL, NULL, NULL);
  const fake_hooks* h = hooks;
  for (int i = 0; h && i < g->count; ++i) {
    const fake_node* node = &g->nodes[i];
    const fake_work made = {FAKE_K_KERNEL, correlation, (uint32_t)(uintptr_t)stream, g->id,
                            FAKE_GRAPH_LAUNCH, node->id, 0, node->function->name};
    h->work(&made);
  }
  call(FAKE_DRIVER, FAKE_GRAPH_LAUNCH, FAKE_EXIT, correlation, &result, NULL, NULL);
  return 0;
}
