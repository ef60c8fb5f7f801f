/* Cases of collectives that run on any number of ranks, over MPI and over threads. Every
 * rank knows the data of all: what a collective gives is compared with what one rank
 * computes alone. */
#ifndef MESH_CASES_H
#define MESH_CASES_H

#include <pith/pith.h>

typedef struct mesh_test {
    pith_scope *s; /* with the mesh "x" of all ranks */
    int64_t rank, size;
    int failures;
    const char *name;
    const void *closure; /* what mesh_run_cases was given */
} mesh_test;

typedef struct mesh_case {
    const char *name;
    void (*run)(mesh_test *t);
} mesh_case;

/* Ended by a NULL name: eager calls; those of rows in use, and of more than fit; compiled
 * functions; decisions; what one rank alone finds; runs, also of sharded states; halos;
 * routes, also of trees; sharded trees; functions over them, within each other, in
 * control flow, their derivatives in all modes and checks of these, and batches of them;
 * hostile programs;
 * wrong arguments; random sequences. */
extern const mesh_case mesh_cases[], mesh_in_use_cases[], mesh_in_use_grow_cases[],
    mesh_hostile_cases[], mesh_program_cases[], mesh_decision_cases[], mesh_alone_cases[],
    mesh_cases_of_runs[], mesh_cases_of_shard_runs[], mesh_halo_cases[],
    mesh_route_cases[], mesh_route_tree_cases[], mesh_route_error_cases[],
    mesh_shard_cases[], mesh_shard_map_cases[], mesh_shard_nest_cases[],
    mesh_shard_flow_cases[], mesh_shard_derive_cases[], mesh_shard_mode_cases[],
    mesh_shard_value_cases[], mesh_shard_batch_cases[], mesh_shard_check_cases[],
    mesh_wrong_cases[], mesh_random_cases[];

/* Run all cases, or those of a name, in scopes of their own within s. Returns the number
 * of failed checks; lines on stderr tell them. */
int mesh_run_cases(pith_scope *s, const char *only);
/* Those of one list. Cases of runs need a folder that all ranks see: MESH_FOLDER. */
int mesh_run_list(pith_scope *s,
                  const mesh_case *list,
                  const char *only,
                  const void *closure);

/* Three steps with a repair of each kind; false: the scope has failed. */
bool mesh_grow(mesh_test *t);

void mesh_failed(mesh_test *t, const char *file, int line, const char *what);
#define MESH_CHECK(t, ...)                                                               \
    ((__VA_ARGS__) ? (void)0 : mesh_failed((t), __FILE__, __LINE__, #__VA_ARGS__))

/* The data of a rank, which every rank can make. */
const pith_array *
mesh_data(mesh_test *t, int64_t rank, pith_dtype dtype, pith_shape shape);
bool mesh_equal(mesh_test *t, const pith_array *a, const pith_array *b); /* by bits */
bool mesh_fails(mesh_test *t, pith_status code, const char *text); /* and clears it */

#endif
