/* A CUPTI that answers as 13.0 does and samples what it is told to have launched. It says nothing
 * about a real one: it shows that hodo calls in order, reads what it is given and gives back what it
 * takes. FAKE_REFUSE makes a function answer with a code, as in "cuptiPCSamplingEnable=35". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*callback)(void*, uint32_t, uint32_t, const void*);
struct call {
  uint32_t site;
  const void *name, *parameters;
  const int* returned;
  const void* symbol;
  void* context;
  uint32_t context_id;
  void* data;
  uint32_t correlation;
};
struct of_context { size_t size; void *private, *context; };
struct fetch { struct of_context of; void* into; };
struct names { struct of_context of; size_t count; uint32_t* indices; char** names; };
struct setting { uint32_t attribute; int32_t status; uint64_t value[3]; };
struct settings { struct of_context of; size_t count; struct setting* first; };
struct stalled { uint32_t reason, samples; };
struct pc {
  size_t size;
  uint64_t cubin, offset;
  uint32_t function, padding;
  const char* name;
  size_t reasons;
  struct stalled* first;
  uint32_t correlation;
};
struct data {
  size_t size, capacity;
  uint64_t samples, dropped;
  size_t filled, remaining;
  uint64_t range;
  struct pc* first;
  uint64_t foreign;
  uint8_t full;
};
struct checksum { size_t size, bytes; const void* cubin; uint64_t checksum; };
struct source {
  size_t size;
  const void* cubin;
  const char* function;
  size_t bytes;
  uint32_t line;
  uint64_t offset;
  char *file, *folder;
};
struct module { uint32_t id; size_t bytes; const char* cubin; };
struct resource { void *context, *handle; const void* descriptor; };

extern int cuCtxGetCurrent(void**);

static callback called;
static uint32_t correlations;
static int enabled, started;
static struct data* kept;
static struct { const char* name; uint32_t correlation; } sampled[64];
static size_t count, given;

static int refused(const char* function) {
  const char* told = getenv("FAKE_REFUSE");
  size_t length = strlen(function);
  return told && !strncmp(told, function, length) && told[length] == '=' ? atoi(told + length + 1) : 0;
}
#define MAY_REFUSE                                        \
  do {                                                    \
    int code = refused(__func__);                         \
    if (code) return code;                                \
  } while (0)

/* What the tests call: a kernel is launched, a module loaded. */
void fake_launch(const char* name) {
  int done = 0;
  struct call call = {.returned = &done, .correlation = ++correlations, .context_id = 1};
  cuCtxGetCurrent(&call.context);
  if (called) called(NULL, 1, 307, &call);
  if (started && count < 64) {
    sampled[count].name = name;
    sampled[count++].correlation = call.correlation;
  }
  call.site = 1;
  if (called) called(NULL, 1, 307, &call);
}
void fake_load(const char* cubin, size_t bytes) {
  struct module module = {1, bytes, cubin};
  struct resource resource = {.descriptor = &module};
  cuCtxGetCurrent(&resource.context);
  if (called) called(NULL, 3, 6, &resource);
}

int cuptiGetVersion(uint32_t* version) { return *version = 130001, 0; }
int cuptiGetResultString(int code, const char** text) {
  return *text = code == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_MADE_UP", 0;
}
int cuptiSubscribe(void** to, callback function, void* data) {
  return (void)data, called = function, *to = &called, 0;
}
int cuptiUnsubscribe(void* subscriber) { return (void)subscriber, called = NULL, 0; }
int cuptiEnableCallback(uint32_t on, void* s, uint32_t d, uint32_t n) { return (void)on, (void)s, (void)d, (void)n, 0; }
int cuptiEnableDomain(uint32_t on, void* s, uint32_t d) { return (void)on, (void)s, (void)d, 0; }
int cuptiActivityEnable(uint32_t kind) { return (void)kind, 0; }
int cuptiActivityDisable(uint32_t kind) { return (void)kind, 0; }
int cuptiActivityRegisterCallbacks(void* requested, void* completed) { return (void)requested, (void)completed, 0; }
int cuptiActivityRegisterTimestampCallback(void* clock) { return (void)clock, 0; }
int cuptiActivityGetNextRecord(uint8_t* b, size_t s, void** r) { return (void)b, (void)s, (void)r, 12; }
int cuptiActivityGetNumDroppedRecords(void* c, uint32_t s, size_t* n) { return (void)c, (void)s, *n = 0, 0; }
int cuptiActivityFlushAll(uint32_t flag) { return (void)flag, 0; }

int cuptiPCSamplingEnable(struct of_context* of) {
  MAY_REFUSE;
  if (of->size != sizeof *of || enabled) return 7;
  return enabled = 1, 0;
}
int cuptiPCSamplingGetNumStallReasons(struct fetch* fetch) {
  MAY_REFUSE;
  return enabled ? (*(size_t*)fetch->into = 3, 0) : 7;
}
int cuptiPCSamplingGetStallReasons(struct names* names) {
  static const char* reasons[] = {"selected", "long_scoreboard", "long_scoreboard_not_issued"};
  for (size_t i = 0; i < names->count; ++i) {
    names->indices[i] = 10 + (uint32_t)i;
    snprintf(names->names[i], 128, "smsp__pcsamp_warps_issue_stalled_%s", reasons[i]);
  }
  return 0;
}
int cuptiPCSamplingSetConfigurationAttribute(struct settings* settings) {
  MAY_REFUSE;
  int seen = 0;
  for (size_t i = 0; i < settings->count; ++i) {
    struct setting* setting = &settings->first[i];
    seen |= 1 << setting->attribute;
    if (setting->attribute == 8) kept = (struct data*)setting->value[0];
    if (setting->attribute == 3 && getenv("FAKE_NO_SCRATCH")) return setting->status = 7;
  }
  return (seen & (1 << 5 | 1 << 6 | 1 << 8)) == (1 << 5 | 1 << 6 | 1 << 8) ? 0 : 1;
}
int cuptiPCSamplingGetConfigurationAttribute(struct settings* settings) {
  return settings->first->value[0] = 11, 0;
}
int cuptiPCSamplingStart(struct of_context* of) {
  MAY_REFUSE;
  return (void)of, enabled && kept ? (started = 1, count = given = 0) : 7;
}
int cuptiPCSamplingStop(struct of_context* of) { return (void)of, started ? (started = 0) : 7; }

static void put(struct data* data, size_t launch) {
  struct pc* pc = &data->first[data->filled++];
  if (pc->size != sizeof *pc || pc->reasons < 3) abort();
  pc->cubin = 0xc0de;
  pc->offset = 16;
  pc->name = sampled[launch].name;
  pc->correlation = sampled[launch].correlation;
  pc->first[0] = (struct stalled){10, 5};
  pc->first[1] = (struct stalled){11, 20};
  pc->first[2] = (struct stalled){12, 15};
  pc->reasons = 3;
  data->samples += 25;
}
/* Two launches a time, and the last one only when sampling is disabled. */
int cuptiPCSamplingGetData(struct fetch* fetch) {
  MAY_REFUSE;
  struct data* data = fetch->into;
  for (int i = 0; i < 2 && given + 1 < count; ++i) put(data, given++);
  data->remaining = given + 1 < count ? count - 1 - given : 0;
  return 0;
}
int cuptiPCSamplingDisable(struct of_context* of) {
  (void)of;
  if (!enabled) return 7;
  for (; kept && given < count; ++given) put(kept, given);
  return enabled = 0, kept = NULL, 0;
}
int cuptiGetCubinCrc(struct checksum* checksum) { return checksum->checksum = 0xc0de, 0; }
int cuptiGetSassToSourceCorrelation(struct source* source) {
  source->line = 42;
  source->file = strdup("kernel.cu");
  source->folder = strdup("/src/");
  return 0;
}
