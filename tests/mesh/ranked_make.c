/* Making and printing of random functions over ranks (ranked.h). */
#include "mesh/ranked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 64 };

typedef struct maker {
    ranked_function *f;
    uint64_t state;
} maker;

static int64_t draw(maker *m, int64_t n) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((m->state >> 33) % (uint64_t)n);
}

static ranked_body *make_body(maker *m, int depth, bool collectives);

static void make_step(maker *m, ranked_step *step, int depth, bool collectives) {
    const bool nests = depth < RANKED_DEPTH && m->f->made_count < MOST_BODIES - 2;
    do
        step->kind = (ranked_kind)draw(m, RANKED_KINDS);
    while ((step->kind >= RANKED_KINDS_OF_ROWS && !nests) ||
           (!collectives && step->kind >= RANKED_INDEX && step->kind != RANKED_LOOP));
    step->to = (int)draw(m, RANKED_VALUES);
    step->a = (int)draw(m, RANKED_VALUES);
    step->b = (int)draw(m, RANKED_VALUES);
    step->axes = (int)draw(m, 3);
    step->by = draw(m, 7) - 3;
    step->wrap = draw(m, 2);
    step->level = (double)draw(m, 100) / 100 - 0.5;
    if (step->kind < RANKED_KINDS_OF_ROWS)
        return;
    const bool inner = collectives && step->kind != RANKED_CHOICE_OF_RANK;
    for (int b = 0; b < 2; b++)
        step->bodies[b] = make_body(m, depth + 1, inner);
}

static ranked_body *make_body(maker *m, int depth, bool collectives) {
    ranked_body *body = &m->f->made[m->f->made_count++];
    body->of = m->f;
    body->of_rank = !collectives;
    body->branch =
        (pith_function){.name = "branch", .call = ranked_call_branch, .arity = 1};
    body->iteration =
        (pith_function){.name = "iteration", .call = ranked_call_iteration, .arity = 2};
    body->counted =
        (pith_function){.name = "counted", .call = ranked_call_counted, .arity = 1};
    body->count = depth ? 1 + (int)draw(m, 3) : RANKED_STEPS;
    for (int k = 0; k < body->count; k++)
        make_step(m, &body->steps[k], depth, collectives);
    return body;
}

ranked_function *ranked_make(uint64_t seed, const int64_t sizes[2], bool all) {
    ranked_function *f = calloc(1, sizeof *f);
    maker m = {f, seed * 0x9E3779B97F4A7C15u + 1};
    if (!f || !(f->made = calloc(MOST_BODIES, sizeof *f->made)))
        abort();
    f->call = (pith_function){.name = "ranked", .call = ranked_call_function, .arity = 2};
    f->all = all;
    f->reduced = draw(&m, 2);
    memcpy(f->sizes, sizes, sizeof f->sizes);
    f->body = make_body(&m, 0, true);
    return f;
}

void ranked_free(ranked_function *f) {
    free(f->made);
    free(f);
}

static void print_body(const ranked_body *body, int depth) {
    static const char *const names[RANKED_KINDS] = {
        "sin",        "add",        "sub",
        "mul",        "max",        "sort",
        "scatter",    "index",      "draw",
        "psum",       "pmean",      "pmax",
        "pmin",       "pbroadcast", "pshift",
        "all_gather", "all_stack",  "reduce_scatter",
        "all_to_all", "psum_rows",  "halo",
        "route",      "route back", "choice",
        "own choice", "loop",       "range",
        "record"};
    for (int k = 0; k < body->count; k++) {
        const ranked_step *t = &body->steps[k];
        fprintf(stderr, "%*s%d = %s %d %d axes %d by %d%s level %g\n", 4 * depth, "",
                t->to, names[t->kind], t->a, t->b, t->axes, (int)t->by,
                t->wrap ? " wrap" : "", t->level);
        for (int b = 0; b < 2; b++)
            if (t->bodies[b])
                print_body(t->bodies[b], depth + 1);
    }
}

void ranked_print(const ranked_function *f) {
    fprintf(stderr, "%s\n", f->reduced ? "reduced" : "own");
    print_body(f->body, 1);
}
