/* Rematerialisation of functions: the instructions of a call are a group (pithp_remat),
 * and derivations keep only what enters it. */
#include "trace/derive/derive_internal.h"

#include <string.h>

typedef struct recomputed {
    pithp_closure closure;
    pith_recompute_options options; /* with names of the scope */
} recomputed;

/* ---- What is kept ---- */

static bool is_listed(const pith_recompute_options *o, const char *name) {
    bool listed = false;
    for (int i = 0; o->names && o->names[i]; i++)
        listed |= !strcmp(o->names[i], name);
    return listed;
}

/* Keep the operand of a name too, which tangents of its instruction read. The group
 * begins with instruction `first`. */
static void keep_named(pithp_program *p, const pithp_instruction *name, int64_t first) {
    const pithp_value_info *n = &p->values[pithp_operands(p, name)[0]];
    if (n->origin != PITHP_FROM_INSTRUCTION || n->at < first)
        return;
    pithp_instruction *i = &p->instructions[n->at];
    if (!i->program_count && i->result_count == 1)
        i->remat.kept = true;
}

/* Make a group of the instructions from the first one on, and of the groups in it. */
static void make_group(pithp_program *p, int64_t first, const pith_recompute_options *o) {
    p->groups++;
    for (int64_t k = first; k < p->instruction_count; k++) {
        pithp_instruction *i = &p->instructions[k];
        i->remat.group = p->groups;
        i->remat.kept =
            o->keep == PITH_KEPT_PRODUCTS && i->primitive == PITHP_OP_DOT_GENERAL;
        if (i->primitive != PITHP_OP_NAME ||
            !is_listed(o, ((const pithp_named_params *)i->params)->name))
            continue;
        i->remat.kept = true;
        keep_named(p, i, first);
    }
}

/* ---- The function ---- */

static const void *
call_recomputed(const pith_function *self, pith_scope *s, const void *const *given) {
    const recomputed *f = self->closure;
    pithp_trace *t = pithp_scope_trace(s);
    const int64_t first = t ? t->program->instruction_count : 0;
    const void *result =
        (pith_call)(pithp_on_behalf(s), f->closure.base, self->arity, given);
    if (result && t && t->program)
        make_group(t->program, first, &f->options);
    return result;
}

static pith_status copy_names(pith_scope *s, pithp_closure *closure) {
    return pithp_derive_copy_texts(s, &((recomputed *)(void *)closure)->options.names);
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    const pith_recompute_options *o =
        &((const recomputed *)(const void *)closure)->options;
    pithp_string_add_n(text, (const char *)&o->keep, sizeof o->keep);
    for (int i = 0; o->names && o->names[i]; i++)
        pithp_string_add_n(text, o->names[i], strlen(o->names[i]) + 1);
    pithp_string_add_n(text, "", 1);
}

static const pithp_closure_kind kind = {.name = "recompute",
                                        .bytes = sizeof(recomputed),
                                        .made = copy_names,
                                        .identity = add_identity};

pith_status pithp_name_check(pith_scope *s, const char *function, const char *name) {
    return name && name[0] && strlen(name) < PITHP_NAME_BYTES
               ? PITH_OK
               : pithp_fail(s, PITH_E_ARG, NULL, "%s: a name has 1 to %d bytes", function,
                            PITHP_NAME_BYTES - 1);
}

const pith_function *pith_recompute(pith_scope *s,
                                    const pith_function *function,
                                    const pith_recompute_options *options) {
    static const char *const name = "pith_recompute";
    static const pith_recompute_options defaults;
    const pith_recompute_options *o = options ? options : &defaults;
    if (!pithp_enter(s) || pithp_function_check(s, function, name) != PITH_OK)
        return NULL;
    if ((unsigned)o->keep > PITH_KEPT_PRODUCTS)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: invalid keep: %d", name, (int)o->keep);
    for (int i = 0; o->names && o->names[i] && !pith_failed(s); i++)
        pithp_name_check(s, name, o->names[i]);
    if (pith_failed(s))
        return NULL;
    pith_function like = *function;
    like.call = call_recomputed;
    const recomputed f = {.closure = {.kind = &kind, .base = function}, .options = *o};
    const pithp_closure *made = pithp_function_make(s, &like, &f.closure);
    return made ? made->function : NULL;
}
