try {
  HODO_SCOPE("parse") { throw std::invalid_argument("seven is no number"); }
} catch (const std::invalid_argument&) {
}
