for (int step = 0; step < 3; step++) {
  hodo_scope scope = hodo_open_indexed("forward", step);
  hodo_value values[] = {hodo_text("variant", "beam"), hodo_float("lr", 0.1)};
  hodo_set(NULL, scope, values, 2);
  hodo_close(NULL, scope);
}
