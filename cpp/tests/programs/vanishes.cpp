// With HODO_DISABLE this must leave the code of the same program without a word of hodo.
#if defined(WITH_HODO)
#include <hodo/hodo.hpp>
#define WITH(...) __VA_ARGS__
#else
#define WITH(...)
#endif

int work(int number);

int all(int number) {
  WITH(HODO_FUNCTION();)
  int sum = 0;
  for (int i = 0; i < number; ++i) {
    WITH(HODO_SCOPE("step")) {
      WITH(HODO_SCOPE_F("inner", i, {"variant", "beam"}, {"number", number})) {
        sum += work(i);
      }
      WITH(HODO_MARK("sum", sum);)
      WITH(HODO_SUMMARY("last", i == number - 1);)
    }
  }
  return sum;
}
