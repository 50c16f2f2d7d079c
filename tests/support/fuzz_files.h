/* Harmed files through the program: whatever stands in them, it ends by itself, with a status of the contract. */
#ifndef TEST_FUZZ_FILES_H
#define TEST_FUZZ_FILES_H

#include "bad_asides.h"
#include "fuzz.h"

/* A file that is harmed, and the command that reads it. */
typedef struct { const char *from, *to, *line; } file_fuzz;

static const file_fuzz model_fuzz[] = {
    {"many.xml", "harmed.xml", "solve harmed.xml --envs 2 --warmup 20 --threads 1 --out out.h5"},
    {"many.xml", "harmed.xml", "solve harmed.xml --envs 2 --warmup 1 --threads 1 --precision f32 --json"},
    {NULL, NULL, NULL},
};
static const file_fuzz states_fuzz[] = {
    {"good.h5", "harmed.h5", "solve ball.xml --states harmed.h5 --threads 1 --out out.h5"},
    {"checked.h5", "harmed.h5", "solve ball.xml --states harmed.h5 --threads 1 --json"},
    {NULL, NULL, NULL},
};

static const file_fuzz aside_fuzz[] = {
    {"aside.h5", "harmed.h5", "replay harmed.h5 --json"},
    {"aside.h5", "harmed.h5", "solve ball.xml --envs 2 --threads 1 --iterations 0 --tolerance 0 --set-aside harmed.h5 --json"},
    {NULL, NULL, NULL},
};

/* a model with some of everything that makes rows */
static const char many_xml[] =
    "<mujoco><option timestep='0.003' cone='elliptic' impratio='2'/><default><geom condim='4' friction='.8 .01 .001' solref='.02 1'/></default>\n"
    "<worldbody><geom name='floor' type='plane' size='2 2 .1'/><body name='base' pos='0 0 .3'><freejoint/><geom type='box' size='.1 .2 .1'/>\n"
    "<body name='arm' pos='.2 0 0'><joint name='j1' axis='0 1 0' range='-60 60' frictionloss='.1' damping='.5' armature='.01'/>\n"
    "<geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/><site name='tip' pos='.3 0 0'/></body></body>\n"
    "<body name='ball' pos='.6 0 .1'><joint name='b' type='ball' range='0 40'/><geom size='.08' condim='6' pos='0 0 .05'/></body>\n"
    "<body name='slide' pos='-.5 0 .1'><joint name='s' type='slide' axis='0 0 1' limited='true' range='-.1 .1'/><geom size='.09' condim='3'/></body></worldbody>\n"
    "<tendon><fixed name='t' range='-.2 .2' frictionloss='.05'><joint joint='j1' coef='1'/><joint joint='s' coef='-2'/></fixed></tendon>\n"
    "<equality><joint joint1='j1' joint2='s' polycoef='0 1 0 0 0'/><connect body1='arm' body2='ball' anchor='.3 0 0' solimp='.8 .9 .01'/></equality>\n"
    "<actuator><position name='p' joint='j1' kp='20' ctrlrange='-1 1'/><motor tendon='t' gear='3'/></actuator>\n"
    "<keyframe><key qpos='0 0 .15 1 0 0 0 .2 1 0 0 0 0'/></keyframe></mujoco>\n";

static inline void fuzz_file(const char *folder, const file_fuzz *f, const unsigned char *data, size_t n, uint64_t seed) {
  char buffer[500];
  const char *words[COMMAND_WORDS] = {SOFTCON_PROGRAM};
  unsigned char *harmed = malloc(2 * n + 2);
  test_random r = random_stream(seed, 4);
  cr_assert(harmed);
  memcpy(harmed, data, n);
  size_t length = fuzz_bytes(&r, harmed, n);
  file_write(folder, f->to, harmed, length);
  words[1 + command_split(f->line, buffer, sizeof buffer, words + 1, COMMAND_WORDS - 2)] = NULL;
  command_options o = {.folder = folder, .seconds = 60};
#ifndef SOFTCON_SANITIZED
  o.address_space = (size_t)4 << 30;
#endif
  command_result run = command_run(words, &o);
  int known = run.status == 0 || run.status == 3 || run.status == 4;
  cr_expect(!run.late && !run.signal && known, "%s, seed %llu: %s, status %d, signal %d\n%s", f->from, (unsigned long long)seed, run.late ? "never ends" : f->line,
            run.status, run.signal, run.err);
  cr_expect(run.status != 3 || run.err[0], "%s, seed %llu: refused without a word", f->from, (unsigned long long)seed);
  free(harmed);
}

/* `count` harmed files of each kind, from seed `first` on */
static inline void fuzz_files(const file_fuzz *kinds, int first, int count) {
  char folder[256];
  folder_make(folder, sizeof folder);
  make_files(folder);
  make_asides(folder);
  file_write(folder, "many.xml", many_xml, sizeof many_xml - 1);
  for (const file_fuzz *f = kinds; f->from; f++) {
    size_t n;
    char *data = file_read(folder, f->from, &n);
    cr_assert(data);
    for (int k = 0; k < count; k++) fuzz_file(folder, f, (const unsigned char *)data, n, (uint64_t)(first + k));
    free(data);
  }
  folder_remove(folder);
}

#endif
