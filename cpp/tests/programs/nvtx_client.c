/* A program that knows NVTX and nothing of hodo. Its argument says what it does. */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static nvtxEventAttributes_t event(const char *message) {
  nvtxEventAttributes_t attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = message;
  return attributes;
}

static nvtxEventAttributes_t with_payload(int32_t type) {
  nvtxEventAttributes_t attributes = event("payload");
  attributes.payloadType = type;
  return attributes;
}

static void expect(int condition, const char *what) {
  if (!condition) {
    fprintf(stderr, "not so: %s\n", what);
    exit(9);
  }
}

static void *end_it(void *id) {
  nvtxRangeEnd((nvtxRangeId_t)(uintptr_t)id);
  return NULL;
}

static void *named_thread(void *unused) {
  (void)unused;
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "a thread with a name");
  nvtxRangePushA("in a thread");
  nvtxRangePop();
  return NULL;
}

static void on_thread(void *(*work)(void *), void *argument) {
  pthread_t thread;
  expect(pthread_create(&thread, NULL, work, argument) == 0, "a thread");
  pthread_join(thread, NULL);
}

static void messages(void) {
  nvtxRangePushW(L"wide \u00e4\U0001F600");
  nvtxRangePop();
  nvtxRangePushA(NULL);
  nvtxRangePop();
  nvtxRangePushA("not UTF-8: \xff");
  nvtxRangePop();
  /* One address, another text each time. */
  char text[32];
  for (int i = 0; i < 6; ++i) {
    snprintf(text, sizeof text, "buffer %d", i % 3);
    nvtxRangePushA(text);
    nvtxRangePop();
  }
  nvtxEventAttributes_t attributes = event(NULL);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(NULL, "registered");
  expect(attributes.message.registered == nvtxDomainRegisterStringA(NULL, "registered"), "one handle a text");
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  attributes.message.registered = nvtxDomainRegisterStringW(NULL, L"registered wide");
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
}

static void attributes_of_ranges(void) {
  nvtxNameCategoryA(2, "input");
  nvtxEventAttributes_t attributes = event("categories");
  attributes.category = 2;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  attributes.category = 3;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  attributes = with_payload(NVTX_PAYLOAD_TYPE_INT64);
  attributes.payload.llValue = -5;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  attributes = with_payload(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
  attributes.payload.ullValue = 6;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  attributes = with_payload(NVTX_PAYLOAD_TYPE_DOUBLE);
  attributes.payload.dValue = 0.5;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  attributes = with_payload(NVTX_PAYLOAD_TYPE_INT32);
  attributes.payload.iValue = -7;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  attributes = with_payload(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
  attributes.payload.uiValue = 8;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  attributes = with_payload(NVTX_PAYLOAD_TYPE_FLOAT);
  attributes.payload.fValue = 0.25f;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
}

static void domains(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("Library");
  expect(domain != NULL, "a domain");
  expect(nvtxDomainCreateA("Library") == domain, "one handle a domain");
  nvtxEventAttributes_t attributes = event("in a domain");
  /* Ranges of two domains may cross. */
  expect(nvtxDomainRangePushEx(domain, &attributes) == 0, "level 0 in the domain");
  expect(nvtxRangePushA("crossing") == 1, "level 1 in the default domain");
  expect(nvtxDomainRangePop(domain) == 0, "popped in the domain");
  expect(nvtxRangePop() == 1, "popped in the default domain");
  nvtxDomainDestroy(domain);
}

static void marks(void) {
  nvtxMarkA("plain mark");
  nvtxMarkW(L"wide mark");
  nvtxEventAttributes_t attributes = with_payload(NVTX_PAYLOAD_TYPE_DOUBLE);
  attributes.message.ascii = "loss";
  attributes.payload.dValue = 0.125;
  nvtxMarkEx(&attributes);
  nvtxDomainMarkEx(nvtxDomainCreateW(L"Library"), &attributes);
}

static void all(void) {
  nvtxRangePop(); /* of a range that a tool would have had to see before */
  expect(nvtxRangePushA("all") == 0, "level 0");
  messages();
  attributes_of_ranges();
  domains();
  marks();
  nvtxRangeId_t id = nvtxRangeStartA("ends elsewhere");
  expect(id != 0, "an id");
  on_thread(end_it, (void *)(uintptr_t)id);
  nvtxRangeEnd(id);
  nvtxRangeEnd(12345);
  on_thread(named_thread, NULL);
  expect(nvtxRangePop() == 0, "popped level 0");
  nvtxInitialize(NULL);
}

static void forks(void) {
  nvtxRangePushA("before the fork");
  pid_t child = fork();
  if (child == 0) {
    nvtxRangePop(); /* the parent's: nothing here */
    nvtxRangePushA("in the child");
    nvtxRangePop();
    nvtxRangePop(); /* none */
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(status == 0, "the child ends well");
  nvtxRangePop();
}

static void *fork_while_others_register(void *unused) {
  (void)unused;
  char text[32];
  for (int i = 0; i < 20000; ++i) {
    snprintf(text, sizeof text, "string %d", i);
    nvtxDomainRegisterStringA(NULL, text);
    nvtxRangeEnd(nvtxRangeStartA(text));
  }
  return NULL;
}

static void fork_storm(void) {
  nvtxInitialize(NULL); /* NVTX itself does not stand a fork while it looks for a tool */
  pthread_t thread;
  expect(pthread_create(&thread, NULL, fork_while_others_register, NULL) == 0, "a thread");
  for (int i = 0; i < 30; ++i) {
    pid_t child = fork();
    if (child == 0) {
      nvtxDomainRegisterStringA(NULL, "in a child");
      nvtxRangeEnd(nvtxRangeStartA("in a child"));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect(status == 0, "the child ends well");
  }
  pthread_join(thread, NULL);
}

static void waits_in_ranges(void) {
  nvtxRangePushA("outer");
  nvtxRangePushA("inner");
  nvtxRangeStartA("started");
  nvtxRangePushA("closed");
  nvtxRangePop();
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}

static void never_pops(void) {
  for (int i = 0; i < 10000; ++i) expect(nvtxRangePushA("deep") == i, "its level");
  for (int i = 9999; i >= 0; --i) expect(nvtxRangePop() == i, "its level");
  expect(nvtxRangePop() < 0, "none is left");
}

static void operators(void) {
  char text[64];
  for (int i = 0; i < 1000; ++i) {
    snprintf(text, sizeof text, "aten::add, seq = %d, op_id = %d", i, i + 1);
    nvtxRangePushA(text);
    nvtxRangePop();
  }
  nvtxRangePushA("aten::add, seq = ");
  nvtxRangePop();
}

static void at_exit(void) {
  nvtxRangePushA("at exit");
  nvtxRangePop();
}

__attribute__((destructor)) static void at_the_very_end(void) {
  nvtxRangePushA("in a destructor");
  nvtxRangePop();
}

static void many(const char *text) {
  for (long i = strtol(text, NULL, 10); i > 0; --i) {
    nvtxRangePushA("range");
    nvtxRangePop();
  }
}

int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "all";
  if (strcmp(what, "all") == 0) all();
  if (strcmp(what, "forks") == 0) forks();
  if (strcmp(what, "fork-storm") == 0) fork_storm();
  if (strcmp(what, "waits") == 0) waits_in_ranges();
  if (strcmp(what, "operators") == 0) operators();
  if (strcmp(what, "never-pops") == 0) never_pops();
  if (strcmp(what, "many") == 0 && count > 2) many(arguments[2]);
  if (strcmp(what, "exits") == 0) {
    atexit(at_exit);
    nvtxRangePushA("main");
    nvtxRangePop();
  }
  return 0;
}
