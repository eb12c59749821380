const char *layers[] = {"conv1", "conv2", "head"};
for (int i = 0; i < 3; i++) {
  hodo_close(NULL, hodo_open_named(layers[i]));
}
