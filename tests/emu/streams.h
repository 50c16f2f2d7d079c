/* The host's side of the emulator, included by runtime.cpp: a stream is a chain of operations; they run when the seed says so,
 * at the latest at a synchronisation. Then the calls of the CUDA runtime, and control.h of the tests. */
namespace emu {
struct Op {
  std::function<void()> f;
  std::vector<std::shared_ptr<Op>> deps;
  bool done = false;
};
typedef std::shared_ptr<Op> Ref;
struct Graph {
  std::vector<Ref> ops;
};
struct Stream {
  Ref tail;
  Graph *cap = 0;
  Ref before;
};
struct Event {
  Ref op;
  Graph *cap = 0;
};
static std::vector<Ref> pending;
static std::vector<Stream *> streams;
static std::map<const void *, int> optin;
static void protect(int p) { mprotect(dev, ARENA, p); }
static void run(Ref o) {
  protect(PROT_READ | PROT_WRITE);
  o->f();
  protect(PROT_NONE);
  o->done = true;
  o->deps.clear();
  o->f = nullptr;
}
static bool step() {
  std::vector<size_t> r;
  for (size_t i = 0; i < pending.size(); i++) {
    bool ok = true;
    for (auto &d : pending[i]->deps)
      ok &= d->done;
    if (ok)
      r.push_back(i);
  }
  if (r.empty())
    return false;
  size_t i = policy > 1 ? r[rnd(r.size())] : policy ? r.back() : r[0];
  Ref o = pending[i];
  pending.erase(pending.begin() + i);
  run(o);
  return true;
}
static void drain(Ref o) {
  while (o ? !o->done : !pending.empty())
    if (!step())
      fail("host: work that can never run");
}
static void segv(int, siginfo_t *si, void *) {
  char *a = (char *)si->si_addr;
  char s[160];
  bool d = a >= dev && a < dev + ARENA;
  snprintf(s, sizeof s, cur ? "lane %d: bad address %p%s" : "host code (%d): bad address %p%s", cur ? cur->lin : 0, a,
           d ? ", device memory" : "");
  fail(s);
}
static cudaError_t api() { // every entry: set up once, count, perhaps fail, perhaps run some work
  if (policy < 0) {
    const char *e = getenv("EMU_SEED");
    policy = e ? atol(e) : 0;
    rng = 88172645463325252ull ^ (uint64_t)policy * 2654435761u;
    for (int i = 0; i < 9; i++)
      rnd(2);
    e = getenv("EMU_FAIL");
    failat = e ? atol(e) : 0;
    stacks =
        (char *)mmap(0, (size_t)LANES * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int i = 0; i < LANES; i++)
      mprotect(stacks + (size_t)i * STACK, GUARD, PROT_NONE);
    dev = (char *)mmap(0, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    static char alt[65536];
    stack_t ss = {};
    ss.ss_sp = alt;
    ss.ss_size = sizeof alt;
    sigaltstack(&ss, 0);
    struct sigaction sa = {};
    sa.sa_sigaction = segv;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &sa, 0);
    sigaction(SIGBUS, &sa, 0);
  }
  n.api++;
  if (policy != 1)
    for (int k = policy ? rnd(4) == 0 : 1 << 20; k > 0 && step(); k--)
      ;
  return n.api == failat ? cudaErrorMemoryAllocation : cudaSuccess;
}
#define API                                                                                                                 \
  {                                                                                                                         \
    cudaError_t e_ = emu::api();                                                                                            \
    if (e_)                                                                                                                 \
      return e_;                                                                                                            \
  }
static cudaError_t enqueue(Stream *s, std::function<void()> f) {
  static Stream null;
  bool sync = !s;
  if (!s) {
    s = &null;
    drain(0);
  }
  auto o = std::make_shared<Op>();
  o->f = f;
  if (s->tail)
    o->deps.push_back(s->tail);
  s->tail = o;
  if (s->cap)
    s->cap->ops.push_back(o);
  else {
    pending.push_back(o);
    if (sync)
      drain(o);
  }
  return cudaSuccess;
}
static bool capturing() {
  for (auto s : streams)
    if (s->cap)
      return true;
  return false;
}
static bool device(const void *p, size_t k) {
  size_t o = (char *)p - dev;
  for (auto &a : allocs)
    if (a.live && o >= a.off && o + k <= a.off + a.size)
      return true;
  return false;
}
static cudaError_t copy(void *d, const void *s, size_t k, cudaMemcpyKind kind, Stream *st) {
  if (((kind & 1) && !device(d, k)) || ((kind & 2) && !device(s, k)) || (kind == 2 && device(d, 1)) ||
      (kind == 1 && device(s, 1)))
    return cudaErrorInvalidValue;
  return enqueue(st, [=] {
    memcpy(d, s, k);
    n.copied += k;
    if (kind & 1)
      known(d, k);
  });
}
cudaError_t attr(const void *f, int b) {
  API if (b > SHARED) return cudaErrorInvalidValue;
  optin[f] = b;
  return cudaSuccess;
}
cudaError_t launch(void *f, void (*call)(void *, void **), dim3 g, dim3 b, void **args, const size_t *size, int na,
                   size_t sh, Stream *s) {
  API size_t t = (size_t)b.x * b.y * b.z;
  if (!t || t > LANES || !g.x || !g.y || !g.z || g.y > 65535 || sh > (size_t)std::max(optin[f], 48 << 10))
    return cudaErrorInvalidValue;
  std::vector<std::vector<char>> a;
  for (int i = 0; i < na; i++)
    a.emplace_back((char *)args[i], (char *)args[i] + size[i]);
  n.shared_max = std::max(n.shared_max, (long)sh);
  return enqueue(s, [=]() mutable {
    std::vector<void *> p;
    for (auto &x : a)
      p.push_back(x.data());
    kernel = f;
    kcall = call;
    kargs = p.data();
    gdim = g;
    bdim = b;
    nl = (int)t;
    dyn = sh;
    n.launches++;
    long m = (long)g.x * g.y * g.z;
    std::vector<int> o(m);
    for (long i = 0; i < m; i++)
      o[i] = i;
    if (policy == 1)
      std::reverse(o.begin(), o.end());
    else if (policy > 1)
      for (long i = m - 1; i > 0; i--)
        std::swap(o[i], o[rnd(i + 1)]);
    for (int i : o) {
      blk = dim3(i % g.x, i / g.x % g.y, i / (g.x * g.y));
      block();
    }
    for (auto &x : allocs) {
      intact(dev + x.off - GUARD, GUARD, "written before a device allocation");
      intact(dev + x.off + x.size, GUARD, "written past a device allocation");
    }
    kernel = 0;
  });
}
cudaError_t library(const std::function<void()> &f, Stream *s) {
  API return enqueue(s, [=] {
    n.library++;
    f();
  });
}
static void must_be(const void *p, size_t k) {
  if (!device(p, k))
    fail("a library's call is handed memory that is not the device's");
}
void reads(const void *p, size_t k) {
  must_be(p, k);
  if (unwritten(p, k))
    fail("a library's call reads device memory nobody wrote");
}
void writes(void *p, size_t k) {
  must_be(p, k);
  known(p, k);
}
int libraries = 1;
} // namespace emu
using namespace emu;
EMU_NAME(EMU_MAIN)
cudaError_t cudaMalloc(void **p, size_t k) {
  API if (capturing()) return cudaErrorStreamCaptureUnsupported;
  size_t r = (k + 255) & ~(size_t)255;
  if (devtop + r + 2 * GUARD > ARENA)
    return cudaErrorMemoryAllocation;
  *p = dev + devtop;
  protect(PROT_READ | PROT_WRITE);
  guard(dev + devtop - GUARD, GUARD);
  memset(dev + devtop, 0xff, k);
  guard(dev + devtop + k, r - k + GUARD);
  protect(PROT_NONE);
  allocs.push_back({devtop, k, true});
  devtop += r + 2 * GUARD;
  n.allocs++;
  n.live++;
  return cudaSuccess;
}
cudaError_t cudaFree(void *p) {
  API if (!p) return cudaSuccess;
  drain(0);
  for (auto &a : allocs)
    if (a.live && dev + a.off == p) {
      a.live = false;
      n.live--;
      return cudaSuccess;
    }
  return cudaErrorInvalidValue;
}
cudaError_t cudaMemcpyAsync(void *d, const void *s, size_t k, cudaMemcpyKind kind, cudaStream_t st) {
  API return copy(d, s, k, kind, st);
}
cudaError_t cudaMemcpy(void *d, const void *s, size_t k, cudaMemcpyKind kind) {
  API if (capturing()) return cudaErrorStreamCaptureUnsupported;
  return copy(d, s, k, kind, 0);
}
cudaError_t cudaMemsetAsync(void *d, int v, size_t k, cudaStream_t st) {
  API if (!device(d, k)) return cudaErrorInvalidValue;
  return enqueue(st, [=] {
    memset(d, v, k);
    known(d, k);
  });
}
cudaError_t cudaStreamCreate(cudaStream_t *s) {
  API *s = new Stream;
  streams.push_back(*s);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  API drain(s->tail);
  streams.erase(std::find(streams.begin(), streams.end(), s));
  delete s;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  API if (s && s->cap) return cudaErrorStreamCaptureUnsupported;
  if (!s)
    drain(0);
  else if (s->tail)
    drain(s->tail);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) {
  API if (capturing()) return cudaErrorStreamCaptureUnsupported;
  drain(0);
  return cudaSuccess;
}
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *k) {
  API *k = EMU_DEVICES;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *e) {
  API *e = new Event;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  API delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  API e->op = s ? s->tail : nullptr;
  e->cap = s ? s->cap : 0;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) { API return !e->op || e->op->done ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  API if (e->cap) return cudaErrorStreamCaptureUnsupported;
  if (e->op)
    drain(e->op);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  API if (e->cap) {
    if (!s->cap) {
      s->cap = e->cap;
      s->before = s->tail;
      s->tail = nullptr;
    }
  }
  else if (s->cap) return cudaErrorIllegalState;
  Ref w = e->op;
  enqueue(s, [] {});
  if (w)
    s->tail->deps.push_back(w);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  API if (!s || s->cap) return cudaErrorIllegalState;
  s->cap = new Graph;
  s->before = s->tail;
  s->tail = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g) {
  API if (!s->cap) return cudaErrorIllegalState;
  *g = s->cap;
  for (auto t : streams)
    if (t->cap == *g) {
      t->cap = 0;
      t->tail = t->before;
      t->before = nullptr;
    }
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long) {
  API *e = new Graph(*g);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  API std::map<Op *, Ref> m;
  Ref first = s->tail;
  std::vector<Ref> all;
  for (auto &o : e->ops) {
    auto c = std::make_shared<Op>();
    c->f = o->f;
    for (auto &d : o->deps)
      if (m.count(d.get()))
        c->deps.push_back(m[d.get()]);
    if (first)
      c->deps.push_back(first);
    m[o.get()] = c;
    all.push_back(c);
    pending.push_back(c);
  }
  auto j = std::make_shared<Op>();
  j->f = [] {};
  j->deps = all;
  pending.push_back(j);
  s->tail = j;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  API delete g;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
  API delete e;
  return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t e) {
  switch (e) {
  case cudaSuccess:
    return "no error";
  case cudaErrorInvalidValue:
    return "invalid argument";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  case cudaErrorInvalidDevice:
    return "invalid device ordinal";
  case cudaErrorStreamCaptureUnsupported:
    return "operation not permitted when stream is capturing";
  default:
    return "another error";
  }
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p) {
  API *a = {0, device(p, 1) ? (void *)p : NULL, NULL};
  return cudaSuccess;
}
static int current_device;
cudaError_t cudaGetDevice(int *d) {
  API *d = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
  API if (d < 0 || d >= EMU_DEVICES) return cudaErrorInvalidDevice;
  current_device = d;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr a, int d) {
  API if (d < 0 || d >= EMU_DEVICES) return cudaErrorInvalidDevice;
  const char *shared = getenv("EMU_SHARED");
  *v = a == cudaDevAttrMultiProcessorCount ? 2 : shared ? atoi(shared) : SHARED;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { return cudaStreamCreate(s); }
cudaError_t emu::occupancy(int *blocks, int threads, size_t shared) {
  API *blocks = (int)(SHARED / (shared + 1024));
  n.asked_threads = threads;
  n.asked_shared = (long)shared;
  return cudaSuccess;
}
#ifdef EMU_TRACE
const bool emu::racing = true;
#else
const bool emu::racing = false;
#endif
extern "C" void emu_seed(long seed) {
  emu::drain(0);
  policy = seed;
}
extern "C" void emu_libraries(int how) { emu::libraries = how; }
extern "C" void emu_fail(long after) { failat = after > 0 ? n.api + after : 0; }
extern "C" long emu_count(const char *name) {
  const std::pair<const char *, long> all[] = {{"launches", n.launches},  {"blocks", n.blocks},
                                               {"barriers", n.barriers},  {"exchanges", n.exchanges},
                                               {"copied", n.copied},      {"shared", n.shared_max},
                                               {"allocations", n.allocs}, {"live", n.live},
                                               {"calls", n.api},          {"races", emu::racing ? n.races : -1},
                                               {"loads", n.loads},        {"read", n.read},
                                               {"written", n.written},    {"touched", n.touched},
                                               {"stores", n.stores},      {"streams", (long)streams.size()},
                                               {"asked threads", n.asked_threads},
                                               {"library", n.library},
                                               {"asked shared", n.asked_shared}};
  for (auto &x : all)
    if (!strcmp(x.first, name))
      return x.second;
  return -1;
}
