/* A save and a load by one rank, in which each allocation fails once. */
#ifndef MESH_PARTS_MEMORY_H
#define MESH_PARTS_MEMORY_H

#include "fail_allocator.h"
#include "mesh/parts_test.h"

static struct {
    char path[512];
    const pith_save_options *how;
} parts_saved;

static pith_status save_and_load(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    pt_again(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    const PartAtoms *whole = whole_of(s, 1, 3);
    const PartAtoms *a = pith_code(s) == PITH_OK ? pith_shard(s, whole, NULL) : NULL;
    if (a && a->position) {
        pt_again(s, pith_save(s, a, parts_saved.path, parts_saved.how));
        if (pith_code(s) == PITH_OK)
            pith_save_wait(s);
        if (pith_code(s) == PITH_OK)
            pt_again(s, pith_load(s, PartAtoms, parts_saved.path)->position);
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

/* In the end there are a document, a part, and perhaps `spare` files of a failed save. */
static void survives_short_memory(const pith_save_options *how, int least, int spare) {
    job j = begin();
    snprintf(parts_saved.path, sizeof parts_saved.path, "%s", j.path);
    parts_saved.how = how;
    const pt_failures result = pt_fail_each(save_and_load);
    cr_assert(result.allocations > least, "%d", result.allocations);
    const int files = count_files(j.folder, "");
    cr_assert(files >= 2 && files <= 2 + spare, "%d", files);
    remove_folder(j.folder);
}

#endif
