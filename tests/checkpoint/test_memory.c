/* Every allocation of a save, a load and an inspection fails once. */
#include "checkpoint_test.h"
#include "fail_allocator.h"

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
        pt_again(s, pith_load_as(s, NULL, "b.json", &newest) != NULL);
        pt_again(s, pith_load_as(s, NULL, "a.json", &adapted) != NULL);
        pt_again(s, pith_save(s, sim, "c.json", &background));
        pt_again(s, pith_save_wait(s));
        pt_again(s, c = pith_checkpoint_open(s, "a.json"));
        if (c && !pith_failed(s)) {
            pt_again(s, pith_checkpoint_statistics(s, c, 0, &statistics));
            pt_again(s, pith_checkpoint_path(s, c, 3));
            pt_again(s, pith_checkpoint_rows(s, c, ".atoms.position", 1, 20));
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
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 120, "%d allocations", f.allocations);
    cr_assert(ct_count_files() == 6, "nothing was left behind");
    ct_end();
}
