HODO_SCOPE("step") {
  hodo::Handle copy = hodo::begin("copy", hodo::no_index, {{"bytes", 4096}});
  HODO_SCOPE("compute") {}
  copy.end();
}
