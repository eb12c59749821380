#include <hodo/hodo.hpp>

int main() {
  const bool is_on = hodo::init({"consumer"}) == hodo::Started::on;
  HODO_SCOPE("consumed") { HODO_MARK("works", true); }
  hodo::shutdown();
  return is_on ? 0 : 1;
}
