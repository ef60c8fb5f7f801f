/* Checkpoints that one process writes as the ranks of a mesh would have: the ranks of
 * any mesh load them, and one process does. */
#include "mesh/parts_test.h"

static pith_runtime *rt;
static pith_scope *s;

static job begin_alone(void) {
    rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    s = pith_scope_open(rt);
    return begin();
}

static void end_alone(const job *j) {
    cr_assert(!pith_failed(s), "%s", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    remove_folder(j->folder);
}

/* The state of the job as a checkpoint of one process. */
static const char *plain_of(const job *j, int64_t rows) {
    static char path[300];
    snprintf(path, sizeof path, "%s/plain.json", j->folder);
    cr_assert(pith_save(s, whole_of(s, j->seed, rows), path,
                        &(pith_save_options){.step = 17,
                                             .metadata = PITH_METADATA({"run", "a"})}),
              "%s", pith_message(s));
    return path;
}

static const pith_shard_spec *const declared = PITH_SPECS({".position", "x", "count"},
                                                          {".mass", "x", ".count"},
                                                          {".field", ";x", NULL});

static bool shard(const char *from,
                  const char *to,
                  const pith_mesh_axis *axes,
                  const pith_shard_spec *specs,
                  const pith_save_options *o) {
    return pith_checkpoint_shard(s, pith_checkpoint_open(s, from), axes, specs, to, o);
}

static void verify(const char *path) {
    const pith_checkpoint *c = pith_checkpoint_open(s, path);
    cr_assert(c, "%s", pith_message(s));
    for (int64_t i = 0; i < pith_checkpoint_about(c)->leaf_count; i++)
        cr_assert(pith_checkpoint_verify(s, c, i), "%s", pith_message(s));
    cr_assert(pith_checkpoint_about(c)->step == 17);
    cr_assert(strcmp(pith_checkpoint_metadata(c, 0).value, "a") == 0);
}

Test(parts_convert, ranks_load_what_one_process_wrote) {
    static const pith_save_options ways[] = {
        {.inline_bytes = 0}, {.inline_all = true}, {.compress = 3}, {.inline_bytes = -1}};
    for (int64_t ranks = 1; ranks <= 6; ranks++) {
        if (COLUMNS % ranks)
            continue;
        job j = begin_alone();
        const char *plain = plain_of(&j, ROWS);
        cr_assert(shard(plain, j.path, PITH_MESH_AXES({"x", ranks}), declared,
                        &ways[ranks % 4]),
                  "%s", pith_message(s));
        verify(j.path);
        cr_assert(alone_is(&j, 1, ROWS));
        for (int m = 1; m <= 4; m++)
            run(&j, m, load);
        end_alone(&j);
    }
}

/* From a mesh to another: leaves without a spec stay sharded as they are. */
Test(parts_convert, another_mesh) {
    job j = begin_alone();
    run(&j, 2, save);
    const int64_t sizes[] = {3, 1, 8, 4};
    for (int i = 0; i < 4; i++) {
        cr_assert(shard(j.path, j.path, PITH_MESH_AXES({"x", sizes[i]}), NULL, NULL),
                  "%s", pith_message(s));
        cr_assert(alone_is(&j, 1, ROWS));
        run(&j, 3, load);
        cr_assert(count_files(j.folder, ".r0") <= 2 * sizes[i], "the old parts are gone");
    }
    end_alone(&j);
}

/* The same number of ranks keeps its rows. */
Test(parts_convert, keeps_uneven_rows) {
    job j = begin_alone();
    j.local = true;
    run(&j, 4, save);
    const pith_checkpoint *c = pith_checkpoint_open(s, j.path);
    const void *want = pith_load_any(s, NULL, j.path, NULL);
    cr_assert(pith_checkpoint_shard(s, c, PITH_MESH_AXES({"x", 4}), NULL, j.path,
                                    &(pith_save_options){.compress = 3}),
              "%s", pith_message(s));
    cr_assert(pith_tree_equal(s, want, pith_load_any(s, NULL, j.path, NULL)));
    cr_assert(shard(j.path, j.path, PITH_MESH_AXES({"x", 3}), NULL, NULL), "%s",
              pith_message(s));
    cr_assert(pith_tree_equal(s, want, pith_load_any(s, NULL, j.path, NULL)));
    end_alone(&j);
}

/* Several axes, in any order, in leaves of any rank. */
Test(parts_convert, meshes_of_several_axes) {
    job j = begin_alone();
    const int64_t n = 24;
    const pith_array *cube =
        pith_reshape(s, pith_arange(s, PITH_F32, n * n * n), PITH_SHAPE(n, n, n));
    const char *const keys[] = {"a=b", "cube", "flag", "one", "thin"};
    const void *tree =
        pith_dict_make(s, 5, keys,
                       (const void *const[]){
                           pith_arange(s, PITH_I64, 24), cube,
                           pith_greater(s, pith_arange(s, PITH_I32, 12), pith_i32(s, 4)),
                           pith_f64(s, 0.5), pith_zeros(s, PITH_U8, PITH_SHAPE(12, 0))});
    cr_assert(pith_save(s, tree, j.path, NULL), "%s", pith_message(s));
    static const char *const cubes[] = {"x;y;z", "z;x;y", ";;x,y", "x,z;;y", ";z,y", "y"};
    for (size_t i = 0; i < sizeof cubes / sizeof *cubes; i++) {
        const pith_shard_spec *specs = PITH_SPECS(
            {"['a=b']", "y,x", NULL}, {"['cube']", cubes[i], NULL},
            {"['flag']", "z", NULL}, {"['one']", "x", NULL}, {"['thin']", "x,y", NULL});
        cr_assert(shard(j.path, j.path, PITH_MESH_AXES({"x", 2}, {"y", 3}, {"z", 2}),
                        specs, &(pith_save_options){.compress = 1}),
                  "%s: %s", cubes[i], pith_message(s));
        cr_assert(pith_tree_equal(s, tree, pith_load_any(s, NULL, j.path, NULL)),
                  "%s: %s", cubes[i], pith_message(s));
    }
    end_alone(&j);
}

/* One process reads the parts of very many ranks, most of them without rows. */
Test(parts_convert, a_thousand_ranks, .timeout = 300) {
    enum { RANKS = 1000 };
    job j = begin_alone();
    for (int rows = 0; rows < 2000; rows += 700) {
        const char *plain = plain_of(&j, rows);
        j.rows = rows;
        cr_assert(shard(plain, j.path, PITH_MESH_AXES({"x", RANKS}),
                        PITH_SPECS({".position", "x", "count"}, {".mass", "x", "count"}),
                        NULL),
                  "%s", pith_message(s));
        cr_assert(alone_is(&j, 1, rows));
        run(&j, 3, load);
        verify(j.path);
    }
    end_alone(&j);
}

static void refuses(const job *j,
                    const pith_mesh_axis *axes,
                    const pith_shard_spec *specs,
                    pith_status code,
                    const char *text) {
    char to[320];
    snprintf(to, sizeof to, "%s/refused.json", j->folder);
    cr_assert(!shard(plain_of(j, ROWS), to, axes, specs, NULL));
    cr_assert(pith_code(s) == code && strstr(pith_message(s), text),
              "\"%s\" is not in \"%s\"", text, pith_message(s));
    pith_clear(s);
    cr_assert(count_files(j->folder, "refused") == 0, "%s", text);
}
Test(parts_convert, says_what_does_not_fit) {
    job j = begin_alone();
    const pith_mesh_axis *two = PITH_MESH_AXES({"x", 2});
    refuses(&j, NULL, declared, PITH_E_ARG, "the mesh has no axis");
    refuses(&j, PITH_MESH_AXES({"x", 0}), declared, PITH_E_ARG, "with sizes from 1 on");
    refuses(&j, PITH_MESH_AXES({"x", 2}, {"x", 2}), declared, PITH_E_ARG,
            "different names");
    refuses(&j, PITH_MESH_AXES({"x,y", 2}), declared, PITH_E_ARG, "different names");
    refuses(&j, PITH_MESH_AXES({"x", INT64_MAX}), declared, PITH_E_ARG, "at most 2^20");
    refuses(&j, two, NULL, PITH_E_ARG, "no leaf is sharded");
    refuses(&j, two, PITH_SPECS({".box", "", NULL}), PITH_E_ARG, "no leaf is sharded");
    refuses(&j, two, PITH_SPECS({".boxes", "x", NULL}), PITH_E_PATH, "\".boxes\"");
    refuses(&j, two, PITH_SPECS({".box", "x", NULL}), PITH_E_SHAPE,
            ".box: axis 0 has 3 elements, expected a multiple of the 2 ranks along x");
    refuses(&j, two, PITH_SPECS({".box", "y", NULL}), PITH_E_ARG,
            "does not have all axes");
    refuses(&j, two, PITH_SPECS({".box", ";x", NULL}), PITH_E_ARG, "is for 2 axes");
    refuses(&j, two, PITH_SPECS({".box", "x,x", NULL}), PITH_E_ARG, "named twice");
    refuses(&j, two, PITH_SPECS({".mass", "x", "many"}), PITH_E_PATH, "'many'");
    refuses(&j, two, PITH_SPECS({".mass", "x", "box"}), PITH_E_DTYPE, "counts rows");
    refuses(&j, two, PITH_SPECS({".field", ";x", "count"}), PITH_E_ARG,
            "no sharded rows");
    refuses(&j, two, PITH_SPECS({".field", "x", "count"}), PITH_E_SHAPE,
            "1000 rows of 5 are in use");
    const pith_save_options series = {.keep = 2};
    cr_assert(!shard(plain_of(&j, ROWS), j.path, two, declared, &series));
    cr_assert(pith_code(s) == PITH_E_ARG);
    pith_clear(s);
    end_alone(&j);
}
