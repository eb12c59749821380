HODO_SCOPE("forward") {
  HODO_SCOPE("attention") {}
}
