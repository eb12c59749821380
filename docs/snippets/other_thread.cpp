HODO_SCOPE("step") {
  std::thread worker(hodo::inherit([] { HODO_SCOPE("shard") {} }));
  worker.join();
}
