/* Text of residuals: what a derivation in reverse mode keeps of the computation of the
 * value. The program of pith_vjp is recorded for it, and not run. */
#include "base/in_flight.h"
#include "program/ir/program.h"
#include "trace/derive/derive_internal.h"
#include "trace/jit/jit_internal.h"

/* The leaf that input `at` of a program is: "[0].position". */
static void
add_input(pithp_string *text, pith_runtime *rt, const pithp_jit_program *p, int64_t at) {
    const pithp_jit_key *key = &p->key;
    int64_t item = 0;
    for (int64_t t = 0; t < key->tree_count; t++) {
        const pithp_structure *tree = &key->trees[t];
        for (int64_t k = 0; k < tree->item_count; k++, item++) {
            if ((key->is_static && key->is_static[item]) || at-- > 0)
                continue;
            if (t < key->argument_count)
                pithp_string_print(text, "argument [%lld]", (long long)t);
            else
                pithp_string_print(text, "bound tree %lld",
                                   (long long)(t - key->argument_count));
            pithp_structure_path(rt, tree, k, text);
            return;
        }
    }
}

/* What makes output k, and whether it is kept in memory of its own. */
static bool
add_origin(pithp_string *text, pith_runtime *rt, const pithp_jit_program *p, int64_t k) {
    const pithp_program *program = p->plan->program;
    const pithp_jit_leaf *leaf = &p->outputs.leaves[k];
    const pithp_instruction *i = pithp_maker(program, program->outputs[k]);
    const bool own = leaf->source == PITHP_LEAF_MADE;
    if (leaf->source == PITHP_LEAF_INPUT)
        add_input(text, rt, p, leaf->at);
    else if (i)
        pithp_string_print(text, "%s at %s", pithp_ops[i->primitive].name,
                           i->site ? pithp_site_name(i->site) : "an unknown line");
    else
        pithp_string_add(text, "a constant");
    if (!own)
        pithp_string_add(text, leaf->source == PITHP_LEAF_SAME ? ", part of the results"
                                                               : ", not copied");
    return own;
}

static void add_residuals(pithp_string *text,
                          pith_runtime *rt,
                          const pithp_jit_program *p,
                          const pithp_linear *linear) {
    const int64_t values = linear->argument.item_count;
    size_t made = 0, shared = 0;
    for (int64_t k = values; k < values + linear->residual_count; k++) {
        const pith_spec *spec = p->outputs.leaves[k].spec;
        char shape[PITHP_SPEC_TEXT_BYTES];
        pithp_string_print(text, "%zu bytes, %s: ", spec->bytes,
                           pithp_spec_print(spec, shape));
        *(add_origin(text, rt, p, k) ? &made : &shared) += spec->bytes;
        pithp_string_add(text, "\n");
    }
    pithp_string_print(text, "%zu bytes in all, and %zu bytes not copied\n", made,
                       shared);
}

/* The program of pith_vjp, recorded if not cached, with a reference. NULL: error set. */
static pithp_jit_program *program_of(pith_scope *s,
                                     const pith_function *f,
                                     const void *const *arguments,
                                     const pith_derive_options *o) {
    pith_function like = *f;
    like.result = NULL;
    const pith_function *derived = pithp_derived_compile(
        s, pithp_derived_make(s, &pithp_vjp_kind, f, &like, NULL, o), f);
    return derived ? pithp_jit_program_of(s, pithp_jit_closure_of(derived), arguments)
                   : NULL;
}

const char *pith_residual_text(pith_scope *s,
                               const pith_function *function,
                               int64_t count,
                               const void *const *arguments,
                               const pith_derive_options *options) {
    static const char *const name = "pith_residual_text";
    PITHP_IN_FLIGHT(s, "pith_residual_text");
    pith_derive_options o;
    if (!pithp_enter_untraced(s, name) ||
        pithp_derive_check(s, name, function, options, &o) != PITH_OK ||
        pithp_jit_check_count(s, function, count, arguments, name) != PITH_OK ||
        pithp_arguments_check(s, function, arguments) != PITH_OK)
        return NULL;
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    pithp_jit_program *p = program_of(work, function, arguments, &o);
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    if (p && p->attached)
        add_residuals(&text, s->runtime, p, (const pithp_linear *)(void *)p->attached);
    if (p)
        pithp_jit_program_release(p);
    pith_scope_close(work); /* its error moves to s */
    const char *made = pithp_string_finish(s, &text);
    return pith_failed(s) ? NULL : made;
}
