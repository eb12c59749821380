/* A FAKE libnvidia-ml: made-up GPUs for tests of loading, errors and many devices. Nothing it tells
 * is evidence about a GPU; that comes from real ones (tests/gpu).
 *
 * FAKE_GPUS (default 8) GPUs, alike but for their numbers. FAKE_LOST is one that fell off the bus,
 * FAKE_OLD makes them older than Hopper, FAKE_ABSENT says that the driver is not loaded, FAKE_XID is
 * an Xid error that GPU 0 has once, FAKE_MIXED makes the last GPU another model. Each GPU has one MIG
 * instance, `MIG-` and the number of the GPU. Each is a macro, so that tests in one process can differ.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifndef FAKE_GPUS
#define FAKE_GPUS 8
#endif
#ifndef FAKE_LOST
#define FAKE_LOST -1
#endif

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, NOT_LOADED = 9, TIMED_OUT = 10, LOST = 15 };

typedef struct { int number; } gpu;
static gpu gpus[64], migs[64];

static int check(const gpu* g) { return g->number == FAKE_LOST ? LOST : OK; }

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Watts; constant, so that energy is known. */
static unsigned watts(const gpu* g) { return 100 + 50 * (unsigned)g->number; }

int nvmlInit_v2(void) {
#ifdef FAKE_ABSENT
  return NOT_LOADED;
#else
  for (int i = 0; i < 64; i++) gpus[i].number = migs[i].number = i;
  return OK;
#endif
}
int nvmlShutdown(void) { return OK; }
const char* nvmlErrorString(int code) { (void)code; return "fake"; }

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  snprintf(text, length, "999.0 (fake)");
  return OK;
}

int nvmlDeviceGetCount_v2(unsigned* count) { *count = FAKE_GPUS; return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu** g) {
  if (index >= FAKE_GPUS) return INVALID;
  *g = &gpus[index];
  return OK;
}

int nvmlDeviceGetUUID(gpu* g, char* text, unsigned length) {
  snprintf(text, length, "GPU-%08x-0000-0000-0000-00000000fa4e", g->number);
  return OK;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, gpu** g) {
  for (int i = 0; i < FAKE_GPUS; i++) {
    char text[64];
    nvmlDeviceGetUUID(&gpus[i], text, sizeof text);
    if (!strcmp(text, uuid)) { *g = &gpus[i]; return OK; }
    snprintf(text, sizeof text, "MIG-%08x", i);
    if (!strcmp(text, uuid)) { *g = &migs[i]; return OK; }
  }
  return NOT_FOUND;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(gpu* mig, gpu** g) {
  if (mig < migs || mig >= migs + 64) return INVALID;
  *g = &gpus[mig->number];
  return OK;
}

int nvmlDeviceGetName(gpu* g, char* text, unsigned length) {
#ifdef FAKE_MIXED
  snprintf(text, length, g->number == FAKE_GPUS - 1 ? "FAKE OTHER GPU" : "FAKE GPU");
#else
  (void)g;
  snprintf(text, length, "FAKE GPU");
#endif
  return OK;
}

int nvmlDeviceGetUtilizationRates(gpu* g, unsigned rates[2]) {
  rates[0] = 10 * (unsigned)g->number;
  rates[1] = 5 * (unsigned)g->number;
  return check(g);
}

typedef struct { unsigned version; uint64_t total, reserved, free, used; } memory;
int nvmlDeviceGetMemoryInfo_v2(gpu* g, memory* m) {
  m->total = 80ull << 30;
  m->used = (uint64_t)(g->number + 1) << 30;
  m->reserved = 0;
  m->free = m->total - m->used;
  return check(g);
}

int nvmlDeviceGetClockInfo(gpu* g, int clock, unsigned* mhz) { *mhz = clock == 2 ? 2619 : 1980; return check(g); }
int nvmlDeviceGetPowerUsage(gpu* g, unsigned* mw) { *mw = 1000 * watts(g); return check(g); }
int nvmlDeviceGetEnforcedPowerLimit(gpu* g, unsigned* mw) { *mw = 700000; return check(g); }
int nvmlDeviceGetTemperature(gpu* g, int sensor, unsigned* degrees) { (void)sensor; *degrees = 40 + (unsigned)g->number; return check(g); }
int nvmlDeviceGetCurrentClocksThrottleReasons(gpu* g, unsigned long long* bits) { *bits = g->number == 1 ? 4 : 1; return check(g); }
int nvmlDeviceGetNumFans(gpu* g, unsigned* fans) { *fans = 0; return check(g); }

int nvmlDeviceGetTotalEnergyConsumption(gpu* g, unsigned long long* mj) {
  *mj = (unsigned long long)(seconds() * 1000.0 * watts(g));
  return check(g);
}

typedef struct { unsigned field, scope; long long at, latency; int type, code; union { double d; unsigned u; unsigned long long ull; } value; } field;
int nvmlDeviceGetFieldValues(gpu* g, int count, field* fields) {
  for (int i = 0; i < count; i++) {
    field* f = &fields[i];
    f->code = check(g);
    f->type = 1;
    switch (f->field) {
      case 186: f->value.u = 1000 * watts(g); break;
      case 82: f->value.u = 45; break;
      case 3: case 4: f->type = 3; f->value.ull = 0; break;
      default: f->code = NOT_SUPPORTED;
    }
  }
  return OK;
}

typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process;
int nvmlDeviceGetComputeRunningProcesses_v3(gpu* g, unsigned* count, process* found) {
  if (check(g)) return check(g);
  if (!found || *count < 1) { *count = 1; return 7; }
  *count = 1;
  found[0] = (process){4000 + (unsigned)g->number, 1ull << 30, ~0u, ~0u};
  return OK;
}

typedef struct { unsigned version, supported; } support;
int nvmlGpmQueryDeviceSupport(gpu* g, support* s) {
#ifdef FAKE_OLD
  s->supported = 0;
#else
  s->supported = 1;
#endif
  return check(g);
}
int nvmlGpmSampleAlloc(void** sample) { static int one; *sample = &one; return OK; }
int nvmlGpmSampleFree(void* sample) { (void)sample; return OK; }
int nvmlGpmSampleGet(gpu* g, void* sample) { (void)sample; return check(g); }

typedef struct { unsigned id; int code; double value; const char* names[3]; } gpm;
typedef struct { unsigned version, count; void *first, *second; gpm metrics[210]; } gpms;
int nvmlGpmMetricsGet(gpms* all) {
  for (unsigned i = 0; i < all->count; i++) {
    all->metrics[i].code = OK;
    all->metrics[i].value = all->metrics[i].id < 20 ? 50.0 : 3.0;
  }
  return OK;
}

typedef struct { gpu* device; unsigned long long type, data; unsigned gi, ci; } event;
int nvmlEventSetCreate(void** set) { static int one; *set = &one; return OK; }
int nvmlEventSetFree(void* set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(gpu* g, unsigned long long types, void* set) { (void)g; (void)types; (void)set; return OK; }
int nvmlEventSetWait_v2(void* set, event* e, unsigned timeout_ms) {
  (void)set; (void)timeout_ms; (void)e;
#ifdef FAKE_XID
  static int told;
  if (!told++) { *e = (event){&gpus[0], 8, FAKE_XID, ~0u, ~0u}; return OK; }
#endif
  return TIMED_OUT;
}
