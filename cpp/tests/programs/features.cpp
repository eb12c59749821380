// Every feature once; what must come back is returned and asserted, the tree is the test's.
#include <hodo/hodo.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

namespace {

const bool records = std::getenv("EXPECT_OFF") == nullptr;

int function() {
  HODO_FUNCTION();
  return 7;
}

void scopes() {
  HODO_SCOPE("block") {
    HODO_SCOPE("inner") {}
    for (int i = 0; i < 3; ++i) {
      HODO_SCOPE_F("indexed", i, {"variant", "beam"}, {"lr", 0.5}, {"last", i == 2}) {
        if (i == 1) continue;
      }
    }
    HODO_SCOPE_F("bare", hodo::no_index) {}
  }
  if (records) {
    HODO_SCOPE("unbraced") static_cast<void>(0);
  }
  CHECK(function() == 7);
  CHECK(hodo::scoped("lambda", [] { return std::string("value"); }) == "value");
  int here = 1;
  int& same = hodo::scoped("reference", [&]() -> int& { return here; });
  CHECK(&same == &here);
}

void objects() {
  hodo::Scope load("load", 3, {{"file", std::string("part-7")}, {"bytes", 4096u}});
  CHECK(load.is_recorded() == records);
  CHECK(load.id().size() == (records ? 32 : 0));
  load.set("rows", 32);
  load.set("long", std::string(10000, 'x'));
  load.set("huge", ~0ull);
  load.set("config", hodo::Json{R"({"beam": 4})"});
  load.set("broken", "\xff\xfe");
  load.set("nothing", static_cast<const char*>(nullptr));
  hodo::Scope moved = std::move(load);
  CHECK(!load.is_recorded());
  moved.end();
  moved.end();
  CHECK(!moved.is_recorded());
  hodo::Scope first("replaced");
  first = hodo::Scope("replacement");
}

void marks() {
  HODO_SCOPE("marked") {
    for (int i = 0; i < 4; ++i) HODO_MARK("loss", 1.0 / (i + 1));
    HODO_SUMMARY("accuracy", 0.93);
    HODO_MARK("phase", "warm");
    hodo::mark("at run time", 5);
    char buffer[16] = "buffer";
    hodo::mark("text", buffer);
  }
}

struct Error {};

void failures() {
#if defined(__cpp_exceptions)
  try {
    HODO_SCOPE("thrown") { throw Error(); }
  } catch (const Error&) {
    HODO_SCOPE("in handler") {}
  }
  struct Cleanup {
    ~Cleanup() {
      HODO_SCOPE("while unwinding") {}
    }
  };
  try {
    const Cleanup cleanup;
    throw Error();
  } catch (const Error&) {
  }
  CHECK(hodo::current_scope_id() == 1);
#endif
  hodo::Scope said("said to fail");
  said.fail("no such file");
}

void loops() {
  const std::vector<int> data{10, 20, 30};
  int sum = 0;
  for (const auto epoch : hodo::epochs(hodo::count(2))) {
    for (const int item : hodo::batches(data)) {
      HODO_SCOPE("forward") { sum += item + static_cast<int>(epoch); }
    }
  }
  CHECK(sum == 2 * 60 + 3);
  CHECK(hodo::batches(data).size() == 3);
  HODO_SCOPE("left early") {
    for (const int item : hodo::batches(std::list<int>{1, 2, 3})) {
      if (item == 2) break;
    }
  }
  HODO_SCOPE("empty") {
    for (const int item : hodo::batches(std::vector<int>())) CHECK(item != item);
  }
  std::vector<int> changed{1, 2};
  for (int& item : hodo::epochs(changed)) item *= 2;
  CHECK(changed == (std::vector<int>{2, 4}));
}

void benchmarks() {
  int passes = 0;
  const hodo::Statistics times = HODO_BENCH("matmul", hodo::repeat(10).warmup(3).tag("math")) {
    ++passes;
  };
  CHECK(passes == 13);
  CHECK(times.samples_ns.size() == 10);
  CHECK(times.min_ns <= times.median_ns && times.median_ns <= times.p95_ns);
  const auto sum = hodo::bench("sum", hodo::repeat(4), [] {
    std::vector<int> numbers(100, 1);
    return std::accumulate(numbers.begin(), numbers.end(), 0);
  });
  CHECK(sum.samples_ns.size() == 4);
  std::vector<std::int64_t> indices;
  for (const auto i : hodo::Bench("loop", hodo::repeat(2).warmup(1))) indices.push_back(i);
  CHECK(indices == (std::vector<std::int64_t>{-1, 0, 1}));
  const hodo::Statistics known({40, 10, 30, 20});
  CHECK(known.min_ns == 10 && known.median_ns == 25 && known.mean_ns == 25);
  CHECK(known.p95_ns > 38.49 && known.p95_ns < 38.51);
  CHECK(known.ci95_ns > 20.53 && known.ci95_ns < 20.55);
  const hodo::Statistics none({});
  CHECK(none.min_ns != none.min_ns && none.mean_ns != none.mean_ns);
}

void threads() {
  HODO_SCOPE("step") {
    std::thread inherits(hodo::inherit([] { HODO_SCOPE("shard") {} }));
    inherits.join();
    hodo::Handle copy = hodo::begin("copy", 1, {{"bytes", 1 << 20}});
    std::thread ends([&copy] {
      {
        const auto current = hodo::attach(copy);
        HODO_SCOPE("in copy") {}
      }
      copy.end();
    });
    ends.join();
    copy.end();
    std::thread apart([] { HODO_SCOPE("apart") {} });
    apart.join();
    const auto nowhere = hodo::Link::none().attach();
    HODO_SCOPE("no parent") {}
  }
}

void a_scope_that_outlives_its_thread() {
  hodo::Scope kept;
  std::thread([&kept] { kept = hodo::Scope("outlived"); }).join();
  // Likely in the slot that the other thread left.
  std::thread([&kept] {
    HODO_SCOPE("reuses") {
      kept.end();
      CHECK(hodo::current_scope_id() == (records ? 2u : 1u));
    }
  }).join();
}

void numbers() {
  const auto outside = hodo::current_scope_id();
  CHECK(outside == 1);
  {
    const hodo::NewScope inner;
    CHECK(hodo::current_scope_id() == 2);
    const hodo::Scope scope("numbered");
    CHECK(hodo::current_scope_id() == (records ? 3u : 2u));
  }
  CHECK(hodo::current_scope_id() == outside);
}

void names_at_one_address() {
  char name[] = "first name";
  for (const char* text : {"first name", "other name", "first name"}) {
    std::copy(text, text + sizeof name, name);
    const hodo::Scope scope{std::string_view(name)};
  }
}

}  // namespace

int main() {
  {
    const hodo::NewScope before_the_start;
    CHECK(hodo::current_scope_id() == 2);
    HODO_SCOPE("before the start") { HODO_MARK("nothing", 1); }
  }
  hodo::Options options;
  options.app = "features";
  const hodo::Started started = hodo::init(options);
  CHECK((started == hodo::Started::on) == records);
  CHECK(hodo::reason().empty() == records);
  CHECK(hodo::is_on() == records);
  scopes();
  objects();
  marks();
  failures();
  loops();
  benchmarks();
  threads();
  a_scope_that_outlives_its_thread();
  numbers();
  names_at_one_address();
  CHECK(hodo::flush(std::chrono::minutes(1)) == (records ? hodo::Flushed::done : hodo::Flushed::off));
  const hodo::Health health = hodo::health();
  CHECK(health.on == records);
  CHECK(health.lost.spans == 0 && health.internal_errors == 0);
  CHECK(health.double_closed == 0);
  hodo::shutdown();
  CHECK(!hodo::is_on());
  HODO_SCOPE("after the end") { HODO_MARK("nothing", 1); }
}
