for (const auto epoch : hodo::epochs(hodo::count(2))) {
  for (const int item : hodo::batches(std::vector<int>{10, 20, 30})) {
    HODO_SCOPE_F("forward", epoch) { assert(item > 0); }
  }
}
