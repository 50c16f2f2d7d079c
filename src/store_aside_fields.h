/* What an environment set aside is made of: one table for the writer and the reader. */
#ifndef SC_STORE_ASIDE_FIELDS_H
#define SC_STORE_ASIDE_FIELDS_H

#include "store_aside.h"

/* Numbers and words that are attributes of its group. Words are those of the command line. */
#define ASIDE_INTS(F)                                                                                                  \
  F(env, env)                                                                                                          \
  F(run, run)                                                                                                          \
  F(rows_by_mujoco, rows_by_mujoco)                                                                                    \
  F(status, status)                                                                                                    \
  F(flags, flags)                                                                                                      \
  F(iterations, iterations)                                                                                            \
  F(bad, bad)                                                                                                          \
  F(sig, sig)                                                                                                          \
  F(nv, problem.nv)                                                                                                    \
  F(nefc, problem.nefc)                                                                                                \
  F(ncon, problem.ncon)                                                                                                \
  F(method, options.method)                                                                                            \
  F(precision, options.precision)                                                                                      \
  F(max_iterations, options.iterations)                                                                                \
  F(ls_iterations, options.ls_iterations)                                                                              \
  F(warmstart, options.warmstart)                                                                                      \
  F(retry, options.retry)                                                                                              \
  F(noslip_iterations, options.noslip_iterations)
#define ASIDE_REALS(F)                                                                                                 \
  F(gap, gap)                                                                                                          \
  F(gap_floor, gap_floor)                                                                                              \
  F(qacc_bound, qacc_bound)                                                                                            \
  F(objective, objective)                                                                                              \
  F(tolerance, options.tolerance)                                                                                      \
  F(ls_tolerance, options.ls_tolerance)                                                                                \
  F(noslip_tolerance, options.noslip_tolerance)

/* How many numbers an array has. */
enum { OF_DOFS, OF_ROWS, OF_CONTACTS, OF_FRICTION, OF_M, OF_J, OF_STATE, OF_COUNT };

/* Arrays: dataset, member, whether it is of int, count, whether it must be there where the count is not 0. */
#define ASIDE_ARRAYS(F)                                                                                                \
  F(M_rownnz, problem.M_rownnz, 1, OF_DOFS, 1)                                                                         \
  F(M_rowadr, problem.M_rowadr, 1, OF_DOFS, 1)                                                                         \
  F(M_colind, problem.M_colind, 1, OF_M, 1)                                                                            \
  F(M, problem.M, 0, OF_M, 1)                                                                                          \
  F(qfrc_smooth, problem.qfrc_smooth, 0, OF_DOFS, 0)                                                                   \
  F(qacc_smooth, problem.qacc_smooth, 0, OF_DOFS, 0)                                                                   \
  F(qacc_warmstart, problem.qacc_warmstart, 0, OF_DOFS, 0)                                                             \
  F(efc_type, problem.efc_type, 1, OF_ROWS, 1)                                                                         \
  F(efc_id, problem.efc_id, 1, OF_ROWS, 0)                                                                             \
  F(J_rownnz, problem.J_rownnz, 1, OF_ROWS, 1)                                                                         \
  F(J_rowadr, problem.J_rowadr, 1, OF_ROWS, 1)                                                                         \
  F(J_colind, problem.J_colind, 1, OF_J, 1)                                                                            \
  F(efc_J, problem.efc_J, 0, OF_J, 1)                                                                                  \
  F(efc_frictionloss, problem.efc_frictionloss, 0, OF_ROWS, 0)                                                         \
  F(efc_pos, problem.efc_pos, 0, OF_ROWS, 0)                                                                           \
  F(efc_margin, problem.efc_margin, 0, OF_ROWS, 0)                                                                     \
  F(efc_vel, problem.efc_vel, 0, OF_ROWS, 0)                                                                           \
  F(efc_D, problem.efc_D, 0, OF_ROWS, 1)                                                                               \
  F(efc_aref, problem.efc_aref, 0, OF_ROWS, 1)                                                                         \
  F(contact_dim, problem.contact_dim, 1, OF_CONTACTS, 1)                                                               \
  F(contact_friction, problem.contact_friction, 0, OF_FRICTION, 1)                                                     \
  F(contact_mu, problem.contact_mu, 0, OF_CONTACTS, 0)                                                                 \
  F(qacc, qacc, 0, OF_DOFS, 0)                                                                                         \
  F(efc_force, efc_force, 0, OF_ROWS, 0)                                                                               \
  F(state, state, 0, OF_STATE, 0)

/* Version of the format, an attribute of the file that says what it is. */
#define ASIDE_MARK "softcon_set_aside"
#define ASIDE_VERSION 1

#endif
