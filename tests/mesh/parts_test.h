/* Trees, folders and bodies that tests of checkpoints of many ranks share. */
#ifndef MESH_PARTS_TEST_H
#define MESH_PARTS_TEST_H

#include "mesh/cases.h"
#include "mesh/fake/fake.h"
#include "pith_test.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const pith_array *position, *mass, *count, *box, *field;
    int64_t max;
    const char *name;
} PartAtoms;
PITH_NODE(PartAtoms,
          PITH_LEAF(position, "f64[max,3]", .shard = "x", .rows = "count", .fill = -1),
          PITH_LEAF(mass, "f32[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_LEAF(box, "f64[3]"),
          PITH_LEAF(field, "f32[5,m]", .shard = ";x"),
          PITH_STATIC(max),
          PITH_STATIC(name))

enum { ROWS = 1000, COLUMNS = 24 };

/* The whole tree, which every rank can make; `seed` tells states apart. */
static PT_UNUSED const PartAtoms *whole_of(pith_scope *s, double seed, int64_t n) {
    const pith_array *x = pith_iota(s, PITH_F64, PITH_SHAPE(n, 3), 0),
                     *y = pith_iota(s, PITH_F64, PITH_SHAPE(n, 3), 1);
    const pith_array *p = pith_add(s, pith_mul(s, x, 3.0), pith_add(s, y, seed));
    const PartAtoms a = {
        .position = p,
        .mass = pith_cast(s, pith_slice_at(s, p, 1, 0), PITH_F32),
        .count = pith_i64(s, n),
        .box = pith_full(s, PITH_F64, PITH_SHAPE(3), seed),
        .field = pith_add(
            s, pith_iota(s, PITH_F32, PITH_SHAPE(5, COLUMNS), 1),
            pith_mul(s, pith_iota(s, PITH_F32, PITH_SHAPE(5, COLUMNS), 0), 100.0)),
        .max = n,
        .name = "parts",
    };
    return pith_freeze(s, PartAtoms, &a);
}

/* ---- Folders ---- */

static PT_UNUSED int
remove_entry(const char *path, const struct stat *st, int flag, struct FTW *at) {
    (void)st, (void)flag, (void)at;
    return remove(path);
}

static PT_UNUSED void remove_folder(const char *folder) {
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static PT_UNUSED int count_files(const char *folder, const char *with) {
    DIR *listing = opendir(folder);
    int count = 0;
    for (struct dirent *e; (e = readdir(listing));)
        count += e->d_name[0] != '.' && strstr(e->d_name, with) != NULL;
    closedir(listing);
    return count;
}

/* ---- Ranks ---- */

typedef struct job {
    char folder[256], path[512];
    double seed;
    int64_t rows;
    bool local; /* each rank has rows of its own number */
    pith_status code;
    const char *text; /* of the error that loading must give */
} job;

static PT_UNUSED void save(fake_rank *r) {
    job *j = r->closure;
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, j->seed, j->rows), NULL);
    if (j->local) { /* uneven: rank 0 has 7 rows, rank 1 none, the others 3 */
        PartAtoms own = *(const PartAtoms *)pith_unshard_local(r->s, a);
        own.count = pith_i64(r->s, r->rank == 0 ? 7 : r->rank == 1 ? 0 : 3);
        a = pith_shard_local(r->s, pith_freeze(r->s, PartAtoms, &own), NULL);
    }
    const pith_save_options o = {.step = 17, .compress = r->closure && j->local ? 3 : 0};
    FAKE_CHECK(r, pith_save(r->s, a, j->path, &o));
    FAKE_CHECK(r, !pith_failed(r->s));
}

static PT_UNUSED bool
is_state(pith_scope *s, const void *tree, double seed, int64_t rows) {
    return pith_tree_equal(s, tree, whole_of(s, seed, rows));
}

static PT_UNUSED void load(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *a = pith_load(r->s, PartAtoms, j->path);
    FAKE_CHECK(r, !pith_failed(r->s));
    const pith_sharding how = pith_array_sharding(a->position);
    FAKE_CHECK(r, how.mesh == pith_mesh_of(r->s) && strcmp(how.axes, "x") == 0);
    FAKE_CHECK(r, how.rows == a->max && !pith_array_sharding(a->box).mesh);
    FAKE_CHECK(r, is_state(r->s, pith_unshard(r->s, a, -1), j->seed, j->rows));
}

static PT_UNUSED void run(const job *j, int size, void (*body)(fake_rank *r)) {
    const fake_result result = fake_run(&(fake_options){.size = size,
                                                        .timeout = 60,
                                                        .seed = (uint64_t)size % 2,
                                                        .closure = (void *)(uintptr_t)j},
                                        body);
    cr_assert(result.failures == 0 && !result.ended, "%d ranks: %s", size, result.report);
}

static PT_UNUSED job begin(void) {
    job j = {.seed = 1, .rows = ROWS};
    pt_folder(j.folder);
    snprintf(j.path, sizeof j.path, "%s/melt.json", j.folder);
    return j;
}

/* Without a mesh, a checkpoint of many ranks is that of the whole tree. */
static PT_UNUSED bool alone_is(const job *j, double seed, int64_t rows) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    const PartAtoms *a = pith_load(s, PartAtoms, j->path);
    const bool same = !pith_failed(s) && is_state(s, a, seed, rows);
    if (pith_failed(s))
        fprintf(stderr, "%s\n", pith_message(s));
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return same;
}

#endif
