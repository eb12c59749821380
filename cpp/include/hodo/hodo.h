/*
 * hodo: a flight recorder for ML and GPU programs. The C interface of libhodo.so, for Linux.
 *
 * Every function is safe before the start, after the end and in a forked child.
 * Written by `make header` from crates/hodo-runtime; change it there.
 */

#ifndef HODO_HODO_H
#define HODO_HODO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Version of `hodo_api_table`: functions are only ever added at its end.
#define HODO_API_VERSION 1

// Longest text in `hodo_health`, with its NUL.
#define HODO_HEALTH_TEXT 512

// Version of `hodo_thread` and `hodo_slot`: with another one only the functions may use them.
#define HODO_LAYOUT 2

// The scope has an index.
#define HODO_FLAG_INDEX 1

// The scope failed.
#define HODO_FLAG_FAILED 2

// The scope is a benchmark loop.
#define HODO_FLAG_BENCH 32

// The scope is one pass of a benchmark loop.
#define HODO_FLAG_ITERATION 64

// The scope is a benchmark loop's warm-up, or a pass of it.
#define HODO_FLAG_WARMUP 128

// A whole number.
#define HODO_VALUE_INT 1

// A `double`.
#define HODO_VALUE_FLOAT 2

// True or false.
#define HODO_VALUE_BOOL 3

// A text that is the same each time: its `hodo_name`.
#define HODO_VALUE_NAME 4

// A text, copied by the call that takes the value.
#define HODO_VALUE_TEXT 16

// A JSON document, as text.
#define HODO_VALUE_JSON 17

// Options of `hodo_init`. All zero but `struct_size` means: as the environment says, else the
// defaults. Fields are only ever added at the end.
typedef struct hodo_options {
  // `sizeof(hodo_options)` as the caller knows it.
  size_t struct_size;
  // Name of the program in reports; null for the executable's.
  const char *app;
  // Folder that runs are kept in; null for `.hodo`.
  const char *dir;
  // A run to join; null for a new one, or the one of `HODO_RUN`.
  const char *run;
  // 1 records nothing.
  uint32_t disabled;
  // Deepest nesting that is recorded; 0 for 64.
  uint32_t max_depth;
  // Memory for records not yet on disk; 0 for 64 MiB.
  uint64_t memory_bytes;
  // Most bytes of spool kept, the oldest go first; 0 for 4 GiB.
  uint64_t spool_bytes;
  // How long records may wait in memory; 0 for a second.
  uint64_t flush_interval_ms;
  // 1 keeps the run out of the environment of child processes.
  uint32_t keep_run_private;
  // What is captured of the GPU: "auto", "off", "monitor", "trace" or "pc-sampling"; null for
  // "auto".
  const char *gpu;
  // How often the machine is read: "50ms", "1s", "off", and with ",scopes" behind it only while a
  // scope is open; null for not at all, or with `gpu` "monitor" once a second.
  const char *telemetry;
} hodo_options;

// Records by kind.
typedef struct hodo_counts {
  // Closed scopes.
  uint64_t spans;
  // Marks.
  uint64_t marks;
  // Attribute records; one may hold four attributes.
  uint64_t attrs;
} hodo_counts;

// The state of the recorder. Fields are only ever added at the end.
typedef struct hodo_health {
  // `sizeof(hodo_health)` as the caller knows it.
  size_t struct_size;
  // Whether a recorder is on.
  bool on;
  // Whether a killed process leaves everything it recorded.
  bool crash_safe;
  // Records made: produced = stored + in_ring + lost.
  struct hodo_counts produced;
  // Records on disk.
  struct hodo_counts stored;
  // Records in memory, on their way to the disk.
  struct hodo_counts in_ring;
  // Records lost, for any reason.
  struct hodo_counts lost;
  // Scopes past the depth limit.
  uint64_t depth_dropped;
  // Scopes closed while one inside them was open.
  uint64_t out_of_order;
  // Closes of a scope that was closed already.
  uint64_t double_closed;
  // Closes refused because the scope belongs to another thread.
  uint64_t wrong_thread;
  // Errors inside hodo that were caught.
  uint64_t internal_errors;
  // Threads recording now.
  uint64_t threads;
  // What one scope costs here.
  uint64_t scope_cost_ns;
  // The run's folder, NUL-terminated.
  char run[HODO_HEALTH_TEXT];
  // What does not work as it should, and why; empty when all is well.
  char degraded[HODO_HEALTH_TEXT];
  // NVTX ranges that were popped or ended without having been opened, or could not be kept.
  uint64_t nvtx_unmatched;
} hodo_health;

// An open scope, in memory that outlives the process. Its words stand where the record has them.
typedef struct hodo_slot {
  // `hodo_head`.
  uint64_t head;
  // Its id, stored last on opening, with release order; 0 while the slot is free.
  uint64_t id;
  // The parent's id.
  uint64_t parent;
  // Ticks when it opened.
  uint64_t start;
  // The parent's slot, or the next free one.
  struct hodo_slot *up;
  // The thread's CPU ticks when it opened.
  uint64_t cpu;
  // The index.
  int64_t index;
  // Ticks of recording work inside it so far.
  uint64_t overhead;
} hodo_slot;

// A scope that was opened; nothing in it is for the caller.
typedef struct hodo_scope {
  // Where it is kept; null when nothing is recorded.
  struct hodo_slot *slot;
  // Its id; 0 when it is not recorded.
  uint64_t id;
} hodo_scope;

// A thread's state. Only the thread itself writes it, but for `fast` and `scope_cost`; more follows
// that is not for headers.
typedef struct hodo_thread {
  // Non-zero while scopes may be opened without a call.
  uint32_t fast;
  // Scopes and contexts that are not recorded.
  uint32_t unrecorded;
  // The innermost open scope; one that is no scope when none is open.
  struct hodo_slot *current;
  // Slots to open scopes in, linked by `up`; null asks for a call.
  struct hodo_slot *free;
  // Id of the next scope.
  uint64_t next_id;
  // Where the next record of eight words goes.
  uint64_t *cursor;
  // Where records must stop; at it, a call is needed.
  uint64_t *end;
  // Records published, to be stored with release order.
  uint32_t *published;
  // A word that the kernel changes when the thread loses its CPU.
  const uint64_t *watch;
  // What it holds while CPU ticks are `offset` more than the counter's.
  uint64_t armed;
  // The counter from which on that no longer holds.
  uint64_t until;
  // See `armed`.
  uint64_t offset;
  // Ticks that one open and close cost.
  uint64_t scope_cost;
  // Openings and closings that had no reading of the counter to themselves.
  uint64_t shared_readings;
} hodo_thread;

// A value of an attribute or a mark; made by `hodo_int` and its like.
typedef struct hodo_value {
  // One of `HODO_VALUE_INT` to `HODO_VALUE_JSON`.
  uint32_t code;
  // `hodo_name` of the attribute's key, or of the mark.
  uint32_t key;
  // The number; the bits of a `double`; 0 or 1; a name; the address of a text.
  uint64_t word;
  // Bytes of the text.
  size_t length;
} hodo_value;

// A scope that may end on another thread, or a reference to one; nothing in it is for the caller.
typedef struct hodo_handle {
  // Where it is kept; null in a mere reference, and when nothing is recorded.
  struct hodo_slot *slot;
  // Its id; 0 when it is not recorded.
  uint64_t id;
  // The recorder it belongs to.
  uint64_t process;
  // Scopes around one that is opened in it.
  uint32_t depth;
} hodo_handle;

// What `hodo_attach` changed; to be given to `hodo_detach`.
typedef struct hodo_entered {
  // Nothing here is for the caller.
  size_t words[4];
} hodo_entered;

// The functions of the library that a header calls.
typedef struct hodo_api_table {
  // `HODO_API_VERSION` of the library.
  uint32_t version;
  // Bytes of its table.
  uint32_t size;
  // `HODO_LAYOUT` of the library.
  uint32_t layout;
  // Non-zero while a recorder is on; it may change at any time.
  const uint32_t *on;
  // `hodo_init`
  uint32_t (*init)(const struct hodo_options *options);
  // `hodo_reason`
  size_t (*reason)(char *text, size_t size);
  // `hodo_shutdown`
  uint32_t (*shutdown)(void);
  // `hodo_flush`
  uint32_t (*flush)(uint64_t timeout_ms);
  // `hodo_get_health`
  void (*get_health)(struct hodo_health *health);
  // `hodo_name`
  uint32_t (*name)(const char *text, size_t length);
  // `hodo_head`
  uint64_t (*head)(uint32_t name, uint16_t flags);
  // `hodo_open`
  struct hodo_scope (*open)(struct hodo_thread **thread, uint64_t head, int64_t index);
  // `hodo_close`
  void (*close)(struct hodo_thread **thread, struct hodo_scope scope);
  // `hodo_resync`
  uint64_t (*resync)(struct hodo_thread *state, uint64_t now);
  // `hodo_fail`
  void (*fail)(struct hodo_scope scope);
  // `hodo_cancel`
  void (*cancel)(struct hodo_scope scope);
  // `hodo_set`
  void (*set)(struct hodo_thread **thread,
              struct hodo_scope scope,
              const struct hodo_value *values,
              size_t count);
  // `hodo_mark`
  void (*mark)(struct hodo_thread **thread, const struct hodo_value *value, bool summary);
  // `hodo_id`
  void (*id)(uint64_t id, char *text);
  // `hodo_begin`
  struct hodo_handle (*begin)(uint32_t name, uint16_t flags, int64_t index);
  // `hodo_end`
  void (*end)(struct hodo_handle handle, uint16_t flags);
  // `hodo_set_begun`
  void (*set_begun)(struct hodo_handle handle, const struct hodo_value *values, size_t count);
  // `hodo_current`
  struct hodo_handle (*current)(void);
  // `hodo_outside`
  struct hodo_handle (*outside)(void);
  // `hodo_attach`
  struct hodo_entered (*attach)(struct hodo_handle handle);
  // `hodo_detach`
  void (*detach)(struct hodo_entered entered);
  // `hodo_current_scope_id`
  uint64_t (*current_scope_id)(void);
  // `hodo_enter_new_scope`
  void (*enter_new_scope)(void);
  // `hodo_leave_new_scope`
  void (*leave_new_scope)(void);
  // `hodo_gpu_state`
  size_t (*gpu_state)(char *text, size_t size);
  // `hodo_gpu_window_begin`
  uint32_t (*gpu_window_begin)(const char *kind, const char *mode, const char *scope);
  // `hodo_gpu_window_end`
  uint32_t (*gpu_window_end)(void);
  // `hodo_gpu_window_reason`
  size_t (*gpu_window_reason)(char *text, size_t size);
  // `hodo_telemetry_start`
  uint32_t (*telemetry_start)(const char *interval);
  // `hodo_telemetry_stop`
  uint32_t (*telemetry_stop)(void);
  // `hodo_telemetry_state`
  size_t (*telemetry_state)(char *text, size_t size);
} hodo_api_table;

// Takes one warning, of `length` bytes without a NUL. May be called on any thread, the recorder's
// own included, and must not call hodo.
typedef void (*hodo_warning_function)(const char *message, size_t length);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The table; null for a version that this library does not have.
const struct hodo_api_table *hodo_api(uint32_t version);

// Starts recording. 0 on, 1 on but something does not work as it should, 2 off, 3 on already;
// `hodo_reason` says why.
//
// `options` is null or points at options whose `struct_size` is right and whose texts end in a NUL.
uint32_t hodo_init(const struct hodo_options *options);

// Copies why the last start was not a plain success, NUL-terminated and cut to `size` bytes;
// returns the bytes the whole text has.
//
// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
size_t hodo_reason(char *text, size_t size);

// Whether a recorder is on in this process, whichever copy of hodo it is.
bool hodo_is_on(void);

// Waits until everything recorded so far is on disk: 0 done, 1 timed out, 2 failed, 3 off.
uint32_t hodo_flush(uint64_t timeout_ms);

// Stops recording: everything is written, scopes from now on are inert. Answers as `hodo_flush`.
uint32_t hodo_shutdown(void);

// Copies the state of the GPU's capture, a JSON object, NUL-terminated and cut to `size` bytes;
// returns the bytes the whole text has, 0 when nothing records.
//
// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
size_t hodo_gpu_state(char *text, size_t size);

// Opens a window of closer looking, which slows the program down until `hodo_gpu_window_end`.
//
// `kind` is "pc-sampling": where kernels stand and why. `mode` is "serialized" or null (kernels
// run one after another, and every sample has its launch, so its scope) or "continuous" (they
// overlap as usual, and all samples belong to the scope that is innermost here). `scope`, unless
// null, is the name of the scopes whose work is to be kept. Waits for the work under way; not to
// be called while a graph is being captured.
//
// Returns 0, or why there is no window: 1 GPU work is not captured, 2 there is no CUDA context
// yet, 3 a window is open, 4 no such kind or mode, 5 profiling is not allowed, 6 CUPTI or the
// driver refused; `hodo_gpu_window_reason` has the words.
//
// The texts are null or end in a NUL.
uint32_t hodo_gpu_window_begin(const char *kind, const char *mode, const char *scope);

// Ends the window: waits for the work in it and fetches the samples. Returns 1, or 0 when none
// was open.
uint32_t hodo_gpu_window_end(void);

// Copies why the last window that was asked for was not opened, and what to do, NUL-terminated
// and cut to `size` bytes; returns the bytes the whole text has, 0 when it was opened.
//
// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
size_t hodo_gpu_window_reason(char *text, size_t size);

// Lets another tool have CUPTI until `hodo_gpu_resume`: what runs meanwhile is not captured, and
// reports say so and why.
//
// `why` is null or ends in a NUL.
void hodo_gpu_give_way(const char *why);

// Captures again after `hodo_gpu_give_way`.
void hodo_gpu_resume(void);

// Says which forward scope the calling thread's launches are the gradient of, 0 for none: the id
// of a scope of this process. Returns what was said before.
uint64_t hodo_gpu_forward(uint64_t scope);

// Begins to remember which scope each forward operation of torch runs in. False where this process
// has no torch.
bool hodo_gpu_watch_forward(bool on);

// The scope that torch's autograd node with this number was made in; 0 when not known.
uint64_t hodo_gpu_forward_of(uint64_t node);

// Begins a scope that belongs to no thread, under the calling thread's current one; it does not
// become current itself.
struct hodo_handle hodo_begin(uint32_t name, uint16_t flags, int64_t index);

// Ends it, on any thread, with 0 or `HODO_FLAG_FAILED`; a second time does nothing and is counted.
void hodo_end(struct hodo_handle handle, uint16_t flags);

// Sets attributes of a begun scope.
//
// As for `hodo_set`.
void hodo_set_begun(struct hodo_handle handle, const struct hodo_value *values, size_t count);

// A reference to the calling thread's current scope, to be attached on another.
struct hodo_handle hodo_current(void);

// A reference to no scope: what opens while it is attached has no parent.
struct hodo_handle hodo_outside(void);

// Makes a scope current on the calling thread, until `hodo_detach`.
struct hodo_entered hodo_attach(struct hodo_handle handle);

// Undoes `hodo_attach`, on the same thread.
void hodo_detach(struct hodo_entered entered);

// Fills in as much as both sides know.
//
// `health` points at a struct whose `struct_size` is right.
void hodo_get_health(struct hodo_health *health);

// The id of a text, to name scopes, attributes and marks with: the same for the same text, for as
// long as the process lives; 0 while no recorder is on.
//
// `text` points at `length` bytes; what is not UTF-8 in them is replaced.
uint32_t hodo_name(const char *text, size_t length);

// The first word of a scope with this name and `HODO_FLAG_INDEX` or other flags: what `hodo_open`
// takes.
uint64_t hodo_head(uint32_t name, uint16_t flags);

// Opens a scope on the calling thread. The index counts if the head has `HODO_FLAG_INDEX`.
//
// `thread` points at a `_Thread_local hodo_thread *` of the caller's, null at first, that only
// these functions write; or is null, which costs a few nanoseconds more.
struct hodo_scope hodo_open(struct hodo_thread **thread, uint64_t head, int64_t index);

// Opens a scope with this name, looked up each time. `hodo_close` closes it.
//
// `name` ends in a NUL.
struct hodo_scope hodo_open_named(const char *name);

// Opens a scope with this name and an index.
//
// As for `hodo_open_named`.
struct hodo_scope hodo_open_indexed(const char *name, int64_t index);

// Closes a scope: that one or nothing.
//
// As for `hodo_open`.
void hodo_close(struct hodo_thread **thread, struct hodo_scope scope);

// The thread's CPU ticks at `now`, where what the state says of them no longer holds.
//
// `state` is the calling thread's.
uint64_t hodo_resync(struct hodo_thread *state, uint64_t now);

// Marks an open scope as failed.
void hodo_fail(struct hodo_scope scope);

// Takes an open scope back, as if it had not been opened.
void hodo_cancel(struct hodo_scope scope);

// Sets attributes of an open scope. Two have a meaning: `tag` is shown next to the name, and a
// scope with `error` counts as failed.
//
// As for `hodo_open`; `values` points at `count` values.
void hodo_set(struct hodo_thread **thread,
              struct hodo_scope scope,
              const struct hodo_value *values,
              size_t count);

// Makes a mark in the innermost scope of the calling thread: a point of a series, or with
// `summary` the one value that stands for the scope.
//
// As for `hodo_open`; `value` points at a value, whose key is the mark's name.
void hodo_mark(struct hodo_thread **thread, const struct hodo_value *value, bool summary);

// Writes the 32 hex digits of a scope's id and a NUL; an empty text when it is not recorded.
//
// `text` points at 33 bytes.
void hodo_id(uint64_t id, char *text);

// The number of the innermost context of the calling thread: 1 outside every scope.
uint64_t hodo_current_scope_id(void);

// Enters a new context that records nothing: adds one to `hodo_current_scope_id`.
void hodo_enter_new_scope(void);

// Leaves it again.
void hodo_leave_new_scope(void);

// Reads the machine from now on, whether or not a scope is open, until `hodo_telemetry_stop` was
// called as often. `interval` is the time between readings, such as "50ms"; null for what
// `hodo_init` was told, else a second. Where readings are under way already their interval stays.
//
// Returns 0; 1 for an interval that makes no sense; 2 when nothing records; 4294967295 where this
// copy of hodo has no readings.
//
// `interval` is null or ends in a NUL.
uint32_t hodo_telemetry_start(const char *interval);

// Ends what `hodo_telemetry_start` began; what `hodo_init` asked for goes on. Returns 0, or 2 when
// nothing was begun.
uint32_t hodo_telemetry_stop(void);

// Copies the state of the readings, a JSON object, NUL-terminated and cut to `size` bytes; returns
// the bytes the whole text has, 0 when nothing records.
//
// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
size_t hodo_telemetry_state(char *text, size_t size);

// A whole number.
//
// `key` ends in a NUL; so in the functions that follow.
struct hodo_value hodo_int(const char *key, int64_t number);

// A `double`; NaN and infinities are kept.
//
// As for `hodo_int`.
struct hodo_value hodo_float(const char *key, double number);

// True or false.
//
// As for `hodo_int`.
struct hodo_value hodo_bool(const char *key, bool truth);

// A text, which must live until the value is passed on; at most 4 KiB of it are kept.
//
// As for `hodo_int`; `text` is null or ends in a NUL.
struct hodo_value hodo_text(const char *key, const char *text);

// A JSON document, as `hodo_text`; it is not checked.
//
// As for `hodo_text`.
struct hodo_value hodo_json(const char *key, const char *text);

// Sends warnings to `on_warning` instead of standard error.
void hodo_on_warning(hodo_warning_function on_warning);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HODO_HODO_H */
