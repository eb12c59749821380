for (int epoch = 0; epoch < 2; epoch++) {
  hodo_scope epoch_scope = hodo_open_indexed("epoch", epoch);
  for (int batch = 0; batch < 3; batch++) {
    hodo_scope batch_scope = hodo_open_indexed("batch", batch);
    hodo_close(NULL, hodo_open_named("data_wait"));
    hodo_close(NULL, hodo_open_indexed("forward", epoch));
    hodo_close(NULL, batch_scope);
  }
  hodo_close(NULL, epoch_scope);
}
