/* The C interface, linked. */
#include <hodo/hodo.h>
#include <stdio.h>
#include <string.h>

static _Thread_local hodo_thread *thread;

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      return 1;                                                            \
    }                                                                      \
  } while (0)

int main(void) {
  hodo_scope early = hodo_open_named("before the start");
  hodo_close(NULL, early);
  CHECK(early.slot == NULL && hodo_current_scope_id() == 1);

  hodo_options options = {.struct_size = sizeof options, .app = "plain"};
  CHECK(hodo_init(&options) == 0);
  CHECK(hodo_init(&options) == 3);

  hodo_scope load = hodo_open_indexed("load", 3);
  hodo_value values[] = {
      hodo_int("rows", 32), hodo_float("share", 0.5), hodo_bool("cached", true),
      hodo_text("file", "part-7"), hodo_json("config", "{\"beam\": 4}"), hodo_text("none", NULL),
  };
  hodo_set(NULL, load, values, sizeof values / sizeof *values);
  hodo_value loss = hodo_float("loss", 0.25);
  hodo_mark(NULL, &loss, false);
  CHECK(hodo_current_scope_id() == 2);
  char id[33];
  hodo_id(load.id, id);
  CHECK(strlen(id) == 32);

  uint64_t step = hodo_head(hodo_name("step", 4), HODO_FLAG_INDEX);
  for (int i = 0; i < 1000; i++) {
    hodo_scope scope = hodo_open(&thread, step, i);
    hodo_mark(&thread, &loss, false);
    hodo_close(&thread, scope);
  }
  hodo_scope failed = hodo_open_named("failed");
  hodo_fail(failed);
  hodo_close(NULL, failed);
  hodo_cancel(hodo_open_named("cancelled"));
  hodo_close(NULL, load);
  hodo_close(NULL, load);

  hodo_handle copy = hodo_begin(hodo_name("copy", 4), 0, 0);
  hodo_entered entered = hodo_attach(copy);
  hodo_close(NULL, hodo_open_named("in copy"));
  hodo_detach(entered);
  hodo_end(copy, HODO_FLAG_FAILED);

  hodo_enter_new_scope();
  CHECK(hodo_current_scope_id() == 2);
  hodo_leave_new_scope();
  hodo_leave_new_scope();
  CHECK(hodo_current_scope_id() == 1);

  CHECK(hodo_flush(60000) == 0);
  hodo_health health = {.struct_size = sizeof health};
  hodo_get_health(&health);
  CHECK(health.on && health.lost.spans == 0 && health.double_closed == 1);
  CHECK(health.produced.spans == 1004 && health.stored.spans == 1004);
  CHECK(strlen(health.run) > 0);
  CHECK(hodo_shutdown() == 0 && !hodo_is_on());
  CHECK(hodo_api(HODO_API_VERSION) != NULL && hodo_api(0) == NULL);
  return 0;
}
