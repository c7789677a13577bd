// Runs the threads of a launch on one host thread, shared by all kernels.
//
// A kernel with barriers runs each thread of a block as a fiber with its own stack.  A fiber that
// reaches a barrier hands control back; the scheduler resumes the fibers of a warp or of the block
// when all that are still alive wait there.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <ucontext.h>
#include <vector>

extern "C" {
struct emu_dim3 {
  unsigned x, y, z;
};
emu_dim3 threadIdx, blockIdx, blockDim, gridDim;
char* emu_dynamic_shared;
char emu_exchange[1024][16];
}

namespace {
enum { RUNS = 0, BLOCK = 1, WARP = 2 };
// Not a power of two, or the tops of all stacks would compete for the same lines of the cache.
constexpr size_t STACK = (1 << 16) + 5 * 64;
constexpr unsigned WARP_SIZE = 32;

#if defined(__x86_64__)
// A saved stack pointer; swapcontext() would make two system calls per switch.
typedef void* Context;
extern "C" void emu_switch(Context* save, Context to);
asm(R"(
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch, @function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
inline void switch_to(Context& from, Context& to) { emu_switch(&from, to); }
#else
typedef ucontext_t Context;
inline void switch_to(Context& from, Context& to) { swapcontext(&from, &to); }
#endif

struct Fiber {
  Context context;
  emu_dim3 index;
  bool done;
  int waits;
};

Context scheduler;
std::vector<Fiber> fibers;
size_t current;
bool fibers_run;
void (*job)(void**);
void** job_args;
std::string failure;

// Goes on with the next fiber that can run, or with the scheduler after the last one.
inline void hand_over(Context& from) {
  size_t next = current + 1, n = fibers.size();
  while (next < n && (fibers[next].done || fibers[next].waits != RUNS)) next++;
  if (next == n) {
    // all wait or are done; the scheduler itself comes here only if some can run
    switch_to(from, scheduler);
    return;
  }
  current = next;
  threadIdx = fibers[next].index;
  switch_to(from, fibers[next].context);
}

void fiber_main() {
  job(job_args);
  fibers[current].done = true;
  hand_over(fibers[current].context);
}

void prepare(Fiber& fiber, char* stack) {
#if defined(__x86_64__)
  void** top = (void**)((uintptr_t)(stack + STACK) & ~(uintptr_t)15);
  *--top = nullptr;  // the ABI wants the stack aligned to 16 bytes before a call, not after
  *--top = (void*)fiber_main;
  for (int i = 0; i < 6; i++) *--top = nullptr;
  fiber.context = top;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = STACK;
  fiber.context.uc_link = &scheduler;
  makecontext(&fiber.context, fiber_main, 0);
#endif
}

// Frees the fibers that may go on; false when none is left.
bool release() {
  bool alive = false, freed = false, at_warp_barrier = false;
  for (size_t first = 0; first < fibers.size(); first += WARP_SIZE) {
    size_t last = std::min(first + WARP_SIZE, fibers.size());
    bool all = true, any = false;
    for (size_t i = first; i < last; i++) {
      if (fibers[i].done) continue;
      alive = true;
      (fibers[i].waits == WARP ? any : all) = fibers[i].waits == WARP;
    }
    at_warp_barrier |= any;
    if (!all || !any) continue;
    freed = true;
    for (size_t i = first; i < last; i++) fibers[i].waits = RUNS;
  }
  if (!alive || freed) return alive;
  // No warp is complete at a warp barrier.  Part of a warp waiting there means that the rest has
  // gone another way, which the hardware allows for a partial mask.
  for (Fiber& f : fibers)
    if (!at_warp_barrier || f.waits == WARP) f.waits = RUNS;
  return true;
}

void run_block_of_fibers() {
  static char* stacks;
  static size_t stacks_for;
  unsigned n = blockDim.x * blockDim.y * blockDim.z;
  if (stacks_for < n) {
    free(stacks);
    stacks = (char*)malloc(n * STACK);
    stacks_for = n;
  }
  fibers.resize(n);
  size_t i = 0;
  for (unsigned z = 0; z < blockDim.z; z++)
    for (unsigned y = 0; y < blockDim.y; y++)
      for (unsigned x = 0; x < blockDim.x; x++, i++) {
        fibers[i].index = {x, y, z};
        fibers[i].done = false;
        fibers[i].waits = RUNS;
        prepare(fibers[i], stacks + i * STACK);
      }
  do {
    current = (size_t)-1;
    hand_over(scheduler);
  } while (release());
}

void run_block_in_order() {
  for (unsigned z = 0; z < blockDim.z; z++)
    for (unsigned y = 0; y < blockDim.y; y++)
      for (unsigned x = 0; x < blockDim.x; x++) {
        threadIdx = {x, y, z};
        job(job_args);
      }
}
}  // namespace

extern "C" void emu_fail(const char* what) {
  if (failure.empty()) failure = what;
}

extern "C" double emu_bessel_i(double order, double x) { return std::cyl_bessel_i(order, x); }

extern "C" void emu_wait(int barrier) {
  if (!fibers_run) {
    if (blockDim.x * blockDim.y * blockDim.z > 1)
      emu_fail("a barrier in a kernel whose text shows none is not emulated");
    return;
  }
  Fiber& me = fibers[current];
  me.waits = barrier;
  hand_over(me.context);
}

extern "C" int emu_launch(void (*invoke)(void**), void** args, const unsigned* dims, size_t shared,
                          int one_thread, int with_fibers) {
  gridDim = {dims[0], dims[1], dims[2]};
  blockDim = {dims[3], dims[4], dims[5]};
  // A grid-stride loop gives the same result with one thread, and much faster.
  if (one_thread) gridDim = blockDim = {1, 1, 1};
  fibers_run = with_fibers && blockDim.x * blockDim.y * blockDim.z > 1;
  job = invoke;
  job_args = args;
  failure.clear();
  std::vector<char> memory(shared + 16);
  emu_dynamic_shared = (char*)(((uintptr_t)memory.data() + 15) & ~(uintptr_t)15);
  for (unsigned z = 0; z < gridDim.z; z++)
    for (unsigned y = 0; y < gridDim.y; y++)
      for (unsigned x = 0; x < gridDim.x; x++) {
        blockIdx = {x, y, z};
        memset(emu_dynamic_shared, 0xff, shared);  // NaN: a block starts with unset shared memory
        fibers_run ? run_block_of_fibers() : run_block_in_order();
      }
  return failure.empty() ? 0 : 1;
}

extern "C" const char* emu_failure() { return failure.c_str(); }
