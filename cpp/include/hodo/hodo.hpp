// hodo: a flight recorder for ML and GPU programs. C++17, Linux.
//
//   hodo::init({"train"});
//   for (auto& batch : hodo::batches(loader)) {
//     HODO_SCOPE("forward") { forward(batch); }
//     HODO_MARK("loss", loss);
//   }
//
// The recorder is libhodo.so, found at run time: $HODO_LIBRARY, then "libhodo.so" as the loader
// finds it. Without it every scope is a branch. Macros that change this, for a whole program:
//
//   HODO_DISABLE        no scope, mark or loop leaves a trace in the program
//   HODO_STATIC         the recorder is linked in (libhodo.a)
//   HODO_LIBRARY_FILE   "path/to/libhodo.so", looked for last
//
// None of it throws, or needs exceptions or run-time type information. docs/cpp.md is the guide.
#ifndef HODO_HODO_HPP
#define HODO_HODO_HPP

#if !defined(__linux__)
#error "hodo records on Linux only, for now; define nothing and include nothing of it elsewhere"
#endif

#include "bench.hpp"
#include "control.hpp"
#include "handle.hpp"
#include "loops.hpp"
#include "macros.hpp"
#include "scope.hpp"
#include "value.hpp"

#endif  // HODO_HODO_HPP
