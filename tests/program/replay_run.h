/* Random programs run by plans of another device than the one that computed what they
 * give. */
#ifndef PITH_TESTS_REPLAY_RUN_H
#define PITH_TESTS_REPLAY_RUN_H

#include "program/exec/executable.h"
#include "program/pass/pass.h"
#include "random_file.h"

#include <pith/runtime.h>

typedef struct bench {
    pith_runtime *host, *device;
    pith_scope *s, *on; /* of the host, of the device */
} bench;

/* The program of a recipe: of the host's specs, and with no memory of either. */
static inline pithp_program *program_of(const bench *b, const recipe *r, bool passes) {
    pithp_program *p = recipe_program(r);
    if (!passes)
        return p;
    pithp_program *better = pithp_program_optimise(b->s, p, PITHP_PASS_ALL);
    pt_ok(b->s, better);
    pithp_program_release(p);
    return better;
}

/* Of the last run that failed. */
static char run_message[1024];

/* A run in memory of its own. results[k]: room for output k, which is copied out where
 * the exe has memory of the run for it; elsewhere it is left alone. */
static inline pith_status
run_copied(const bench *b, const recipe *r, pithp_executable *exe, void *const *results) {
    const void *inputs[RECIPE_MOST];
    void *outputs[RECIPE_MOST];
    pithp_buffer *in[RECIPE_MOST], *out[RECIPE_MOST];
    int count = 0;
    pith_scope *s = pith_scope_open_in(b->on);
    if (!pithp_scope_writable(s)) { /* memory is short */
        const pith_status code = pith_code(s);
        pith_scope_close(s);
        pith_clear(b->on);
        return code;
    }
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        if (x->kind != RECIPE_INPUT)
            continue;
        in[count] = pithp_buffer_make(s, x->spec->bytes + 1);
        if (in[count])
            pithp_copy_in(s, in[count]->data, x->data, x->spec->bytes);
        inputs[count] = in[count] ? in[count]->data : NULL;
        count++;
    }
    for (int k = 0; k < r->output_count; k++) {
        out[k] = pithp_buffer_make(s, r->list[r->outputs[k]].spec->bytes + 1);
        outputs[k] = out[k] ? out[k]->data : NULL;
    }
    pith_status rc = pith_code(s);
    if (rc == PITH_OK)
        rc = pithp_executable_run(s, exe, inputs, outputs);
    for (int k = 0; k < r->output_count && rc == PITH_OK; k++) {
        const size_t bytes = r->list[r->outputs[k]].spec->bytes;
        const pithp_place place = pithp_plan_output(exe->plan, k);
        const void *at = place.store == PITHP_IN_OUTPUT  ? outputs[place.at]
                         : place.store == PITHP_IN_INPUT ? inputs[place.at]
                                                         : NULL;
        if (at)
            rc = pithp_copy_out(s, results[k], at, bytes);
    }
    for (int k = 0; k < count; k++)
        pithp_buffer_release(in[k], 1);
    for (int k = 0; k < r->output_count; k++)
        pithp_buffer_release(out[k], 1);
    if (rc != PITH_OK)
        snprintf(run_message, sizeof run_message, "%s", pith_message(s));
    pith_clear(s);
    pith_scope_close(s);
    return rc;
}

#endif
