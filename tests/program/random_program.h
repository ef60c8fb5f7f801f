/* Random well-typed programs, as recipes from which programs are built: with the values
 * they should give, computed instruction by instruction, and a shrinker for those that
 * give others. */
#ifndef PITH_TESTS_RANDOM_PROGRAM_H
#define PITH_TESTS_RANDOM_PROGRAM_H

#include "random_control.h"
#include "random_motif.h"
#include "series.h"

/* A call whose operands have to fit; false: it was none. */
static inline bool recipe_fitting(recipe *r, int first) {
    switch (recipe_random(r, r->depth ? 12 : 24)) {
        case 0:
        case 1:
            return recipe_update(r, first);
        case 2:
            return recipe_dynamic(r, first);
        case 3:
            return recipe_product(r, first);
        case 4:
            return recipe_search(r, first);
        case 5:
            return recipe_draw(r);
        case 6:
            return recipe_launch(r, first);
        case 7:
            return recipe_check_places(r, first);
        case 8:
            return recipe_motif(r, first);
        case 9:
            return recipe_recur(r, first);
        default:
            return false;
    }
}

static inline void recipe_step(recipe *r) {
    ingredient x = recipe_blank((pithp_primitive)0, 0);
    /* what was made last is used more often, so that chains grow */
    const int recent = r->count > 8 ? r->count - 8 : 0;
    const int first = (int)recipe_random(r, 2)
                          ? recent + (int)recipe_random(r, (uint64_t)(r->count - recent))
                          : (int)recipe_random(r, (uint64_t)r->count);
    const pith_spec *from = r->list[first].spec;
    if (r->depth < RECIPE_DEEPEST && recipe_random(r, 12) == 0 &&
        recipe_control(r, first))
        return;
    if (recipe_fitting(r, first))
        return;
    const uint64_t kind = recipe_random(r, 10);
    if (kind < 6)
        recipe_elementwise(r, &x);
    else if (kind < 8)
        recipe_shape(r, &x, from);
    else
        recipe_other(r, &x, from);
    for (int attempt = 0; attempt < 30; attempt++) {
        for (int k = 0; k < x.operand_count; k++)
            x.operands[k] = (int)recipe_random(r, (uint64_t)r->count);
        if (x.operand_count)
            x.operands[recipe_random(r, 3)
                           ? 0
                           : recipe_random(r, (uint64_t)x.operand_count)] = first;
        if (recipe_call(r, &x))
            return;
    }
}

/* ---- Recipes ---- */

static const struct {
    int rank;
    int64_t shape[4];
} recipe_shapes[] = {{0, {0}},     {1, {0}},         {1, {1}},          {1, {5}},
                     {2, {3, 5}},  {2, {1, 5}},      {2, {3, 1}},       {1, {70}},
                     {2, {7, 70}}, {2, {0, 4}},      {3, {2, 3, 5}},    {2, {3, 130}},
                     {1, {130}},   {3, {2, 1, 130}}, {2, {40, 3}},      {1, {3}},
                     {1, {2000}},  {2, {20, 100}},   {3, {4, 10, 100}}, {2, {2, 4000}}};

static inline void recipe_leaf(recipe *r, bool literal) {
    static const pith_dtype dtypes[] = {
        PITH_F64,  PITH_F64, PITH_F32,  PITH_F32, PITH_I32, PITH_I64, PITH_U8, PITH_I8,
        PITH_BOOL, PITH_F16, PITH_BF16, PITH_U32, PITH_I16, PITH_U16, PITH_U64};
    const int shape = (int)recipe_random(r, sizeof recipe_shapes / sizeof *recipe_shapes);
    ingredient x;
    memset(&x, 0, sizeof x);
    x.spec = pithp_spec(r->s, dtypes[recipe_random(r, 15)], recipe_shapes[shape].rank,
                        recipe_shapes[shape].shape);
    literal &= x.spec->bytes <= PITHP_LITERAL_BYTES;
    x.kind = literal ? RECIPE_LITERAL : RECIPE_INPUT;
    const int at = recipe_add(r, &x);
    recipe_fill(r, x.spec, r->list[at].data);
    if (literal && recipe_random(r, 2)) /* the same everywhere */
        for (int64_t i = 1; i < x.spec->count; i++)
            memcpy((char *)r->list[at].data + (size_t)i * pith_dtype_size(x.spec->dtype),
                   r->list[at].data, pith_dtype_size(x.spec->dtype));
}

/* What it is for; zero is the default. */
typedef struct recipe_options {
    bool device, values; /* as in the recipe */
} recipe_options;

static inline recipe *
recipe_make_for(pith_scope *s, uint64_t seed, int steps, recipe_options options) {
    recipe *r = calloc(1, sizeof *r);
    r->s = s;
    r->device = options.device;
    r->values = options.values;
    r->state = seed * 0x9e3779b97f4a7c15u + 1;
    r->largest = 20000;
    const int inputs = 1 + (int)recipe_random(r, 4);
    for (int k = 0; k < inputs; k++)
        recipe_leaf(r, false);
    for (int k = (int)recipe_random(r, 4); k > 0; k--)
        recipe_leaf(r, true);
    for (int k = 0; k < steps && r->count < RECIPE_MOST; k++)
        recipe_step(r);
    r->output_count = 1 + (int)recipe_random(r, 4);
    for (int k = 0; k < r->output_count; k++)
        r->outputs[k] =
            r->count - 1 - (int)recipe_random(r, (uint64_t)(r->count < 8 ? r->count : 8));
    return r;
}

static inline recipe *recipe_make(pith_scope *s, uint64_t seed, int steps) {
    return recipe_make_for(s, seed, steps, (recipe_options){.device = false});
}

static inline void recipe_free(recipe *r) {
    for (int k = 0; k < r->count; k++) {
        for (int b = 0; !r->list[k].sibling && b < r->list[k].body_count; b++)
            recipe_free(r->list[k].bodies[b]);
        free(r->list[k].data);
    }
    free(r);
}

static inline pithp_program *recipe_build(const recipe *r, bool counts);

/* program(carry) -> no element is NaN; added to p. */
static inline pithp_value recipe_no_nan(const recipe *r,
                                        pithp_program *p,
                                        pithp_value carry,
                                        const pith_spec *spec) {
    const pithp_value twice[2] = {carry, carry};
    const pithp_reduce_params all = {(1u << spec->rank) - 1};
    const pithp_value equal =
        pithp_program_add(r->s, p, PITHP_OP_EQ, 2, twice, NULL, "recipe:5");
    return pithp_program_add(r->s, p, PITHP_OP_ALL, 1, &equal, &all, "recipe:6");
}

/* program(i, carry, constant) -> i < length, and perhaps that the carry has no NaN. */
static inline pithp_program *recipe_below(const recipe *r, const ingredient *x) {
    pithp_program *p = pithp_program_make(r->s);
    const pith_spec *count = pithp_spec(r->s, PITH_I64, 0, NULL);
    pithp_value operands[2] = {pithp_program_input(r->s, p, count), 0};
    for (int k = 0; k < 2; k++)
        pithp_program_input(r->s, p, x->bodies[0]->list[k].spec);
    operands[1] = pithp_program_literal(r->s, p, count, &x->length);
    pithp_value both[2] = {
        pithp_program_add(r->s, p, PITHP_OP_LT, 2, operands, NULL, "recipe:3")};
    if (x->ends) {
        both[1] = recipe_no_nan(r, p, 1, x->bodies[0]->list[0].spec);
        both[0] =
            pithp_program_add(r->s, p, PITHP_OP_LOGICAL_AND, 2, both, NULL, "recipe:7");
    }
    pithp_program_output(r->s, p, both[0]);
    return p;
}

static inline pithp_value recipe_add_control(const recipe *r,
                                             const ingredient *x,
                                             pithp_program *p,
                                             const pithp_value *in) {
    pithp_program *programs[3];
    pithp_value operands[RECIPE_OPERANDS + 1] = {in[0], in[1], in[2]};
    const bool counts = x->primitive == PITHP_OP_WHILE;
    const int64_t zero = 0;
    int count = x->operand_count, program_count = 0;
    if (counts) {
        programs[program_count++] = recipe_below(r, x);
        operands[0] =
            pithp_program_literal(r->s, p, pithp_spec(r->s, PITH_I64, 0, NULL), &zero);
        operands[1] = in[0];
        operands[2] = in[1];
        count = 3;
    }
    for (int k = 0; k < x->body_count; k++)
        programs[program_count++] = recipe_build(x->bodies[k], counts);
    const pithp_while_params as_while = {0};
    const pithp_loop_params as_scan = {.length = x->length,
                                       .constants = !x->rows,
                                       .carries = 1,
                                       .unroll = 1 + (int32_t)(x->length % 5),
                                       .reverse = x->reverse};
    const pithp_new_instruction made = {.primitive = x->primitive,
                                        .operand_count = count,
                                        .operands = operands,
                                        .params = counts ? (const void *)&as_while
                                                  : x->primitive == PITHP_OP_SCAN
                                                      ? (const void *)&as_scan
                                                      : NULL,
                                        .program_count = program_count,
                                        .programs = programs,
                                        .site = "recipe:2"};
    const pithp_value v = pithp_program_add_many(r->s, p, &made);
    for (int k = 0; k < program_count; k++)
        pithp_program_release(programs[k]);
    return counts ? v + 1 : v;
}

/* Also of those that compute one result after another: its first one. */
static inline pithp_value recipe_add_many(const recipe *r,
                                          const ingredient *x,
                                          pithp_program *p,
                                          const pithp_value *in) {
    const pithp_new_instruction made = {.primitive = x->primitive,
                                        .operand_count = x->operand_count,
                                        .operands = in,
                                        .params = x->params,
                                        .site = "recipe:8"};
    return x->kind == RECIPE_CONTROL ? recipe_add_control(r, x, p, in)
                                     : pithp_program_add_many(r->s, p, &made);
}

static inline pithp_program *recipe_program(const recipe *r) {
    return recipe_build(r, false);
}

/* counts: a number comes in first, and one more goes out first; the second value of the
 * recipe goes out last. */
static inline pithp_program *recipe_build(const recipe *r, bool counts) {
    pithp_value names[RECIPE_MOST], firsts[RECIPE_MOST];
    pithp_program *p = pithp_program_make(r->s);
    const pith_spec *count = pithp_spec(r->s, PITH_I64, 0, NULL);
    if (counts)
        pithp_program_input(r->s, p, count);
    for (int k = 0; k < r->count; k++)
        if (r->list[k].kind == RECIPE_INPUT)
            names[k] = pithp_program_input(r->s, p, r->list[k].spec);
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        pithp_value operands[RECIPE_OPERANDS];
        if (x->kind == RECIPE_LITERAL)
            names[k] = pithp_program_literal(r->s, p, x->spec, x->data);
        for (int o = 0; o < x->operand_count; o++)
            operands[o] = names[x->operands[o]];
        if (x->kind == RECIPE_CALL)
            names[k] = pithp_program_add(r->s, p, x->primitive, x->operand_count,
                                         operands, x->params, "recipe:1");
        if (x->kind == RECIPE_CONTROL || x->kind == RECIPE_MANY) {
            const int sibling = x->sibling - 1;
            firsts[k] = sibling >= 0 && r->list[sibling].kind == x->kind
                            ? firsts[sibling]
                            : recipe_add_many(r, x, p, operands);
            names[k] = firsts[k] + x->picks;
        }
    }
    if (counts) {
        const int64_t one = 1;
        const pithp_value operands[2] = {0, pithp_program_literal(r->s, p, count, &one)};
        pithp_program_output(
            r->s, p,
            pithp_program_add(r->s, p, PITHP_OP_ADD, 2, operands, NULL, "recipe:4"));
    }
    for (int k = 0; k < r->output_count; k++)
        pithp_program_output(r->s, p, names[r->outputs[k]]);
    if (counts)
        pithp_program_output(r->s, p, names[1]);
    pt_ok(r->s);
    return p;
}

/* ---- Running ---- */

/* Where the program's inputs are; returns how many. */
static inline int recipe_inputs(const recipe *r, const void **inputs) {
    int count = 0;
    for (int k = 0; k < r->count; k++)
        if (r->list[k].kind == RECIPE_INPUT)
            inputs[count++] = r->list[k].data;
    return count;
}

/* Memory for its outputs, with 64 bytes to spare; freed by the caller. */
static inline void recipe_outputs(const recipe *r, void **outputs) {
    for (int k = 0; k < r->output_count; k++) {
        const size_t bytes =
            (r->list[r->outputs[k]].spec->bytes + 64 + 255) & ~(size_t)255;
        outputs[k] = aligned_alloc(256, bytes);
        memset(outputs[k], 0xA5, bytes);
    }
}

/* Whether output k has these elements. */
static inline bool recipe_is(const recipe *r, int k, const void *elements) {
    const ingredient *x = &r->list[r->outputs[k]];
    return recipe_same(x->spec, elements, x->data);
}

/* ---- Shrinking ---- */

typedef struct recipe_shrinking {
    recipe *root;
    bool (*fails)(const recipe *r, void *closure);
    void *closure;
} recipe_shrinking;

/* Whether it still fails, with values computed anew where bodies changed. */
static inline bool recipe_still_fails(const recipe_shrinking *x, bool anew) {
    for (int k = 0; anew && k < x->root->count; k++)
        if (x->root->list[k].kind >= RECIPE_CALL)
            recipe_compute(x->root, &x->root->list[k]);
    return x->fails(x->root, x->closure);
}

/* Bodies become shorter: they hand on an input, and calls become zeros. */
static inline void recipe_shrink_body(const recipe_shrinking *x, recipe *body) {
    for (int k = 0; k < 2; k++) {
        const int before = body->outputs[0];
        if (before < 2 || body->list[k].spec != body->list[before].spec)
            continue;
        body->outputs[0] = k;
        if (!recipe_still_fails(x, true))
            body->outputs[0] = before;
    }
    for (int k = body->count - 1; k >= 2; k--) {
        const ingredient before = body->list[k];
        if (before.kind < RECIPE_CALL || before.spec->bytes > PITHP_LITERAL_BYTES)
            continue;
        body->list[k].kind = RECIPE_LITERAL; /* bodies stay, to be freed */
        body->list[k].operand_count = 0;
        memset(body->list[k].data, 0, before.spec->bytes);
        if (recipe_still_fails(x, true))
            continue;
        body->list[k] = before;
        for (int b = 0; b < before.body_count; b++)
            recipe_shrink_body(x, before.bodies[b]);
    }
    recipe_still_fails(x, true); /* values are those of what is left */
}

static inline bool recipe_is_used(const recipe *r, int at) {
    bool used = r->list[at].kind >= RECIPE_CALL;
    for (int k = 0; k < r->output_count; k++)
        used |= r->outputs[k] == at;
    for (int k = at; k < r->count; k++)
        for (int o = 0; o < r->list[k].operand_count; o++)
            used |= r->list[k].operands[o] == at;
    return used;
}

/* What has become an input gives its bodies to the next of its siblings. */
static inline void recipe_give_bodies(recipe *r, int from) {
    ingredient *x = &r->list[from];
    int heir = -1;
    for (int k = from + 1; k < r->count; k++) {
        if (r->list[k].sibling != from + 1)
            continue;
        r->list[k].sibling = heir < 0 ? 0 : heir + 1;
        heir = heir < 0 ? k : heir;
    }
    for (int b = 0; heir < 0 && !x->sibling && b < x->body_count; b++)
        recipe_free(x->bodies[b]);
    x->body_count = x->sibling = 0;
}

/* Leave out inputs and literals that nothing reads. */
static inline void recipe_compact(recipe *r) {
    int to[RECIPE_MOST], count = 0;
    for (int k = 0; k < r->count; k++)
        if (r->list[k].kind < RECIPE_CALL)
            recipe_give_bodies(r, k);
    for (int k = 0; k < r->count; k++) {
        to[k] = count;
        if (recipe_is_used(r, k))
            r->list[count++] = r->list[k];
        else
            free(r->list[k].data);
    }
    for (int k = 0; k < count; k++) {
        ingredient *x = &r->list[k];
        for (int o = 0; o < x->operand_count; o++)
            x->operands[o] = to[x->operands[o]];
        x->sibling = x->sibling ? 1 + to[x->sibling - 1] : 0;
    }
    for (int k = 0; k < r->output_count; k++)
        r->outputs[k] = to[r->outputs[k]];
    r->count = count;
}

/* Make a failing recipe smaller, as long as `fails` says that it fails: outputs go, then
 * calls become inputs with the values they had, then bodies become shorter. */
static inline void
recipe_shrink(recipe *r, bool (*fails)(const recipe *r, void *closure), void *closure) {
    const recipe_shrinking x = {r, fails, closure};
    for (int k = 0; k < r->output_count && r->output_count > 1;) {
        const recipe before = *r;
        r->outputs[k] = r->outputs[--r->output_count];
        if (!recipe_still_fails(&x, false)) {
            *r = before;
            k++;
        }
    }
    for (int k = 0; k < r->count; k++) {
        const ingredient before = r->list[k];
        if (before.kind == RECIPE_INPUT)
            continue;
        r->list[k].kind = RECIPE_INPUT; /* bodies stay, to be freed */
        r->list[k].operand_count = 0;
        if (!recipe_still_fails(&x, false))
            r->list[k] = before;
    }
    for (int k = 0; k < r->count; k++)
        for (int b = 0; r->list[k].kind == RECIPE_CONTROL && b < r->list[k].body_count;
             b++)
            recipe_shrink_body(&x, r->list[k].bodies[b]);
    recipe_compact(r);
}

#endif
