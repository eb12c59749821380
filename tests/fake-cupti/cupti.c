/* FAKE libcupti.so.13: see fake.h. It is as unkind as CUPTI may be: it asks for buffers and gives
 * them back under its own lock, from the program's threads and from whoever flushes; it stops the
 * process when it is handed a buffer that is not zeroed, or none where the real one would crash.
 *
 * FAKE_CUPTI_VERSION   what cuptiGetVersion says; 130001 unless set
 * FAKE_CUPTI_FAIL      function=code,...: what functions answer instead of doing anything
 * FAKE_CUPTI_DROP      n: every n-th record is dropped and counted
 * FAKE_CUPTI_ZERO      n: every n-th record has no times, as for lack of memory on the device
 * FAKE_CUPTI_FILL      n: a buffer goes back with n records; as many as fit unless set
 * FAKE_CUPTI_KEEP      1: buffers, full ones too, go back only when they are flushed by force
 * FAKE_CUPTI_LOG       a file that gets a line for every call */
#define _GNU_SOURCE
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SUCCESS 0
#define NOT_INITIALIZED 15
#define MAX_LIMIT_REACHED 12
#define INVALID_KIND 21
#define MULTIPLE_SUBSCRIBERS 39
#define KINDS 64
#define NUMBERS 1024

typedef void (*callback)(void*, uint32_t, uint32_t, const void*);
typedef void (*requested)(uint8_t**, size_t*, size_t*);
typedef void (*completed)(void*, uint32_t, uint8_t*, size_t, size_t);
typedef uint64_t (*timestamp)(void);

/* CUpti_CallbackData, CUpti_ResourceData, CUpti_GraphData. */
typedef struct call_data {
  uint32_t site;
  const char* function;
  const void* parameters;
  const int* result;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* correlation_data;
  uint32_t correlation;
} call_data;
typedef struct graph_data {
  void* graph;
  void* original_graph;
  fake_node* node;
  fake_node* original;
  uint32_t type;
  void* dependency;
  void* ready;
} graph_data;
typedef struct resource_data {
  void* context;
  void* handle;
  void* descriptor;
} resource_data;

/* The buffer a thread's records go to, and its kernels that are under way. */
typedef struct lane {
  uint8_t* buffer;
  size_t size, used;
  int records, waiting, kept;
  fake_work* under_way;
  struct kept {
    uint8_t* buffer;
    size_t size, used;
  } keeps[256];
  struct lane* next;
} lane;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static lane* lanes;
static __thread lane* mine;
static requested request;
static completed complete;
static timestamp now;
static _Atomic(callback) called;
static atomic_uchar kinds[KINDS], numbers[NUMBERS], resources[64];
static atomic_size_t dropped;
static atomic_ulong made;

static long setting(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text ? atol(text) : otherwise;
}

static unsigned version(void) {
  static unsigned known;
  return known ? known : (known = (unsigned)setting("FAKE_CUPTI_VERSION", 130001));
}

/* What FAKE_CUPTI_FAIL says of a function; every function asks first. */
static int told(const char* function) {
  const char* log = getenv("FAKE_CUPTI_LOG");
  if (log) {
    FILE* file = fopen(log, "a");
    if (file) fprintf(file, "%d %s\n", getpid(), function), fclose(file);
  }
  const char* list = getenv("FAKE_CUPTI_FAIL");
  size_t length = strlen(function);
  for (const char* at = list; at && *at; at = strchr(at, ','), at = at ? at + 1 : at) {
    if (strncmp(at, function, length) == 0 && at[length] == '=') return atoi(at + length + 1);
  }
  return SUCCESS;
}
#define ASK                                   \
  do {                                        \
    int answer = told(__func__);              \
    if (answer != SUCCESS) return answer;     \
  } while (0)

/* Bytes of a record, as the versions of CUPTI write them. */
static size_t size_of(uint32_t kind) {
  unsigned v = version();
  switch (kind) {
    case FAKE_K_KERNEL:
      return v >= 130400 ? 248 : v >= 130300 ? 232 : v >= 130100 ? 224 : v >= 130000 ? 216 : 208;
    case FAKE_K_COPY: return v >= 130400 ? 112 : v >= 26 ? 96 : 88;
    case FAKE_K_SET: return v >= 130400 ? 104 : 88;
    case FAKE_K_MEMORY: return v >= 24 ? 128 : 120;
    case FAKE_K_SYNC: return v >= 26 ? 56 : 40;
    case FAKE_K_DRIVER: return 40;
    default: return 0;
  }
}

static void hand_back(lane* l) {
  if (!l->buffer) return;
  uint8_t* buffer = l->buffer;
  l->buffer = NULL;
  complete(NULL, 0, buffer, l->size, l->used);
  l->used = 0;
  l->records = 0;
}

static void hoard(lane* l) {
  if (l->kept == 256) abort();
  l->keeps[l->kept++] = (struct kept){l->buffer, l->size, l->used};
  l->buffer = NULL;
  l->used = 0;
  l->records = 0;
}

static void hand_back_all(lane* l) {
  for (int i = 0; i < l->kept; ++i) {
    complete(NULL, 0, l->keeps[i].buffer, l->keeps[i].size, l->keeps[i].used);
  }
  l->kept = 0;
  hand_back(l);
}

static lane* own(void) {
  if (!mine) {
    mine = calloc(1, sizeof(lane));
    mine->next = lanes;
    lanes = mine;
  }
  return mine;
}

/* Room for a record in a lane; none when hodo gave no buffer. The lock is held. */
static uint8_t* room(lane* l, size_t size) {
  long drop = setting("FAKE_CUPTI_DROP", 0);
  if (drop && ++made % (unsigned long)drop == 0) {
    ++dropped;
    return NULL;
  }
  long fill = setting("FAKE_CUPTI_FILL", 1 << 30);
  if (l->buffer && (l->used + size > l->size || l->records >= fill)) {
    setting("FAKE_CUPTI_KEEP", 0) ? hoard(l) : hand_back(l);
  }
  if (!l->buffer) {
    size_t most = 0;
    request(&l->buffer, &l->size, &most);
    if (!l->buffer) {
      if (version() < 27) abort();
      ++dropped;
      return NULL;
    }
    if ((uintptr_t)l->buffer % 8 || l->size < 4096 || most) abort();
    if (l->buffer[0] || memcmp(l->buffer, l->buffer + 1, l->size - 1)) abort();
  }
  uint8_t* at = l->buffer + l->used;
  l->used += size;
  l->records += 1;
  return at;
}

#define PUT(type, offset, value) (*(type*)(at + (offset)) = (type)(value))

static void write_record(lane* l, const fake_work* work, int unfinished) {
  size_t size = size_of(work->kind);
  uint8_t* at = room(l, size);
  if (!at) return;
  uint64_t start = now(), end = unfinished ? 0 : start + 1000;
  long zero = setting("FAKE_CUPTI_ZERO", 0);
  if (zero && ++made % (unsigned long)zero == 0) start = end = 0;
  PUT(uint32_t, 0, work->kind);
  switch (work->kind) {
    case FAKE_K_KERNEL:
      PUT(uint64_t, 16, start), PUT(uint64_t, 24, end);
      PUT(uint32_t, 44, 1), PUT(uint32_t, 48, work->stream);
      PUT(uint32_t, 52, 8), PUT(uint32_t, 56, 1), PUT(uint32_t, 60, 1);
      PUT(uint32_t, 64, 256), PUT(uint32_t, 68, 1), PUT(uint32_t, 72, 1);
      PUT(uint32_t, 92, work->correlation), PUT(uint64_t, 104, (uintptr_t)work->name);
      PUT(uint64_t, 144, work->node), PUT(uint32_t, 156, work->graph);
      break;
    case FAKE_K_COPY:
    case FAKE_K_SET:
      PUT(uint8_t, 4, work->kind == FAKE_K_COPY);
      PUT(uint64_t, 8, work->bytes), PUT(uint64_t, 16, start), PUT(uint64_t, 24, end);
      PUT(uint32_t, 36, 1), PUT(uint32_t, 40, work->stream), PUT(uint32_t, 44, work->correlation);
      break;
    case FAKE_K_SYNC:
      PUT(uint32_t, 4, 3), PUT(uint64_t, 8, start), PUT(uint64_t, 16, end);
      PUT(uint32_t, 24, work->correlation), PUT(uint32_t, 28, 1), PUT(uint32_t, 32, work->stream);
      break;
    case FAKE_K_MEMORY:
      PUT(uint32_t, 4, 1), PUT(uint32_t, 8, 3), PUT(uint32_t, 12, work->correlation);
      PUT(uint64_t, 16, 4096), PUT(uint64_t, 24, work->bytes), PUT(uint64_t, 32, start);
      PUT(uint32_t, 56, 1);
      break;
    case FAKE_K_DRIVER:
      PUT(uint32_t, 4, work->number), PUT(uint64_t, 8, start), PUT(uint64_t, 16, end);
      PUT(uint32_t, 24, getpid()), PUT(uint32_t, 28, syscall(SYS_gettid));
      PUT(uint32_t, 32, work->correlation);
      break;
  }
}

static void on_work(const fake_work* work) {
  if (!complete || !now) return;
  pthread_mutex_lock(&lock);
  lane* l = own();
  if (kinds[FAKE_K_DRIVER]) {
    fake_work api = *work;
    api.kind = FAKE_K_DRIVER;
    write_record(l, &api, 0);
  }
  if (work->kind < KINDS && kinds[work->kind]) {
    if (work->kind == FAKE_K_KERNEL && fake_is_held()) {
      l->under_way = realloc(l->under_way, sizeof(fake_work) * (size_t)(l->waiting + 1));
      l->under_way[l->waiting++] = *work;
    } else {
      write_record(l, work, 0);
    }
  }
  pthread_mutex_unlock(&lock);
}

static void settle(int unfinished) {
  for (lane* l = lanes; l; l = l->next) {
    for (int i = 0; i < l->waiting; ++i) write_record(l, &l->under_way[i], unfinished);
    l->waiting = 0;
  }
}

static void on_release(void) {
  pthread_mutex_lock(&lock);
  settle(0);
  pthread_mutex_unlock(&lock);
}

static void on_call(uint32_t domain, uint32_t number, uint32_t site, uint32_t correlation,
                    const int* result, fake_node* node, fake_node* original) {
  callback to = called;
  if (!to) return;
  if (domain == FAKE_DRIVER && numbers[number]) {
    const call_data data = {.site = site, .result = result, .correlation = correlation,
                            .function = "fake"};
    to(NULL, domain, number, &data);
  } else if (domain == FAKE_RESOURCE && resources[number]) {
    graph_data graph = {.node = node, .original = original};
    const resource_data data = {.descriptor = &graph};
    to(NULL, domain, number, &data);
  } else if (domain == FAKE_STATE) {
    to(NULL, domain, number, NULL);
    called = NULL;
    fake_unsubscribe();
  }
}

/* What was subscribed, for who wants to call it without a driver. */
callback fake_callback(void) { return called; }

static const fake_hooks hooks = {on_call, on_work, on_release};

int cuptiGetVersion(uint32_t* v) {
  ASK;
  *v = version();
  return SUCCESS;
}

int cuptiGetResultString(int code, const char** text) {
  *text = code == MULTIPLE_SUBSCRIBERS ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
          : code == NOT_INITIALIZED    ? "CUPTI_ERROR_NOT_INITIALIZED"
                                       : "CUPTI_ERROR_FAKE";
  return SUCCESS;
}

int cuptiSubscribe(void** subscriber, callback to, void* data) {
  (void)data;
  ASK;
  if (!fake_subscribe()) return MULTIPLE_SUBSCRIBERS;
  *subscriber = (void*)&called;
  called = to;
  fake_register(&hooks);
  return SUCCESS;
}

int cuptiUnsubscribe(void* subscriber) {
  ASK;
  if (subscriber != (void*)&called) abort();
  called = NULL;
  memset((void*)numbers, 0, sizeof numbers);
  fake_unsubscribe();
  return SUCCESS;
}

int cuptiEnableCallback(uint32_t on, void* subscriber, uint32_t domain, uint32_t number) {
  ASK;
  if (subscriber != (void*)&called) abort();
  if (domain == FAKE_DRIVER && number < NUMBERS) numbers[number] = on != 0;
  if (domain == FAKE_RESOURCE && number < 64) resources[number] = on != 0;
  return SUCCESS;
}

int cuptiEnableDomain(uint32_t on, void* subscriber, uint32_t domain) {
  (void)on, (void)subscriber, (void)domain;
  ASK;
  return SUCCESS;
}

int cuptiActivityEnable(uint32_t kind) {
  ASK;
  if (!complete || !now) abort();
  if (kind < KINDS) kinds[kind] = 1;
  fake_register(&hooks);
  return SUCCESS;
}

int cuptiActivityDisable(uint32_t kind) {
  ASK;
  if (kind < KINDS) kinds[kind] = 0;
  return SUCCESS;
}

int cuptiActivityRegisterCallbacks(requested r, completed c) {
  ASK;
  request = r;
  complete = c;
  return SUCCESS;
}

#ifndef FAKE_WITHOUT_CLOCK
int cuptiActivityRegisterTimestampCallback(timestamp clock) {
  ASK;
  now = clock;
  return SUCCESS;
}
#endif

int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  size_t offset = *record ? (size_t)(*record - buffer) : 0;
  if (*record) offset += size_of(*(uint32_t*)*record);
  if (offset >= valid) return MAX_LIMIT_REACHED;
  *record = buffer + offset;
  return size_of(*(uint32_t*)*record) ? SUCCESS : INVALID_KIND;
}

int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* count) {
  (void)context, (void)stream;
  ASK;
  *count = atomic_exchange(&dropped, 0);
  return SUCCESS;
}

int cuptiActivityFlushAll(uint32_t flag) {
  ASK;
  if (!flag && setting("FAKE_CUPTI_KEEP", 0)) return SUCCESS;
  pthread_mutex_lock(&lock);
  if (flag) settle(1);
  for (lane* l = lanes; l; l = l->next) {
    if (!l->waiting) hand_back_all(l);
  }
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

int cuptiActivitySetAttribute(uint32_t attribute, size_t* size, void* value) {
  (void)attribute, (void)size, (void)value;
  ASK;
  return SUCCESS;
}
int cuptiActivityGetAttribute(uint32_t attribute, size_t* size, void* value) {
  (void)attribute, (void)size, (void)value;
  ASK;
  return SUCCESS;
}
int cuptiSetThreadIdType(uint32_t type) {
  (void)type;
  ASK;
  return SUCCESS;
}
int cuptiGetGraphNodeId(void* node, uint64_t* id) {
  *id = ((fake_node*)node)->id;
  return SUCCESS;
}
int cuptiActivityEnableAllSyncRecords(uint8_t on) {
  (void)on;
  ASK;
  return SUCCESS;
}
