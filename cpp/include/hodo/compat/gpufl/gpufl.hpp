// Lets `#include <gpufl/gpufl.hpp>` find hodo, with -I<prefix>/include/hodo/compat.
#include "../gpufl.hpp"
