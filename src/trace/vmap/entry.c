/* Calls of functions over entries: the record of one entry, and the program of all. */
#include "trace/vmap/entry.h"

#include "program/vmap/chunk.h"

#include <stdio.h>

pith_status pithp_entry_prefix(pith_scope *s, int argument) {
    char text[16];
    snprintf(text, sizeof text, "[%d]", argument);
    pithp_error_prefix(s, text);
    return s->error.code;
}

void pithp_entry_begin(pithp_entry_call *c,
                       pith_scope *s,
                       const pithp_entry_rules *rules,
                       const pith_function *f) {
    c->s = s;
    c->trace = pithp_scope_trace(s);
    c->rules = rules;
    c->f = f;
}

void pithp_entry_end(pithp_entry_call *c) {
    for (int i = 0; i < c->argument_count; i++)
        pithp_flat_end(&c->arguments[i]);
    pithp_rule_checks_end(&c->rule_checks);
    if (c->recorded)
        pithp_part_end(&c->part);
}

pith_status pithp_entry_flatten(pithp_entry_call *c, int i, const void *tree) {
    const pith_status rc = pithp_flat_make(c->s, &c->arguments[i], tree, NULL, NULL);
    c->argument_count += rc == PITH_OK;
    return rc;
}

/* ---- One entry ---- */

pith_status pithp_entry_describe(pithp_entry_call *c, int i) {
    const pithp_flat *f = &c->arguments[i];
    const int64_t count = f->structure.item_count;
    c->known[i] = pithp_scope_allocate(c->s, (size_t)count + 1);
    c->specs[i] = pithp_scope_allocate(c->s, ((size_t)count + 1) * sizeof *c->specs[i]);
    if (!c->known[i] || !c->specs[i])
        return c->s->error.code;
    for (int64_t k = 0; k < count; k++) {
        const pith_array *a = f->items[k];
        bool shared = false;
        const pith_status rc = c->rules->sharded
                                   ? pithp_leaf_check(c->s, a, c->f->name, "argument")
                                   : pithp_operand_check(c->s, a, c->f->name, "argument");
        if (rc != PITH_OK) {
            pithp_item_prefix(c->s, &f->structure, k);
            return pithp_entry_prefix(c->s, i);
        }
        if (!(c->specs[i][k] = c->rules->spec(c, i, k, &shared)))
            break;
        c->known[i][k] = shared && !pithp_array_is_traced(a);
    }
    return c->s->error.code;
}

pith_status pithp_entry_record(pithp_entry_call *c) {
    pithp_part_call part = {.function = c->rules->function,
                            .body = c->f,
                            .captured = &c->captured,
                            .argument_count = c->argument_count,
                            .sharded_results = c->rules->sharded};
    if (pithp_part_capture(c->s, &c->captured, c->f) != PITH_OK)
        return c->s->error.code;
    for (int i = 0; i < c->argument_count; i++) {
        part.arguments[i] = &c->arguments[i];
        part.known[i] = c->known[i];
        part.specs[i] = c->specs[i];
    }
    c->recorded = true;
    const pith_status rc = pithp_part_record(c->s, &c->part, &part);
    if (c->part.refused) {
        pithp_entry_prefix(c->part.scope, c->part.refused - 1);
        pithp_error_context(c->part.scope, "%s: %s: %s", c->rules->function, c->f->name,
                            c->rules->refusal);
    }
    return rc;
}

/* ---- All entries ---- */

static pith_status add_input(pithp_entry_call *c, int64_t at, const pith_array *a) {
    if (a)
        c->inputs[at] = pithp_trace_value(c->s, c->trace, a);
    return c->s->error.code;
}

pith_status pithp_entry_inputs(pithp_entry_call *c) {
    const pithp_program *p = c->part.program;
    const size_t count = (size_t)(p->input_count + p->output_count) + 1;
    int64_t n = 0;
    if (!(c->inputs = pithp_scope_allocate(c->s, count * sizeof *c->inputs)))
        return c->s->error.code;
    c->outputs = c->inputs + p->input_count;
    pith_status rc = PITH_OK;
    for (; n < c->captured.count && rc == PITH_OK; n++)
        rc = add_input(c, n, c->captured.arrays[n]);
    for (int i = 0; i < c->argument_count; i++)
        for (int64_t k = 0; k < c->arguments[i].structure.item_count && rc == PITH_OK;
             k++)
            if (!c->known[i][k]) {
                rc = add_input(c, n, c->rules->input(c, i, k, n));
                n++;
            }
    return rc;
}

pithp_program *pithp_entry_batch(const pithp_entry_call *c,
                                 const pithp_program *p,
                                 int64_t size,
                                 int64_t chunk,
                                 const bool *batched,
                                 bool *outputs_batched) {
    const bool chosen = !chunk && !c->trace->derived;
    const pithp_chunk_options options = {
        .chunk = chosen  ? pithp_program_vmap_block(c->s, p, size, batched)
                 : chunk ? chunk
                         : INT64_MAX,
        .concurrent = chosen,
        .steps = c->trace->derived ? 1 : pithp_program_vmap_steps(c->s)};
    return pithp_program_vmap_chunks(c->s, p, size, &options, batched, outputs_batched);
}

pith_status pithp_entry_add(pithp_entry_call *c, pithp_program *all) {
    if (all)
        pithp_rule_checks_inline(c->s, all, c->inputs, c->outputs, &c->rule_checks);
    else
        pithp_error_context(c->s, "%s: %s", c->rules->function, c->f->name);
    pithp_program_release(all);
    return c->s->error.code;
}
