#include <hodo/hodo.h>

int main(void) {
  hodo_options options = {.struct_size = sizeof options, .app = "consumer"};
  unsigned started = hodo_init(&options);
  hodo_close(NULL, hodo_open_named("consumed"));
  hodo_shutdown();
  return started == 0 ? 0 : 1;
}
