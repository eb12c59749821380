/* FAKE. Stands in for NVIDIA's driver and CUPTI where there is no GPU: it tests how hodo loads,
 * attaches, attributes, stops and loses. What it does is made up; it is never evidence about a GPU.
 *
 * Two libraries: libcuda.so.1 (cuda.c) takes the program's calls, libcupti.so.13 (cupti.c) makes
 * records of them. What follows is how they, and the programs under test, reach each other. */
#ifndef FAKE_H
#define FAKE_H

#include <stddef.h>
#include <stdint.h>

/* Sites of callbacks, domains and numbers, as CUPTI has them. */
enum { FAKE_ENTER = 0, FAKE_EXIT = 1 };
enum { FAKE_DRIVER = 1, FAKE_RESOURCE = 3, FAKE_STATE = 6 };
enum { FAKE_NODE_CREATED = 13, FAKE_NODE_CLONED = 20 };
enum {
  FAKE_LAUNCH = 307,
  FAKE_COPY = 277,
  FAKE_SET = 218,
  FAKE_ALLOC = 243,
  FAKE_SYNC = 126,
  FAKE_GRAPH_LAUNCH = 514,
  FAKE_CONTEXT_END = 322,
};
/* Kinds of records. */
enum {
  FAKE_K_COPY = 1,
  FAKE_K_SET = 2,
  FAKE_K_DRIVER = 4,
  FAKE_K_KERNEL = 10,
  FAKE_K_SYNC = 38,
  FAKE_K_MEMORY = 49,
};

/* A function on the device; a node of a graph. */
typedef struct fake_function {
  const char* name;
} fake_function;
typedef struct fake_node {
  uint64_t id;
  fake_function* function;
} fake_node;

/* A piece of work, as the driver tells CUPTI about it. */
typedef struct fake_work {
  uint32_t kind, correlation, stream, graph, number;
  uint64_t node, bytes;
  const char* name;
} fake_work;

/* CUPTI's side; the driver calls whoever has registered last. */
typedef struct fake_hooks {
  void (*call)(uint32_t domain, uint32_t number, uint32_t site, uint32_t correlation,
               const int* result, fake_node* node, fake_node* original);
  void (*work)(const fake_work* work);
  void (*release)(void);
} fake_hooks;

/* In libcuda.so.1, for CUPTI. */
void fake_register(const fake_hooks* hooks);
/* 1 when the one subscriber of the process could be taken. */
int fake_subscribe(void);
void fake_unsubscribe(void);

/* In libcuda.so.1, for programs: */
typedef int (*fake_launch_function)(fake_function*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, void*, void**, void**);
/* With 1 kernels stay under way until 0 is said. */
void fake_hold(int on);
int fake_is_held(void);
/* The thread's launches become nodes of a graph from now on. */
void fake_capture(void);
/* The graph that was captured, ready to launch. */
void* fake_instantiate(void);
/* A node that is added by hand: no launch. */
void fake_add_node(fake_function* function);
/* CUPTI meets an error that it does not recover from. */
void fake_fatal(void);
/* The result of the thread's next call. */
void fake_refuse(int result);

#endif
