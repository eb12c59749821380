struct Model {
  static int forward() {
    HODO_FUNCTION();
    return 7;
  }
};

assert(Model::forward() == 7);
