HODO_SCOPE("epoch") {
  for (const double loss : {0.9, 0.5, 0.3}) {
    HODO_MARK("loss", loss);
  }
  HODO_SUMMARY("accuracy", 0.93);
}
