/* Digests of programs, by which the ranks of a mesh find out whether they run the same
 * one, and which part differs. Everything is hashed as text or bytes that have no
 * address. */
#include "mesh/mesh_internal.h"
#include "program/ir/program.h"

#include <stdio.h>
#include <string.h>

/* A walk over all parts. */
typedef struct walk {
    pith_scope *s;
    pith_runtime *rt;
    uint64_t hash;
    int64_t count;
    int64_t at;              /* the part that is described; -1: none */
    pithp_intent_part *part; /* of it */
    bool failed;
} walk;

static void add_bytes(walk *w, const void *bytes, size_t n) {
    w->hash = pithp_hash(w->hash, bytes, n);
}

static void add_text(walk *w, const char *text) {
    add_bytes(w, text, strlen(text) + 1);
}

static void end_part(walk *w, const char *operation, const char *site, const char *what) {
    if (w->count++ != w->at)
        return;
    w->part->digest = w->hash;
    w->part->operation = operation;
    w->part->site = site;
    snprintf(w->part->what, sizeof w->part->what, "%.*s", (int)sizeof w->part->what - 1,
             what);
}

static void add_spec(walk *w, const pith_spec *spec, char text[PITHP_SPEC_TEXT_BYTES]) {
    add_text(w, pithp_spec_print(spec, text));
}

/* ---- Constants ---- */

/* Elements on a device that the host does not reach. */
static bool add_far(walk *w, const char *data, size_t bytes) {
    char some[8192];
    bool fine = true;
    for (size_t at = 0; at < bytes && fine; at += sizeof some) {
        const size_t n = bytes - at < sizeof some ? bytes - at : sizeof some;
        fine = pithp_copy_out(w->s, some, data + at, n) == PITH_OK;
        if (fine)
            add_bytes(w, some, n);
    }
    return fine;
}

static void add_elements(walk *w, const pithp_constant *c, size_t bytes) {
    if (!c->buffer) {
        add_bytes(w, c->data, bytes);
        return;
    }
    if (w->failed || !bytes)
        return;
    const bool reached = pithp_scope_device(w->s)->backend->addressable;
    if (pithp_buffer_read(w->s, c->buffer) != PITH_OK ||
        pithp_stream_drain(w->s) != PITH_OK || (!reached && !add_far(w, c->data, bytes)))
        w->failed = true;
    else if (reached)
        add_bytes(w, c->data, bytes);
}

static void add_constant(walk *w, const pithp_program *p, const pithp_constant *c) {
    char text[PITHP_SPEC_TEXT_BYTES];
    const pith_spec *spec = pithp_value_spec(p, c->value);
    add_spec(w, spec, text);
    add_elements(w, c, spec->bytes);
    end_part(w, "a program with a constant", NULL, text);
}

/* ---- Instructions ---- */

static void add_params(walk *w, const pithp_program *p, const pithp_instruction *i) {
    const pith_spec *first =
        i->operand_count ? pithp_value_spec(p, pithp_operands(p, i)[0]) : NULL;
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, &first, i->params);
    pithp_string text;
    if (!i->params)
        return;
    pithp_string_begin(&text, w->rt);
    pithp_params_text(&call, &text);
    add_bytes(w, text.bytes, text.length);
    w->failed |= text.failed;
    pithp_string_end(&text);
}

static void describe(const pithp_program *p,
                     const pithp_instruction *i,
                     char what[PITHP_WHAT_BYTES]) {
    char text[PITHP_SPEC_TEXT_BYTES];
    const pithp_collective_params *params =
        pithp_is_collective(i->primitive) ? i->params : NULL;
    const pith_spec *first =
        i->operand_count ? pithp_value_spec(p, pithp_operands(p, i)[0]) : NULL;
    snprintf(what, PITHP_WHAT_BYTES, "%.90s%s%.50s",
             first ? pithp_spec_print(first, text) : "", params ? " over " : "",
             params ? params->group->axes : "");
}

static void add_program(walk *w, const pithp_program *p);

static void add_instruction(walk *w, const pithp_program *p, const pithp_instruction *i) {
    char what[PITHP_WHAT_BYTES], text[PITHP_SPEC_TEXT_BYTES];
    add_text(w, pithp_ops[i->primitive].name);
    add_bytes(w, pithp_operands(p, i), (size_t)i->operand_count * sizeof(pithp_value));
    add_params(w, p, i);
    for (int k = 0; k < i->result_count; k++)
        add_spec(w, pithp_value_spec(p, i->result + k), text);
    describe(p, i, what);
    end_part(w, pithp_ops[i->primitive].name, i->site, what);
    for (int k = 0; k < i->program_count; k++)
        add_program(w, i->programs[k]);
}

static void add_program(walk *w, const pithp_program *p) {
    char text[PITHP_SPEC_TEXT_BYTES];
    pithp_graph_walk graph = {.program = p};
    const pithp_instruction *i;
    pithp_value v;
    while (pithp_graph_next(&graph, &v, &i)) {
        if (i) {
            add_instruction(w, p, i);
        } else if (p->values[v].origin == PITHP_FROM_CONSTANT) {
            add_constant(w, p, &p->constants[p->values[v].at]);
        } else {
            add_spec(w, pithp_value_spec(p, v), text);
            end_part(w, "a program with an argument", NULL, text);
        }
    }
    add_bytes(w, p->outputs, (size_t)p->output_count * sizeof *p->outputs);
    add_text(w, p->has_checks ? "checks" : "");
    end_part(w, "a program with other results", NULL, "");
}

/* ---- The digest ---- */

uint64_t pithp_program_digest(pith_scope *s, const pithp_program *p) {
    walk w = {.s = s, .rt = s->runtime, .at = -1};
    add_program(&w, p);
    if (w.failed && s->error.code == PITH_OK)
        pithp_fail_memory(s, PITHP_LITERAL_BYTES);
    return w.failed ? 0 : w.hash ? w.hash : 1;
}

int64_t pithp_program_parts(const void *closure) {
    const pithp_parts *of = closure;
    walk w = {.s = of->s, .rt = of->s->runtime, .at = -1};
    add_program(&w, of->p);
    return w.count;
}

void pithp_program_part(const void *closure, int64_t k, pithp_intent_part *part) {
    const pithp_parts *of = closure;
    walk w = {.s = of->s, .rt = of->s->runtime, .at = k, .part = part};
    add_program(&w, of->p);
}
