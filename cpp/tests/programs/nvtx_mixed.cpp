// A program with scopes of its own and NVTX, whoever comes first.
#include <hodo/hodo.hpp>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstring>

int main(int, char** arguments) {
  if (std::strcmp(arguments[1], "one tree") == 0) {
    nvtxRangePushA("before the start");
    hodo::init();
    nvtxRangePushA("outer");
    HODO_SCOPE("scope") {
      nvtxRangePushA("inner");
      HODO_MARK("loss", 0.5);
      nvtxRangePop();
    }
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangePop();
    std::printf("%d unmatched\n", static_cast<int>(hodo::health().nvtx_unmatched));
  } else {
    nvtxRangePushA("open at the end");
    hodo::init();
    std::printf("on %d\n", hodo::is_on());
    hodo::shutdown();
    nvtxRangePushA("after");
    nvtxRangePop();
    nvtxRangePop();
    std::printf("on %d\n", hodo::is_on());
  }
}
