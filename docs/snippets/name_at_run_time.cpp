for (const char* layer : {"conv1", "conv2", "head"}) {
  const hodo::Scope scope(layer);
}
