// Own runtime under g++ -fsanitize=thread (compile with it, do not link with it): every load and store of the kernel is
// checked - races between lanes of a block (only barriers order memory; shuffles and votes do not) and between blocks of a
// launch, reads of shared bytes nobody wrote, and addresses that are not this lane's.
#include <set>
namespace emu {
struct Cell {
  uint32_t wclk, wblk, wpc;
  uint16_t wlane, r0, r1;
  uint32_t r0c, r1c, r0pc, rblk;
};
static uint32_t vc[LANES][LANES], serial, base_serial;
static void *last;
static std::set<std::pair<uint32_t, uint32_t>> seen;
static Cell *scell, *dcell;
// a cell a byte of shared and of device memory
static unsigned char *dknown;
struct Touch {
  uint32_t launch, when, write;
};
static Touch *dtouched;
static void *lazily(size_t k) {
  return mmap(0, k, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
static void setup() {
  if (!scell) {
    scell = (Cell *)lazily(sizeof(Cell) * all_shared_size);
    dcell = (Cell *)lazily(sizeof(Cell) * (size_t)ARENA);
    dknown = (unsigned char *)lazily(ARENA);
    dtouched = (Touch *)lazily(sizeof(Touch) * (size_t)ARENA);
  }
}
static void joined(const int *g, int k) { // these lanes met at a barrier: what each did is before what all do next
  setup();
  static int launch = -1;
  bool start = !cur && ready.empty() && k == nl && lane[g[0]].op <= DONE;
  if (start) {
    serial++;
    if (launch != n.launches) {
      launch = n.launches;
      base_serial = serial;
    }
  }
  static uint32_t m[LANES];
  memset(m, 0, sizeof *m * nl);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < nl; j++)
      m[j] = std::max(m[j], vc[g[i]][j]);
  for (int i = 0; i < k; i++) {
    memcpy(vc[g[i]], m, sizeof *m * nl);
    vc[g[i]][g[i]]++;
  }
}
static void unknown(char *p) {
  setup();
  memset(scell + (p - all_shared), 0, sizeof(Cell) * (arena + GUARD + dyn - p));
}
static void known(void *p, size_t k) {
  setup();
  memset(dknown + ((char *)p - dev), 1, k);
}
static bool unwritten(const void *p, size_t k) {
  setup();
  return memchr(dknown + ((const char *)p - dev), 0, k);
}
static void tell(const char *what, int l, uint32_t pc, int l2, uint32_t pc2, uintptr_t a) {
  if (!seen.insert({pc, pc2}).second)
    return;
  n.races++;
  if (n.races > 8)
    return;
  lane[l].op = RUN;
  at(what);
  fprintf(stderr, "emu:   lane %d at %s\n", l, where(pc - 1));
  if (pc2)
    fprintf(stderr, "emu:   lane %d at %s\n", l2, where(pc2 - 1));
  char *s = arena + GUARD, *p = (char *)a;
  if (p >= s && p < s + SHARED)
    fprintf(stderr, "emu:   shared byte %ld of %zu\n", (long)(p - s), dyn);
  else if (p >= dev && p < dev + ARENA)
    for (auto &x : allocs)
      if (p >= dev + x.off - GUARD && p < dev + x.off + x.size + GUARD)
        fprintf(stderr, "emu:   device allocation %d%s byte %ld of %zu\n", (int)(&x - &allocs[0]), x.live ? "" : " (freed)",
                (long)(p - dev - (long)x.off), x.size);
}
static inline void access(uintptr_t a, size_t k, bool w, uint32_t pc) {
  Lane *L = chk;
  if (!L)
    return;
  char *p = (char *)a, *s = arena + GUARD;
  int l = L->lin;
  Cell *c;
  bool sh = p >= all_shared && p < all_shared + all_shared_size;
  if (p >= stacks + (size_t)l * STACK && p < stacks + (size_t)(l + 1) * STACK)
    return;
  chk = 0;
  if (sh) {
    w ? n.stores++ : n.loads++;
    if (p >= arena && p < arena + sizeof arena && (p < s || p + k > s + dyn)) {
      tell("outside the launch's shared bytes", l, pc, 0, 0, a);
      chk = L;
      return;
    }
    for (auto &x : gaps)
      if (p + k > x.first && p < x.first + x.second) {
        tell("past the end of a shared array", l, pc, 0, 0, a);
        chk = L;
        return;
      }
    c = scell + (p - all_shared);
  } else if (p >= dev && p < dev + ARENA) {
    if (!device(p, k)) {
      tell("outside every device allocation", l, pc, 0, 0, a);
      chk = L;
      return;
    }
    c = dcell + (p - dev);
    // lanes that read a byte between two meetings read it once
    uint32_t now = (uint32_t)(n.barriers + n.exchanges);
    for (size_t o = 0; o < k; o++) {
      Touch *x = dtouched + (p + o - dev);
      n.touched += x->launch != (uint32_t)n.launches;
      (w ? n.written : n.read) += x->launch != (uint32_t)n.launches || x->when != now || x->write != w;
      *x = {(uint32_t)n.launches, now, (uint32_t)w};
    }
  } else {
    if (p < __executable_start || p >= end)
      tell("host memory (or another lane's stack) touched by a kernel", l, pc, 0, 0, a);
    chk = L;
    return;
  }
  uint32_t *my = vc[l];
  for (size_t o = 0; o < k; o += 4) {
    Cell &x = c[o];
    bool mine = x.wblk == serial, ours = x.wblk >= base_serial && x.wblk;
    if (!w && (sh ? !mine : !dknown[p + o - dev]))
      tell(sh ? "read of shared memory nobody wrote" : "read of device memory nobody wrote", l, pc, 0, 0, a);
    if (mine && x.wlane != l && my[x.wlane] < x.wclk)
      tell(w ? "two lanes write, no barrier between" : "a lane reads what another wrote, no barrier between", l, pc, x.wlane,
           x.wpc, a);
    else if (!sh && ours && !mine)
      tell("two blocks of a launch, at least one writes", l, pc, x.wlane, x.wpc, a);
    if (w) {
      if (x.rblk == serial) {
        if (x.r0c && x.r0 != l && my[x.r0] < x.r0c)
          tell("a lane writes what another read, no barrier between", l, pc, x.r0, x.r0pc, a);
        else if (x.r1c && x.r1 != l && my[x.r1] < x.r1c)
          tell("a lane writes what another read, no barrier between", l, pc, x.r1, x.r0pc, a);
      } else if (!sh && x.rblk >= base_serial && x.rblk)
        tell("two blocks of a launch, at least one writes", l, pc, x.r0, x.r0pc, a);
      x.wclk = my[l];
      x.wblk = serial;
      x.wlane = l;
      x.wpc = pc;
      x.r0c = x.r1c = 0;
      if (!sh)
        memset(dknown + (p + o - dev), 1, k < 4 ? k : 4);
    } else {
      if (x.rblk != serial)
        x.r0c = x.r1c = 0;
      if (x.r0c && x.r0 != l) {
        x.r1 = x.r0;
        x.r1c = x.r0c;
      }
      x.r0 = l;
      x.r0c = my[l];
      x.r0pc = pc;
      x.rblk = serial;
    }
  }
  chk = L;
}
} // namespace emu
#define PC (uint32_t)(uintptr_t) __builtin_return_address(0)
#define RW(k)                                                                                                               \
  extern "C" void __tsan_read##k(void *p) { emu::access((uintptr_t)p, k, 0, PC); }                                          \
  extern "C" void __tsan_write##k(void *p) { emu::access((uintptr_t)p, k, 1, PC); }                                         \
  extern "C" void __tsan_unaligned_read##k(void *p) { emu::access((uintptr_t)p, k, 0, PC); }                                \
  extern "C" void __tsan_unaligned_write##k(void *p) { emu::access((uintptr_t)p, k, 1, PC); }                               \
  extern "C" void __tsan_volatile_read##k(void *p) { emu::access((uintptr_t)p, k, 0, PC); }                                 \
  extern "C" void __tsan_volatile_write##k(void *p) { emu::access((uintptr_t)p, k, 1, PC); }
RW(1) RW(2) RW(4) RW(8) RW(16) extern "C" void __tsan_read_range(void *p, size_t k) { emu::access((uintptr_t)p, k, 0, PC); }
extern "C" void __tsan_write_range(void *p, size_t k) { emu::access((uintptr_t)p, k, 1, PC); }
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void **, void *) {}
