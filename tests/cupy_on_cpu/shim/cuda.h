// What CUDA C++ has beyond C++, so that g++ can compile kernels that were written for NVRTC.
//
// The kernel's own text is not touched.  Threads of a block run one after another; a kernel with
// barriers runs each thread as a fiber, and emu_wait() hands over to the next one (launcher.cpp).
#pragma once
// Without C++17's special functions: whoever includes <cmath> instantiates them all, used or not,
// which takes longer than a kernel does.
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
// With .h, because kernels say abs(x) and mean std::abs(x): <cstdlib> and <cmath> would leave them
// with abs(int) and with functions of double only.
#include <math.h>
#include <stdlib.h>
#include <tuple>
#include <type_traits>
#include <utility>

#define __CUDACC_VER_MAJOR__ 13
#include <cuda_fp16.h>
#include <cuda_bf16.h>

// The CUDA headers define these for compilers that are not NVIDIA's; here they mean nothing,
// except that static storage is shared by the threads of a block, as __shared__ is.
#undef __shared__
#undef __device__
#undef __global__
#undef __host__
#undef __constant__
#undef __managed__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __restrict__
#undef __grid_constant__
#define __shared__ static __attribute__((aligned(16)))
#define __device__
#define __global__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__

extern "C" {
struct emu_dim3 {
  unsigned x, y, z;
};
extern emu_dim3 threadIdx, blockIdx, blockDim, gridDim;
extern char* emu_dynamic_shared;
extern char emu_exchange[1024][16];
enum emu_barrier { EMU_RUNS = 0, EMU_BLOCK = 1, EMU_WARP = 2 };
void emu_wait(int barrier);
void emu_fail(const char* what);
double emu_bessel_i(double order, double x);
int emu_launch(void (*invoke)(void**), void** args, const unsigned* dims, size_t shared,
               int one_thread, int fibers);
}
static const int warpSize = 32;

#undef assert
#define assert(x) ((x) ? (void)0 : emu_fail("device-side assert: " #x))
static inline void __trap() { emu_fail("__trap()"); }

static inline int emu_thread() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
static inline int emu_threads() { return blockDim.x * blockDim.y * blockDim.z; }

// --- barriers -------------------------------------------------------------------------------
static inline void __syncthreads() { emu_wait(EMU_BLOCK); }
static inline void __syncwarp(unsigned = 0xffffffff) { emu_wait(EMU_WARP); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}

template <class T, class F>
static T emu_combine(T mine, int barrier, int first, int last, T start, F combine) {
  std::memcpy(emu_exchange[emu_thread()], &mine, sizeof mine);
  emu_wait(barrier);
  T all = start;
  for (int i = first; i < last; i++) {
    T other;
    std::memcpy(&other, emu_exchange[i], sizeof other);
    all = combine(all, other);
  }
  emu_wait(barrier);
  return all;
}
static inline int __syncthreads_count(int p) {
  return emu_combine(int(p != 0), EMU_BLOCK, 0, emu_threads(), 0, [](int a, int b) { return a + b; });
}
static inline int __syncthreads_or(int p) { return __syncthreads_count(p) > 0; }
static inline int __syncthreads_and(int p) { return __syncthreads_count(p) == emu_threads(); }

// --- warps: every lane of a warp takes part, as with a full mask -------------------------------
static inline int emu_lane() { return emu_thread() & 31; }
static inline void emu_full(unsigned mask) {
  int first = emu_thread() & ~31, lanes = std::min(32, emu_threads() - first);
  unsigned all = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
  if ((mask & all) != all) emu_fail("a warp operation with a partial mask is not emulated");
}
static inline unsigned __ballot_sync(unsigned mask, int p) {
  emu_full(mask);
  int first = emu_thread() & ~31, last = std::min(first + 32, emu_threads());
  unsigned mine = p ? 1u << emu_lane() : 0u;
  return emu_combine(mine, EMU_WARP, first, last, 0u, [](unsigned a, unsigned b) { return a | b; });
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, !p) == 0; }
template <class T>
static T emu_shuffle(unsigned mask, T value, int lane) {
  static_assert(sizeof(T) <= 16, "a shuffle moves at most 16 bytes here");
  emu_full(mask);
  int first = emu_thread() & ~31;
  std::memcpy(emu_exchange[emu_thread()], &value, sizeof value);
  emu_wait(EMU_WARP);
  T result;
  std::memcpy(&result, emu_exchange[std::min(first + (lane & 31), emu_threads() - 1)], sizeof result);
  emu_wait(EMU_WARP);
  return result;
}
template <class T>
static T __shfl_sync(unsigned m, T v, int lane, int width = 32) {
  return emu_shuffle(m, v, (emu_lane() & ~(width - 1)) + (lane & (width - 1)));
}
template <class T>
static T __shfl_down_sync(unsigned m, T v, unsigned d, int width = 32) {
  int lane = emu_lane(), to = lane + int(d);
  return emu_shuffle(m, v, (lane & (width - 1)) + int(d) < width ? to : lane);
}
template <class T>
static T __shfl_up_sync(unsigned m, T v, unsigned d, int width = 32) {
  int lane = emu_lane();
  return emu_shuffle(m, v, (lane & (width - 1)) >= int(d) ? lane - int(d) : lane);
}
template <class T>
static T __shfl_xor_sync(unsigned m, T v, int mask, int width = 32) {
  int lane = emu_lane(), to = lane ^ mask;
  return emu_shuffle(m, v, to / width <= lane / width ? to : lane);
}

// --- integers and bits ------------------------------------------------------------------------
#define EMU_MIN_MAX(T)                                          \
  static inline T min(T a, T b) { return b < a ? b : a; }       \
  static inline T max(T a, T b) { return a < b ? b : a; }
EMU_MIN_MAX(int)
EMU_MIN_MAX(unsigned)
EMU_MIN_MAX(long)
EMU_MIN_MAX(unsigned long)
EMU_MIN_MAX(long long)
EMU_MIN_MAX(unsigned long long)
// CUDA's min and max of floats return the operand that is not NaN.
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return std::fmin(a, b); }
static inline double max(double a, double b) { return std::fmax(a, b); }
static inline double min(float a, double b) { return std::fmin(a, b); }
static inline double max(float a, double b) { return std::fmax(a, b); }
static inline double min(double a, float b) { return std::fmin(a, b); }
static inline double max(double a, float b) { return std::fmax(a, b); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (uint64_t(a) * b) >> 32; }
static inline int __mulhi(int a, int b) { return (int64_t(a) * b) >> 32; }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
template <class B, class A>
static inline B emu_bits(A a) {
  static_assert(sizeof(A) == sizeof(B), "a bit cast needs types of one size");
  B b;
  std::memcpy(&b, &a, sizeof b);
  return b;
}
static inline int __float_as_int(float x) { return emu_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return emu_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return emu_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return emu_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return emu_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return emu_bits<double>(x); }
static inline int __double2hiint(double x) { return int(emu_bits<uint64_t>(x) >> 32); }
static inline int __double2loint(double x) { return int(emu_bits<uint64_t>(x)); }
static inline double __hiloint2double(int hi, int lo) {
  return emu_bits<double>((uint64_t(unsigned(hi)) << 32) | unsigned(lo));
}

// --- atomics: threads take turns, so plain code is atomic ---------------------------------------
#define EMU_ATOMIC(T)                                                          \
  static inline T atomicAdd(T* p, T v) { T old = *p; *p = old + v; return old; } \
  static inline T atomicExch(T* p, T v) { T old = *p; *p = v; return old; }
#define EMU_ATOMIC_INT(T)                                                                     \
  EMU_ATOMIC(T)                                                                               \
  static inline T atomicSub(T* p, T v) { T old = *p; *p = old - v; return old; }              \
  static inline T atomicMin(T* p, T v) { T old = *p; *p = min(old, v); return old; }          \
  static inline T atomicMax(T* p, T v) { T old = *p; *p = max(old, v); return old; }          \
  static inline T atomicAnd(T* p, T v) { T old = *p; *p = old & v; return old; }              \
  static inline T atomicOr(T* p, T v) { T old = *p; *p = old | v; return old; }               \
  static inline T atomicXor(T* p, T v) { T old = *p; *p = old ^ v; return old; }              \
  static inline T atomicCAS(T* p, T c, T v) { T old = *p; if (old == c) *p = v; return old; }
EMU_ATOMIC(float)
EMU_ATOMIC(double)
EMU_ATOMIC_INT(int)
EMU_ATOMIC_INT(unsigned)
EMU_ATOMIC_INT(unsigned long long)
static inline unsigned short atomicCAS(unsigned short* p, unsigned short c, unsigned short v) {
  unsigned short old = *p;
  if (old == c) *p = v;
  return old;
}
static inline unsigned atomicInc(unsigned* p, unsigned v) {
  unsigned old = *p;
  *p = old >= v ? 0 : old + 1;
  return old;
}
static inline unsigned atomicDec(unsigned* p, unsigned v) {
  unsigned old = *p;
  *p = old == 0 || old > v ? v : old - 1;
  return old;
}
template <class T>
static inline T __ldg(const T* p) { return *p; }

// --- mathematics that C++ does not have, or spells in std:: only ------------------------------
static inline double sinpi(double x) {
  double r = std::remainder(x, 2.);  // exact, so that whole numbers give 0
  if (std::fabs(r) > .5) r = std::copysign(1., r) - r;
  return std::sin(M_PI * r);
}
static inline double cospi(double x) { return sinpi(std::remainder(x, 2.) + .5); }
static inline float sinpi(float x) { return float(sinpi(double(x))); }
static inline float cospi(float x) { return float(cospi(double(x))); }
static inline float sinpif(float x) { return sinpi(x); }
static inline float cospif(float x) { return cospi(x); }
static inline double rhypot(double x, double y) { return 1. / std::hypot(x, y); }
static inline float rhypotf(float x, float y) { return 1.f / std::hypot(x, y); }
static inline double norm3d(double x, double y, double z) { return std::hypot(x, y, z); }
static inline float norm3df(float x, float y, float z) { return std::hypot(x, y, z); }
static inline float rsqrt(float x) { return 1.f / std::sqrt(x); }
static inline double rsqrt(double x) { return 1. / std::sqrt(x); }
static inline float rsqrtf(float x) { return 1.f / std::sqrt(x); }
static inline float rcbrtf(float x) { return 1.f / std::cbrt(x); }
static inline double rcbrt(double x) { return 1. / std::cbrt(x); }
static inline float __saturatef(float x) { return x > 0.f ? (x < 1.f ? x : 1.f) : 0.f; }
static inline double normcdf(double x) { return .5 * std::erfc(-x * M_SQRT1_2); }
static inline float normcdff(float x) { return float(normcdf(x)); }
static inline double erfcx(double x) {
  if (x < 25.) return std::exp(x * x) * std::erfc(x);
  // Beyond, both factors leave the range; the asymptotic series has 15 digits there.
  double t = 1. / (2. * x * x), sum = 1., term = 1.;
  for (int i = 1; i <= 7; i++) sum += term *= -(2 * i - 1) * t;
  return sum / (x * std::sqrt(M_PI));
}
// The x >= 0 with erf(x) = y and erfc(x) = c = 1 - y, by Newton's method: on erf near 0, and on
// log(erfc), which is nearly a parabola, in the tail.
static inline double emu_erf_root(double y, double c) {
  double w = -std::log(c), x = y < .5 ? y / M_2_SQRTPI : std::sqrt(w - .5 * std::log(M_PI * w));
  for (int i = 0; i < 50; i++) {
    double slope = M_2_SQRTPI * std::exp(-x * x), tail = std::erfc(x);
    double step = y < .5 ? (y - std::erf(x)) / slope : (std::log(tail) + w) * tail / slope;
    x += step;
    if (std::fabs(step) <= 1e-16 * x) break;
  }
  return x;
}
static inline double erfinv(double y) {
  double size = std::fabs(y);
  if (!(size < 1.)) return size == 1. ? y * INFINITY : NAN;
  return std::copysign(emu_erf_root(size, 1. - size), y);
}
static inline double erfcinv(double c) {
  if (!(c > 0. && c < 2.)) return c == 0. ? INFINITY : c == 2. ? -INFINITY : NAN;
  return c <= 1. ? emu_erf_root(1. - c, c) : -emu_erf_root(c - 1., 2. - c);
}
static inline double normcdfinv(double y) { return -M_SQRT2 * erfcinv(2. * y); }
static inline float erfinvf(float y) { return float(erfinv(y)); }
static inline float erfcinvf(float y) { return float(erfcinv(y)); }
static inline float normcdfinvf(float y) { return float(normcdfinv(y)); }
static inline double cyl_bessel_i0(double x) { return emu_bessel_i(0., std::fabs(x)); }
static inline double cyl_bessel_i1(double x) {
  return std::copysign(emu_bessel_i(1., std::fabs(x)), x);
}
static inline float cyl_bessel_i0f(float x) { return float(cyl_bessel_i0(x)); }
static inline float cyl_bessel_i1f(float x) { return float(cyl_bessel_i1(x)); }
static inline float erfcxf(float x) { return float(erfcx(x)); }
// CuPy calls fabs on its own half types, which convert to float.
template <class T, class = decltype(std::declval<const T&>().to_bits())>
static inline float fabs(const T& x) { return std::fabs(float(x)); }
// The fast intrinsics are less exact on a device than what stands for them here.  They are
// macros because glibc declares functions of the same names.
#define __expf(x) std::exp(float(x))
#define __logf(x) std::log(float(x))
#define __log2f(x) std::log2(float(x))
#define __powf(x, y) std::pow(float(x), float(y))
#define __sinf(x) std::sin(float(x))
#define __cosf(x) std::cos(float(x))
#define __tanf(x) std::tan(float(x))
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __frcp_rn(float a) { return 1.f / a; }
static inline float __fsqrt_rn(float a) { return std::sqrt(a); }
static inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }

// --- entry points -----------------------------------------------------------------------------
template <class... A, size_t... I>
static inline void emu_call(void (*kernel)(A...), void** p, std::index_sequence<I...>) {
  kernel((*reinterpret_cast<std::remove_reference_t<A>*>(p[I]))...);
}
template <class... A>
static inline void emu_invoke(void (*kernel)(A...), void** p) {
  emu_call(kernel, p, std::index_sequence_for<A...>());
}
// The sizes of a kernel's arguments, ended by 0: what a captured launch has to copy.
template <class... A>
static constexpr std::array<unsigned, sizeof...(A) + 1> emu_sizes(void (*)(A...)) {
  return {{unsigned(sizeof(A))..., 0u}};
}
#define EMU_ENTRY(number, one_thread, fibers, ...)                                             \
  extern "C" int emu_entry_##number(void** p, const unsigned* dims, size_t shared) {            \
    return emu_launch([](void** q) { emu_invoke(&__VA_ARGS__, q); }, p, dims, shared,           \
                      one_thread, fibers);                                                     \
  }                                                                                            \
  extern "C" const unsigned* emu_sizes_##number() {                                            \
    static constexpr auto sizes = emu_sizes(&__VA_ARGS__);                                     \
    return sizes.data();                                                                       \
  }
