for (int step = 0; step < 3; ++step) {
  HODO_SCOPE_F("forward", step, {"variant", "beam"}, {"lr", 0.1}) {}
}
