/* Refusals by variance: collectives that not all ranks would make, and values that are
 * not replicated as claimed; and the log of draws that are equal on all ranks by mistake.
 */
#include "base/log.h"
#include "mesh/mesh_internal.h"
#include "program/vary/area.h"

#include <stdio.h>
#include <string.h>

typedef struct checking {
    pith_scope *s;
    const pith_mesh *mesh;
} checking;

/* A place where a program runs: what decides on that, and the place around. */
typedef struct frame {
    const struct frame *outer;
    const pithp_instruction *decides; /* NULL: the whole program */
    pithp_axis_set varies;            /* its predicate, or number of iterations */
    const pithp_area *area;           /* that it is in */
} frame;

static const char *at(const char *site) {
    return site ? pithp_site_name(site) : "an unknown place";
}

/* ---- Collectives ---- */

/* ", because X at FILE:LINE does", or "" if that is not known. */
static void print_cause(const checking *c,
                        const frame *f,
                        pithp_axis_set axes,
                        char *text,
                        size_t room) {
    const pithp_instruction *i = pithp_area_cause(c->s, f->area, f->decides, axes);
    text[0] = 0;
    if (i)
        snprintf(text, room, ", because %s at %s does", pithp_ops[i->primitive].name,
                 at(i->site));
}

static bool refuse_collective(const checking *c,
                              const pithp_instruction *i,
                              const frame *f,
                              pithp_axis_set axes) {
    const bool loops = f->decides->primitive == PITHP_OP_WHILE;
    char over[PITHP_AXES_BYTES], cause[160];
    pithp_mesh_axes_text(c->mesh, axes, over);
    print_cause(c, f, axes, cause, sizeof cause);
    pithp_fail_at(
        c->s, PITH_E_DIVERGED, NULL, i->site,
        "%s is in a %s at %s whose %s varies over %s%s, so that some ranks would "
        "wait for others: make it equal on these ranks with pith_pmax",
        pithp_ops[i->primitive].name, loops ? "loop" : "branch", at(f->decides->site),
        loops ? "number of iterations" : "predicate", over, cause);
    return false;
}

/* All ranks along its axes make a collective. */
static bool
check_collective(const checking *c, const pithp_instruction *i, const frame *inner) {
    const pithp_axes_of_row row = pithp_axes_of(i);
    for (const frame *f = inner; row.moves_data && f; f = f->outer)
        if (f->varies & row.axes)
            return refuse_collective(c, i, f, f->varies & row.axes);
    return true;
}

/* ---- Expectations ---- */

/* The entries of a batch choose between branches with collectives. */
static bool
refuse_choice(const checking *c, const pithp_instruction *i, pithp_axis_set axes) {
    char over[PITHP_AXES_BYTES];
    pithp_mesh_axes_text(c->mesh, axes, over);
    pithp_fail_at(c->s, PITH_E_DIVERGED, NULL, i->site,
                  "in a batch, a branch with collectives over %s has a predicate that "
                  "varies over %s, so that some ranks would leave out entries of others: "
                  "make it equal on these ranks with pith_pmax",
                  over, over);
    return false;
}

/* A derivative was recorded in a loop whose carries were not known yet, and the loop was
 * not recorded again. */
static bool
check_expectation(const checking *c, const pithp_area *a, const pithp_instruction *i) {
    const pithp_axis_set axes = pithp_area_mistakes(a, i);
    char over[PITHP_AXES_BYTES];
    if (!axes)
        return true;
    if (pithp_is_choice(i))
        return refuse_choice(c, i, axes);
    pithp_mesh_axes_text(c->mesh, axes, over);
    pithp_fail_at(
        c->s, PITH_E_DERIVATIVE, NULL, i->site,
        "a derivative in a loop needs to know over which axes its arguments "
        "vary: a carry is replicated along %s before the loop, and varies after "
        "an iteration; let it vary from the beginning, or reduce it with "
        "pith_psum",
        over);
    return false;
}

/* ---- Draws ---- */

/* Where a value was drawn; NULL: outside of the program, or unknown. */
static const char *drawn_at(const pithp_area *a, pithp_value v, pithp_axis_set axes) {
    for (;;) {
        const pithp_instruction *i = pithp_maker(a->program, v);
        if (!i || i->program_count)
            return NULL;
        if (pithp_draws(i))
            return i->site;
        int k = 0;
        while (k < i->operand_count &&
               !(a->drawn[pithp_operands(a->program, i)[k]] & axes))
            k++;
        if (k == i->operand_count)
            return NULL;
        v = pithp_operands(a->program, i)[k];
    }
}

static void log_draw(const checking *c,
                     const pithp_instruction *i,
                     const char *drawn,
                     pithp_axis_set axes) {
    char along[PITHP_AXES_BYTES];
    uint64_t key = pithp_hash(0, &axes, sizeof axes);
    key = pithp_hash(key, at(drawn), strlen(at(drawn)));
    if (!pithp_mesh_tells(c->mesh, key)) /* programs are checked by part and as a whole */
        return;
    pithp_mesh_axes_text(c->mesh, axes, along);
    pithp_log(c->s->runtime, PITH_LOG_WARNING,
              "random numbers%s%s are equal on all ranks along %s, and %s at %s combines "
              "them with values that vary: fold the rank into the key with "
              "pith_random_fold_in and pith_axis_index",
              drawn ? " of " : "", drawn ? pithp_site_name(drawn) : "", along,
              pithp_ops[i->primitive].name, at(i->site));
}

/* A draw with a key that is replicated along an axis, and a value that varies over it. */
static void
check_draws(const checking *c, const pithp_area *a, const pithp_instruction *i) {
    const pithp_value *operands = pithp_operands(a->program, i);
    pithp_axis_set varies = 0;
    for (int32_t k = 0; k < i->operand_count; k++)
        varies |= a->varies[operands[k]];
    for (int32_t k = 0; k < i->operand_count; k++) {
        const pithp_value v = operands[k];
        const pithp_axis_set axes = a->drawn[v] & ~a->varies[v] & varies;
        if (axes)
            log_draw(c, i, drawn_at(a, v, axes), axes);
    }
}

/* ---- Programs ---- */

static bool check_area(checking *c, const pithp_area *a, const frame *f) {
    const pithp_area *inner = a->inner;
    for (int64_t n = 0; n < a->program->instruction_count; n++) {
        const pithp_instruction *i = &a->program->instructions[n];
        const frame within = {f, i, pithp_area_decision(a, i, inner), a};
        if (!check_collective(c, i, f) || !check_expectation(c, a, i))
            return false;
        if (!i->program_count)
            check_draws(c, a, i);
        for (int32_t k = 0; k < i->program_count; k++)
            if (!check_area(c, &inner[k], within.varies ? &within : f))
                return false;
        inner += i->program_count;
    }
    return true;
}

/* ---- Claims ---- */

/* The instruction from which on a value varies over an axis; NULL: an input does. */
static const pithp_instruction *
varies_since(const pithp_area *a, pithp_value *v, pithp_axis_set axes) {
    for (;;) {
        const pithp_instruction *i = pithp_maker(a->program, *v);
        const pithp_value *operands = i ? pithp_operands(a->program, i) : NULL;
        int k = 0;
        while (i && k < i->operand_count && !(a->varies[operands[k]] & axes))
            k++;
        if (!i || k == i->operand_count)
            return i;
        *v = operands[k];
    }
}

static bool refuse_value(const checking *c,
                         const pithp_area *a,
                         const pithp_variance_claim *claim,
                         int64_t k,
                         pithp_axis_set axes) {
    pithp_value v = claim->values[k];
    const pithp_instruction *maker = pithp_maker(a->program, v),
                            *since = varies_since(a, &v, axes);
    char over[PITHP_AXES_BYTES], from[160];
    pithp_mesh_axes_text(c->mesh, axes, over);
    if (since)
        snprintf(from, sizeof from, "%s at %s", pithp_ops[since->primitive].name,
                 at(since->site));
    else
        snprintf(from, sizeof from, "input %d", (int)a->program->values[v].at);
    pithp_fail_at(
        c->s, PITH_E_DIVERGED, claim->names ? claim->names[k] : NULL,
        maker ? maker->site : NULL,
        "%s%sthe result varies over %s, because %s does, and its spec says that "
        "it is replicated: reduce it with pith_psum, or name %s in the spec",
        claim->function ? claim->function : "", claim->function ? ": " : "", over, from,
        over);
    return false;
}

static bool check(checking *c,
                  pithp_area *a,
                  const pithp_program *p,
                  const pithp_variance_claim *claim,
                  pithp_axis_set *varies) {
    if (!pithp_area_analyse(c->s, a, p, claim->inputs) || !check_area(c, a, NULL))
        return false;
    for (int64_t k = 0; k < claim->count; k++) {
        varies[k] = a->varies[claim->values[k]];
        if (claim->most && (varies[k] & ~claim->most[k]))
            return refuse_value(c, a, claim, k, varies[k] & ~claim->most[k]);
    }
    return true;
}

bool pithp_program_check_variance(pith_scope *s,
                                  const pithp_program *p,
                                  const pithp_variance_claim *claim,
                                  pithp_axis_set *varies) {
    pith_scope *work = pith_scope_open_in(s);
    if (!pithp_scope_writable(work)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return false;
    }
    checking c = {.s = work, .mesh = claim->mesh};
    pithp_area area = {.program = NULL};
    const bool fine = check(&c, &area, p, claim, varies);
    pith_scope_close(work); /* its error moves to s */
    return fine;
}
