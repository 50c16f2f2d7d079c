/* Pictures of a batch and of the laws behind its rows, drawn by gnuplot: each as NAME.png and NAME.svg in a folder. */
#ifndef SC_CLI_PLOT_H
#define SC_CLI_PLOT_H

#include "job.h"
#include "softcon_inspect.h"

/* ------------------------------------------------------------------ for the commands */

struct inspection;

/* Before any work: gnuplot is there, and the folder (made if it is not) takes files. Returns 0 or an exit status,
 * having printed why. */
int plot_check(const char *folder);

/* What --plot draws. Both return 0 or an exit status. */
int plot_solve(const job *j, const timed_solver *t); /* the batch, and the laws of its first contact or limit */
int plot_inspect(const struct inspection *s);        /* the laws of the state's first contact or limit */

/* ------------------------------------------------------------------ for the drawings */

#define PLOT_TEXT 240

/* One picture while its script is written. Scripts address data by name ($name), and are run once per format. */
typedef struct picture {
  const char *folder, *name;
  FILE *data, *script; /* in memory */
  char *data_text, *script_text;
  size_t data_size, script_size;
} picture;

/* Opens both streams; 0 or an exit status. Title and subtitles (NULL: none) are plain texts. Below the axis there is
 * room for key_rows lines of legend. */
int picture_begin(picture *p, const char *folder, const char *name, const char *title, const char *subtitle,
                  const char *subtitle2, int key_rows);
/* Where the axis is then, as a share of the height. */
double plot_bottom(int key_rows);
/* Runs gnuplot. Neither file exists before both are whole. Frees the picture whatever happens. */
int picture_end(picture *p);

/* A text as gnuplot's enhanced mode shows it literally, for single quotes. */
const char *plot_escape(const char *text, char *buffer, size_t size);
/* The file's name without its folders, shortened to what a title can hold. */
const char *plot_model_name(const char *path, char *buffer, size_t size);

/* One state's rows. */
typedef struct plot_rows {
  const cli_options *options;
  const char *folder, *path; /* of the pictures; of the model */
  char from[120];            /* the state, in words */
  const sc_model *model;
  double timestep;
  int refsafe;
  const sc_problem *problem; /* ready form, with M, J and qacc_smooth */
  const sc_row_info *rows;   /* nefc, in the problem's order */
  int n;
} plot_rows;

/* A row that can be pressed as a whole: a contact's normal or a limit. */
typedef struct plot_block {
  int first, edges; /* its rows; edges > 1: of a pyramid, which act together along the normal */
  int angular;      /* 1: rad and N m, else m and N */
} plot_block;

/* The block at row i, or 0 if no contact or limit begins there. */
int plot_block_at(const plot_rows *r, int i, plot_block *block);
/* Whether the row's position is an angle. */
int plot_row_angular(const sc_model *model, const sc_row_info *row);

int plot_laws(const plot_rows *r);
int plot_batch(const job *j, const timed_solver *t);

#endif
