hodo_scope epoch = hodo_open_named("epoch");
const double losses[] = {0.9, 0.5, 0.3};
for (int i = 0; i < 3; i++) {
  hodo_value loss = hodo_float("loss", losses[i]);
  hodo_mark(NULL, &loss, false);
}
hodo_value accuracy = hodo_float("accuracy", 0.93);
hodo_mark(NULL, &accuracy, true);
hodo_close(NULL, epoch);
