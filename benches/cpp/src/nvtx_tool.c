// The least a recording tool for NVTX can do: a stack of start times and a ring of 64-byte records.
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <x86intrin.h>

enum { RING = 1 << 17, DEEPEST = 64 };

static _Thread_local struct {
  uint64_t records[RING][8];
  uint64_t starts[DEEPEST];
  const char *names[DEEPEST];
  uint64_t next;
  int depth;
} own;

static int push(const char *name) {
  int depth = own.depth++ & (DEEPEST - 1);
  own.names[depth] = name;
  own.starts[depth] = __rdtsc();
  return depth;
}

static int push_ex(const nvtxEventAttributes_t *attributes) { return push(attributes->message.ascii); }

static int domain_push(void *domain, const nvtxEventAttributes_t *attributes) {
  (void)domain;
  return push_ex(attributes);
}

static int pop(void) {
  uint64_t now = __rdtsc();
  int depth = --own.depth & (DEEPEST - 1);
  uint64_t *record = own.records[own.next++ & (RING - 1)];
  record[0] = (uint64_t)(uintptr_t)own.names[depth];
  record[1] = own.starts[depth];
  record[2] = now;
  record[3] = (uint64_t)depth;
  return depth;
}

static int domain_pop(void *domain) {
  (void)domain;
  return pop();
}

uint64_t nvtx_tool_records(void) { return own.next; }

typedef void (*Function)(void);

static void put(NvtxGetExportTableFunc_t tables, NvtxCallbackModule module, int id, Function function) {
  const NvtxExportTableCallbacks *callbacks =
      (const NvtxExportTableCallbacks *)tables(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table = 0;
  unsigned int size = 0;
  if (callbacks && callbacks->GetModuleFunctionTable(module, &table, &size) && (unsigned)id < size) {
    *table[id] = (NvtxFunctionPointer)function;
  }
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  put(tables, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, (Function)push);
  put(tables, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushEx, (Function)push_ex);
  put(tables, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, (Function)pop);
  put(tables, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, (Function)domain_push);
  put(tables, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, (Function)domain_pop);
  return 1;
}
