/* Every exported function with a sharded array in each place of an array or a tree, and
 * in all of them: it is taken where sharded leaves are values, and elsewhere the error
 * names the ways out. */
#include "base/every_call.h"

/* Functions for which a sharded leaf is a value: they use no elements, or know of shards.
 * Without a place: in every one, and in all of them. */
static const char *const taking[] = {
    /* clang-format off */
    "pith_dict_make", "pith_drop", "pith_fori",
    "pith_fori_passing", "pith_hint_of_batch", "pith_hint_of_tree",
    "pith_keep_any", "pith_lens_apply_with", "pith_lens_bind",
    "pith_lens_get", "pith_lens_set_bool_with", "pith_lens_set_f64_with",
    "pith_lens_set_i64_with", "pith_lens_set_text_with", "pith_list_make",
    "pith_name_kept_any", "pith_non_differentiable_any", "pith_numbers_end",
    "pith_partial", "pith_print", "pith_run_any",
    "pith_save", "pith_share", "pith_stop_gradient_any",
    "pith_tree_broadcast_prefix", "pith_tree_device_bytes", "pith_tree_diff",
    "pith_tree_equal", "pith_tree_flatten", "pith_tree_flatten_where",
    "pith_tree_full_like", "pith_tree_map", "pith_tree_path",
    "pith_tree_paths", "pith_tree_prefix_errors", "pith_tree_structure",
    "pith_tree_text", "pith_tree_zeros_like", "pith_tuple_make",
    "pith_unshard_local", "pith_while", "pith_while_passing",
    /* clang-format on */
    "pith_capacity_fix_any.root", /* not its sizes */
    "pith_fori_between.init",     /* not its bounds */
    "pith_fori_between_passing.init", "pith_fori_with.init",
    "pith_tree_reduce.tree",   /* not the sum so far */
    "pith_tree_all_close.all", /* the same leaf, which is close */
};

static bool takes(const row *r, const char *place) {
    char both[128];
    bool found = false;
    snprintf(both, sizeof both, "%s.%s", r->function, place);
    for (size_t k = 0; k < sizeof taking / sizeof *taking; k++)
        found |= strcmp(taking[k], both) == 0 || strcmp(taking[k], r->function) == 0;
    return found;
}

enum { NOWHERE = -1, EVERYWHERE = -2 };

static const pith_array *sharded(const good *g, const pith_array *a) {
    a = pith_shard_local(g->scope, a, PITH_SPECS({"", g->text, NULL}));
    pt_ok(g->scope, a);
    return a;
}

/* What a call comes to whose array or tree in place `at` is sharded, and its
 * error. */
static pith_status outcome(good *g, const row *r, int at, char error[200]) {
    const good before = *g;
    g->scope = pith_scope_open_in(before.scope);
    const pith_array *a = sharded(g, g->array),
                     **all[] = {&g->array, &g->index, &g->condition,
                                &g->key,   &g->flag,  &g->number};
    const void *items[8];
    for (int i = 0; i < 8; i++)
        items[i] = a;
    for (size_t i = 0; at == EVERYWHERE && i < sizeof all / sizeof *all; i++)
        *all[i] = sharded(g, *all[i]);
    if (at == EVERYWHERE)
        memcpy(g->items, items, sizeof items);
    now_function = r->function, now_parameter = r->parameter, now_bad = "sharded";
    memset(g->bytes, 0, sizeof g->bytes); /* which calls before have written to */
    r->call(g, at, r->category == 'I' ? (void *)items : (void *)(uintptr_t)a);
    const pith_status code = pith_code(g->scope);
    snprintf(error, 200, "%s", pith_message(g->scope));
    pith_clear(g->scope);
    pith_scope_close(g->scope);
    *g = before;
    return code;
}

/* Whether a call is as the list says. One that fails with plain arrays, too, tells
 * nothing if it fails. */
static bool is_as_listed(good *g, const row *r, int at, int *refused) {
    const char *place = at == EVERYWHERE ? "all" : r->parameter;
    char message[200], ignored[200];
    const pith_status code = outcome(g, r, at, message);
    const bool ways_out = strstr(message, "pith_unshard");
    *refused += ways_out;
    if (takes(r, place)
            ? code == PITH_OK
            : code != PITH_OK && (ways_out || outcome(g, r, NOWHERE, ignored)))
        return true;
    fprintf(stderr, "%s.%s: %s %s\n", r->function, place, pith_status_name(code),
            message);
    return false;
}

Test(sharded_calls, are_refused_or_known_to_be_values) {
    static good g;
    const char *last = "";
    int refused = 0, wrong = 0;
    open_good(&g);
    for (size_t i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        if (!r->is_tree || !r->after_scope)
            continue;
        wrong += !is_as_listed(&g, r, r->at, &refused);
        if (strcmp(last, r->function) != 0)
            wrong += !is_as_listed(&g, r, EVERYWHERE, &refused);
        last = r->function;
    }
    cr_assert_gt(refused, 500, "%d", refused);
    cr_assert_eq(wrong, 0, "%d calls", wrong);
    close_good(&g);
}
