/* A training loop in C. Build: cc -std=c11 train.c $(pkg-config --cflags --libs hodo) -lm -o train */
#include <hodo/hodo.h>
#include <math.h>
#include <stdio.h>

/* Each thread keeps a pointer to its state, so that opening a scope looks nothing up. */
static _Thread_local hodo_thread *thread;

static double forward(int batch) {
  double sum = 0;
  for (int i = 1; i < 20000; i++) sum += sin(batch + i) / i;
  return sum;
}

int main(void) {
  hodo_options options = {.struct_size = sizeof options, .app = "train-c"};
  if (hodo_init(&options) == 2) {
    char why[256];
    hodo_reason(why, sizeof why);
    fprintf(stderr, "not recording: %s\n", why);
  }

  /* A name is looked up once; what stands below costs tens of nanoseconds each time. */
  uint64_t forward_head = hodo_head(hodo_name("forward", 7), HODO_FLAG_INDEX);
  for (int epoch = 0; epoch < 3; epoch++) {
    hodo_scope scope = hodo_open_indexed("epoch", epoch);
    for (int batch = 0; batch < 20; batch++) {
      hodo_scope inner = hodo_open(&thread, forward_head, batch);
      hodo_value loss = hodo_float("loss", forward(batch));
      hodo_mark(&thread, &loss, false);
      hodo_close(&thread, inner);
    }
    hodo_value values[] = {hodo_int("batches", 20), hodo_text("split", "train")};
    hodo_set(NULL, scope, values, 2);
    hodo_close(NULL, scope);
  }

  hodo_health health = {.struct_size = sizeof health};
  hodo_get_health(&health);
  if (health.on) printf("recorded into %s\n", health.run);
  hodo_shutdown();
  return 0;
}
