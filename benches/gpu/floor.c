// The least that a tracer with CUPTI can do, as a library to inject: records are asked for and thrown
// away, a callback stores one number a launch. FLOOR names what is on: kernels, callback (kernels and
// the callback), same (what hodo captures and the callback), all (every kind and the callback).
#include <cupti.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 4 << 20, REMEMBERED = 1 << 20 };
static uint64_t launches[REMEMBERED];

static void CUPTIAPI requested(uint8_t** buffer, size_t* size, size_t* most) {
  *size = BUFFER;
  *buffer = aligned_alloc(8, BUFFER);
  *most = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                               size_t valid) {
  (void)context, (void)stream, (void)size, (void)valid;
  free(buffer);
}

static void CUPTIAPI called(void* data, CUpti_CallbackDomain domain, CUpti_CallbackId number,
                            const void* details) {
  (void)data, (void)domain, (void)number;
  const CUpti_CallbackData* call = details;
  if (call->callbackSite == CUPTI_API_ENTER) {
    launches[call->correlationId % REMEMBERED] = (uint64_t)call->correlationId << 32 | 1;
  }
}

static void flush(void) { cuptiActivityFlushAll(1); }

int InitializeInjection(void) {
  static const CUpti_CallbackId driver[] = {307, 442, 477, 514, 652, 653};
  static const CUpti_CallbackId runtime[] = {211, 214, 311, 430, 431};
  const char* what = getenv("FLOOR");
  if (what == NULL) return 1;
  cuptiActivityRegisterCallbacks(requested, completed);
  if (strcmp(what, "kernels") != 0) {
    CUpti_SubscriberHandle hold;
    cuptiSubscribe(&hold, (CUpti_CallbackFunc)called, NULL);
    for (unsigned i = 0; i < sizeof driver / sizeof *driver; ++i)
      cuptiEnableCallback(1, hold, CUPTI_CB_DOMAIN_DRIVER_API, driver[i]);
    for (unsigned i = 0; i < sizeof runtime / sizeof *runtime; ++i)
      cuptiEnableCallback(1, hold, CUPTI_CB_DOMAIN_RUNTIME_API, runtime[i]);
  }
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (strcmp(what, "same") == 0 || strcmp(what, "all") == 0) {
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
  }
  if (strcmp(what, "all") == 0) {
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2);
  }
  atexit(flush);
  return 1;
}
