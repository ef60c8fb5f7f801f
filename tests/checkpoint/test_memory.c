/* Every allocation of a save, a load and an inspection fails once. */
#include "checkpoint_test.h"
#include "fail_allocator.h"

/* A record of an older version, which a hook changes in every way. */
typedef struct Late {
    const pith_array *x;
    const void *tree;
    const char *text;
    const Units *units;
} Late;
static void late_1_to_2(pith_scope *s, pith_upgrade *u) {
    const Units units = {"m", "J"};
    const pith_array *x = pith_upgrade_array(s, u, ".x");
    pith_upgrade_rename(s, u, ".x", ".y");
    pith_upgrade_set(s, u, ".x", x);
    pith_upgrade_set(s, u, ".tree", pith_list_make(s, PITH_ITEMS(x, x)));
    pith_upgrade_remove(s, u, ".y");
    pith_upgrade_set_text(s, u, ".text", pith_upgrade_text(s, u, ".text"));
    pith_upgrade_set_record(s, u, ".units", pith_freeze(s, Units, &units));
}
PITH_NODE(Late,
          PITH_TYPE_VERSION(2),
          PITH_UPGRADE(1, late_1_to_2),
          PITH_LEAF(x, "f64[n]"),
          PITH_TREE(tree),
          PITH_STATIC(text),
          PITH_STATIC_RECORD(units, Units))

static void save_late(void) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Units units = {"nm", "eV"};
    const Late late = {.x = pith_arange(s, PITH_F64, 500),
                       .tree = pith_none_make(s),
                       .units = pith_freeze(s, Units, &units)};
    pt_ok(s, pith_save(s, pith_freeze(s, Late, &late), "late.json", NULL));
    ct_replace("late.json", "\"name\":\"Late\",\"version\":2",
               "\"name\":\"Late\",\"version\":1");
    pith_scope_close(s);
    pt_close(rt);
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_status code = pith_runtime_code(rt);
    pith_scope *s = pith_scope_open(rt);
    const Sim *sim = NULL;
    pith_load_options adapted = {
        .renames = PITH_RENAMES({".atoms", ".extra"}, {".timestep", ".cell.x"},
                                {".cell.x", ".timestep"}, {".extra", ".gone"}),
        .extra = true};
    const pith_save_options save = {.metadata = PITH_METADATA({"a", "b"})};
    const pith_save_options series = {.keep = 1, .incremental = true, .compress = 1};
    const pith_load_options newest = {.newest = true};
    const pith_save_options background = {.background = true};
    pith_leaf_statistics statistics;
    bool built = code == PITH_OK;
    if (built) { /* building is tested elsewhere: it only has to be survived */
        sim = make_sim(s, 200, 1);
        built = !pith_failed(s);
        code = pith_code(s);
        pith_clear(s);
    }
    if (built) {
        const pith_checkpoint *c = NULL;
        const Sim *again = NULL;
        adapted.initial = sim;
        pt_again(s, pith_save(s, sim, "a.json", &save));
        pt_again(s, (again = pith_load(s, Sim, "a.json"), !pith_failed(s)));
        pt_again(s, pith_save(s, sim, "b.json", &series));
        pt_again(s, pith_save(s, sim, "b.json", &series)); /* shares with the first */
        pt_again(s, pith_load_any(s, NULL, "b.json", &newest) != NULL);
        pt_again(s, pith_load_any(s, NULL, "a.json", &adapted) != NULL);
        pt_again(s, (pith_load(s, Late, "late.json"), !pith_failed(s)));
        pt_again(s, pith_save(s, sim, "c.json", &background));
        pt_again(s, pith_save_wait(s));
        pt_again(s, c = pith_checkpoint_open(s, "a.json"));
        if (c && !pith_failed(s)) {
            pt_again(s, pith_checkpoint_statistics(s, c, 0, &statistics));
            pt_again(s, pith_checkpoint_path(s, c, 3));
            pt_again(s, pith_checkpoint_rows(s, c, ".atoms.position", 1, 20));
            pt_again(s, pith_checkpoint_save(s, c, pith_checkpoint_about(c)->leaf_count,
                                             NULL, "d.json", NULL));
        }
        code = pith_code(s);
        pith_clear(s);
        if (code == PITH_OK && again)
            cr_assert(pith_array_spec(again->atoms->position)->count == 600);
    }
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(memory, may_fail_at_every_allocation, .timeout = 120) {
    ct_begin();
    save_late();
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 160, "%d allocations", f.allocations);
    cr_assert(ct_count_files() == 10, "nothing was left behind");
    ct_end();
}
