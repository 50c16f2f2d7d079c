/* The emulator: lanes as fibers that run one at a time from one rendezvous to the next, memory between guards, streams as
 * graphs of operations. Compiled once, without sanitizers; with EMU_TRACE it also checks every access of a kernel that was
 * compiled with -fsanitize=thread (trace.h). The dynamic shared array of the kernels is called sc_shared. */
#define EMU_MAIN sc_shared
#include "emu.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#include <functional>
extern "C" char __executable_start[], end[];
namespace emu {
enum { GUARD = 4096, STACK = 1 << 18, LANES = 1024, SHARED = 227 << 10, ARENA = 1 << 28 };
alignas(GUARD) __shared__ char arena[GUARD + SHARED + GUARD] asm("emu_arena"); // the shared array lies in the middle of this
#define EMU_STR(x) #x
#define EMU_NAME(x) asm(".globl " EMU_STR(x) "\n.type " EMU_STR(x) ",@object\n.set " EMU_STR(x) ", emu_arena + 4096");
Lane lane[LANES], *cur, *chk;
dim3 blk, gdim, bdim;
Counters n;
void *kernel;
size_t dyn;
int nl;
static void *sched;
static char *stacks, *dev;
static size_t devtop = GUARD;
static uint64_t rng;
static long policy = -1, failat;
static void (*kcall)(void *, void **);
static void **kargs;
static std::vector<int> ready;
static int nwait[LANES / 32];
struct Alloc {
  size_t off, size;
  bool live;
};
static std::vector<Alloc> allocs;
static std::vector<std::pair<char *, size_t>> gaps;
static unsigned rnd(unsigned k) {
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return (unsigned)((rng >> 20) % k);
}
static const char *where(uintptr_t pc) {
  static char s[4][512];
  static int k;
  char c[256], *o = s[k = (k + 1) & 3];
  *o = 0;
  snprintf(c, sizeof c, "addr2line -Cfspi -e /proc/%d/exe 0x%lx | tr '\\n' ' '", getpid(), (long)pc);
  if (FILE *f = popen(c, "r")) {
    if (!fgets(o, 512, f))
      *o = 0;
    pclose(f);
  }
  return o;
}
static void at(const char *what) {
  fprintf(stderr, "emu: %s\nemu:   kernel %s block (%u,%u,%u) seed %ld\n", what, where((uintptr_t)kernel), blk.x, blk.y,
          blk.z, policy);
}
[[noreturn]] static void fail(const char *what) {
  at(what);
  _exit(86);
}
#ifdef __x86_64__
extern "C" __attribute__((naked, noinline)) void emu_switch(void **, void *) {
  asm("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15; mov %rsp,(%rdi); mov %rsi,%rsp;"
      "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
}
static void *fresh(char *top, void (*f)()) {
  void **s = (void **)top;
  *--s = 0;
  *--s = (void *)f;
  for (int i = 0; i < 6; i++)
    *--s = 0;
  return s;
}
#else
#error "add the switch of this machine (or swapcontext, some 50 times slower)"
#endif
static void entry() {
  Lane *l = cur;
  chk = l;
  kcall(kernel, kargs);
  chk = 0;
  l = cur;
  l->op = DONE;
  emu_switch(&l->sp, sched);
  abort();
}
// EMU_SKIP=FILE:LINE: the barriers of that line are not there
static bool skipped(const char *file, int line) {
  static const char *skip = getenv("EMU_SKIP"), *colon = skip ? strrchr(skip, ':') : 0;
  if (!colon || atoi(colon + 1) != line)
    return false;
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  return strlen(name) == (size_t)(colon - skip) && !strncmp(name, skip, colon - skip);
}
// EMU_SITES=FILE: the barriers that were reached are appended to it, as FILE:LINE
static void note(const char *file, int line) {
  static FILE *out = getenv("EMU_SITES") ? fopen(getenv("EMU_SITES"), "a") : 0;
  static std::set<std::pair<std::string, int>> sites;
  if (!out || !sites.insert({file, line}).second)
    return;
  const char *slash = strrchr(file, '/');
  fprintf(out, "%s:%d\n", slash ? slash + 1 : file, line);
  fflush(out);
}
extern const bool racing;
static bool whole(int op) { return op == BLOCK || op == BLOCK_OR; }
uint64_t meet(int op, unsigned mask, uint64_t v, int src, const char *file, int line) {
  Lane *l = cur;
  chk = 0;
  if (op == WARP || op == BLOCK) {
    note(file, line);
    if (skipped(file, line)) {
      chk = l;
      return 0;
    }
  }
  if (!whole(op) && !(mask >> (l->lin & 31) & 1)) {
    fprintf(stderr, "emu: lane %d at %s:%d\n", l->lin, file, line);
    fail("a lane calls with a mask that leaves it out");
  }
  l->op = op;
  l->mask = mask;
  l->val = v;
  l->src = src;
  l->file = file;
  l->line = line;
  nwait[l->lin / 32]++;
  emu_switch(&l->sp, sched);
  chk = l;
  return l->val;
}
static void stuck(const char *what) {
  at(what); // who waits where
  static const char *nm[] = {
      "runs", "has left the kernel", "__syncwarp", "__syncthreads", "__syncthreads_or", "shuffle", "any", "all", "ballot"};
  std::map<std::string, std::pair<unsigned, int>> m;
  for (int i = 0; i < nl; i++) {
    char s[400];
    Lane &l = lane[i];
    if (l.op <= DONE)
      snprintf(s, sizeof s, "warp %d %s", i / 32, nm[l.op]);
    else
      snprintf(s, sizeof s, "warp %d waits in %s(mask %08x) at %s:%d", i / 32, nm[l.op], l.mask, l.file, l.line);
    auto &e = m[s];
    if (!e.first)
      e.second = i;
    e.first |= 1u << (i & 31);
  }
  for (auto &e : m)
    fprintf(stderr, "emu:   lanes %08x (first %d): %s\n", e.second.first, e.second.second, e.first.c_str());
  _exit(86);
}
static void joined(const int *g, int k);
static void known(void *p, size_t k); // these lanes met at a barrier; device bytes that now hold something
static bool unwritten(const void *p, size_t k); // some of these hold nothing
static void go(int *g, int k) {       // release lanes, in the order of the seed
  if (policy == 1)
    std::reverse(g, g + k);
  else if (policy > 1)
    for (int i = k - 1; i > 0; i--)
      std::swap(g[i], g[rnd(i + 1)]);
  for (int i = 0; i < k; i++) {
    lane[g[i]].op = RUN;
    ready.push_back(g[i]);
  }
}
static bool release(int warp) { // complete a rendezvous of this warp (or of the block)
  int g[LANES], k = 0, base = warp * 32, top = std::min(nl, base + 32);
  Lane *f = 0;
  for (int i = base; i < top; i++)
    if (lane[i].op > DONE) {
      f = &lane[i];
      break;
    }
  if (!f)
    return false;
  int lo = whole(f->op) ? 0 : base, hi = whole(f->op) ? nl : top;
  for (int i = lo; i < hi; i++) {
    Lane &l = lane[i];
    if (!whole(f->op) && !(f->mask >> (i & 31) & 1))
      continue;
    if (l.op == RUN)
      return false;
    if (l.op == DONE)
      stuck("a barrier, shuffle or vote names a lane that has left");
    if (l.op != f->op || l.mask != f->mask || l.line != f->line || l.file != f->file)
      return false;
    g[k++] = i;
  }
  if (f->op <= BLOCK_OR) {
    n.barriers++;
    joined(g, k);
    uint64_t b = 0;
    for (int i = 0; i < k; i++)
      b |= lane[g[i]].val;
    for (int i = 0; i < k; i++)
      lane[g[i]].val = b;
  } else {
    n.exchanges++;
    uint64_t out[32], b = 0;
    unsigned all = 1;
    for (int i = 0; i < k; i++) {
      b |= (uint64_t)(lane[g[i]].val != 0) << (g[i] & 31);
      all &= lane[g[i]].val != 0;
    }
    for (int i = 0; i < k; i++) {
      Lane &l = lane[g[i]];
      int s = base + (l.src & 31);
      if (l.op == SHFL && (s >= top || !(l.mask >> (s & 31) & 1)))
        stuck("a shuffle reads a lane outside its mask");
      out[i] = l.op == SHFL ? lane[s].val : l.op == ANY ? b != 0 : l.op == ALL ? all : b;
    }
    for (int i = 0; i < k; i++)
      lane[g[i]].val = out[i];
  }
  for (int i = 0; i < k; i++)
    nwait[g[i] / 32]--;
  go(g, k);
  return true;
}
static unsigned char mark(const char *a) { return ((uintptr_t)a & 3) == 3 ? 0xff : 0xc5; } // guards read as NaN
static void guard(char *a, size_t nb) {
  for (size_t i = 0; i < nb; i++)
    a[i] = mark(a + i);
}
static void intact(const char *a, size_t nb, const char *what) {
  for (size_t i = 0; i < nb; i++)
    if ((unsigned char)a[i] != mark(a + i)) {
      fprintf(stderr, "emu: byte %zu of a guard of %zu\n", i, nb);
      fail(what);
    }
}
extern "C" char __start_emu_shared[], __stop_emu_shared[]; // static __shared__ arrays, and the arena
static char *const all_shared = __start_emu_shared;
static const size_t all_shared_size = __stop_emu_shared - __start_emu_shared;
static void check_gaps();
static void block() {
  char *s = arena + GUARD;
  memset(s, 0xff, dyn);
  guard(arena, GUARD);
  guard(s + dyn, GUARD);
  memset(all_shared, 0xff, arena - all_shared);
  memset(arena + sizeof arena, 0xff, all_shared + all_shared_size - arena - sizeof arena);
  gaps.clear();
  ready.clear();
  int g[LANES];
  memset(nwait, 0, sizeof nwait);
  for (int i = 0; i < nl; i++) {
    Lane &l = lane[i];
    l.lin = i;
    l.tid = dim3(i % bdim.x, i / bdim.x % bdim.y, i / (bdim.x * bdim.y));
    l.sp = fresh(stacks + (size_t)(i + 1) * STACK, entry);
    g[i] = i;
  }
  joined(g, nl);
  go(g, nl);
  for (;;) {
    if (ready.empty()) {
      bool any = false, live = false;
      for (int w = 0; w * 32 < nl; w++)
        any |= release(w);
      for (int i = 0; i < nl; i++)
        live |= lane[i].op != DONE;
      if (!live)
        break;
      if (!any)
        stuck("deadlock: these lanes do not meet");
      continue;
    }
    int p = policy > 1 ? rnd(ready.size()) : 0, i = ready[p];
    ready.erase(ready.begin() + p);
    cur = &lane[i];
    emu_switch(&sched, cur->sp);
    cur = 0;
    chk = 0;
    if (lane[i].op > DONE && !whole(lane[i].op) && nwait[i / 32] >= __builtin_popcount(lane[i].mask))
      release(i / 32);
  }
  intact(arena, GUARD, "written before the shared array");
  intact(s + dyn, GUARD, "written past the launch's shared bytes");
  check_gaps();
  n.blocks++;
}
static void unknown(char *p); // shared bytes from p on hold nothing
void gap(void *p) {
  char *c = (char *)p;
  gaps.push_back({c, SC_GUARD_BYTES});
  guard(c, SC_GUARD_BYTES);
}
static void check_gaps() {
  for (auto &x : gaps)
    intact(x.first, x.second, "written into the gap after a shared array");
  gaps.clear();
}
void forget(void *p) {
  check_gaps();
  char *c = (char *)p;
  memset(c, 0xff, arena + GUARD + dyn - c);
  unknown(c);
}
} // namespace emu

#include "streams.h"
#ifdef EMU_TRACE
#include "trace.h"
#else
static void emu::joined(const int *, int) {}
static void emu::known(void *, size_t) {}
static bool emu::unwritten(const void *, size_t) { return false; }
static void emu::unknown(char *) {}
#endif
