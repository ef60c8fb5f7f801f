/* The part that is computed by functions of the user's. */
#include "lens/lens_internal.h"

#include <string.h>

static pith_status copy_function(pith_scope *s, pithp_lens_part *part) {
    part->function.name = pithp_lens_copy_text(s, part->function.name);
    return s->error.code;
}

static const void *
look_function(pith_scope *s, const pithp_lens_part *part, const void *node) {
    const pithp_call_site call = pithp_user_begins(s);
    const void *got = part->function.get(s, node, part->function.closure);
    pithp_user_ends(s, call);
    return pithp_lens_admit(s, got, part->function.name, "what get returned");
}

static const void *get_function(pith_scope *s,
                                const pithp_lens_part *parts,
                                int32_t count,
                                const void *node) {
    if (pithp_lens_present(s, node) != PITH_OK)
        return NULL;
    return pithp_lens_look_behind(s, parts, count, look_function(s, parts, node));
}

/* What a function of the user's makes of the node. */
static const void *set_function(pith_scope *s,
                                const pithp_lens_part *part,
                                const void *node,
                                const void *value) {
    if (!part->function.set) {
        pithp_fail(s, PITH_E_ARG, NULL, "the lens %s() has no set function",
                   part->function.name);
        return NULL;
    }
    const pithp_call_site call = pithp_user_begins(s);
    const void *made = part->function.set(s, node, value, part->function.closure);
    pithp_user_ends(s, call);
    made = pithp_lens_admit(s, made, part->function.name, "what set returned");
    if (!made && s->error.code == PITH_OK)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: set returned NULL, and no error",
                   part->function.name);
    return made;
}

static const void *
make_function(const pithp_lens_edits *e, const pithp_lens_edit *edit, const void *node) {
    const pithp_lens_part *parts = edit->parts;
    const void *value =
        pithp_lens_set_behind(e, parts, edit->part_count, node, edit->value);
    return e->s->error.code == PITH_OK ? set_function(e->s, parts, node, value) : NULL;
}

static void function_text(pithp_string *t, const pithp_lens_part *part) {
    /* Behind something else as a step of its own. */
    pithp_string_print(t, "%s%s()",
                       t->length && !strchr("( ", t->bytes[t->length - 1]) ? "." : "",
                       part->function.name);
}

static void add_identity(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add_n(t, (const char *)&part->function.get, sizeof part->function.get);
    pithp_string_add_n(t, (const char *)&part->function.set, sizeof part->function.set);
    pithp_string_add_n(t, (const char *)&part->function.closure,
                       sizeof part->function.closure);
}

static const pithp_lens_kind function_kind = {.copy = copy_function,
                                              .get = get_function,
                                              .set = pithp_lens_expand_computed,
                                              .make = make_function,
                                              .text = function_text,
                                              .identity = add_identity};

const pith_lens *pith_lens_function(pith_scope *s,
                                    const char *name,
                                    pith_lens_getter get,
                                    pith_lens_setter set,
                                    void *closure) {
    if (!pithp_enter(s))
        return NULL;
    if (!name || !get) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_lens_function: %s is NULL",
                   name ? "get" : "name");
        return NULL;
    }
    const pithp_lens_part part = {.kind = &function_kind,
                                  .function = {name, get, set, closure}};
    return pithp_lens_of_part(s, NULL, &part);
}
