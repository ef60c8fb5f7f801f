/* Messages in random programs, in loops and branches too: whatever passes and plans do,
 * the same ones are printed in the same order with the same values. */
#include "program/debug.h"
#include "program/interpret/plan.h"
#include "program/pass/pass.h"
#include "random_program.h"

/* ---- What is printed: the number of the instruction, and a hash of the elements ---- */

enum { MOST_PRINTED = 1 << 16, MOST_MESSAGES = 256 };

typedef struct printed {
    int64_t number;
    uint64_t hash;
} printed;

static struct {
    printed list[MOST_PRINTED];
    int64_t count;
} now, expected;

/* Any NaN is as good as another. */
static uint64_t hash_of(const pith_spec *spec, const char *elements) {
    const size_t size = pith_dtype_size(spec->dtype);
    uint64_t hash = (uint64_t)spec->count;
    for (size_t at = 0; at < spec->bytes; at += size) {
        const bool nan = pith_dtype_is_float(spec->dtype) &&
                         isnan(pithp_dtype_decode(spec->dtype, elements + at));
        hash = nan ? hash * 31 + 1 : pithp_hash(hash, elements + at, size);
    }
    return hash;
}

static void print(const pithp_debug *debug,
                  pith_scope *s,
                  const pith_spec *const *specs,
                  const void *const *operands);
static pithp_debug messages[MOST_MESSAGES];

static void print(const pithp_debug *debug,
                  pith_scope *s,
                  const pith_spec *const *specs,
                  const void *const *operands) {
    (void)s;
    if (now.count < MOST_PRINTED)
        now.list[now.count] = (printed){debug - messages, hash_of(specs[0], operands[0])};
    now.count++;
}

/* ---- Programs with messages ---- */

typedef struct adding {
    pith_scope *s;
    uint64_t state;
    int count;
} adding;

static bool draw(adding *a, uint64_t of) {
    a->state = a->state * 6364136223846793005u + 1442695040888963407u;
    return (a->state >> 33) % of == 0;
}

static void add_message(adding *a, pithp_program *p, pithp_value v) {
    if (a->count == MOST_MESSAGES)
        return;
    messages[a->count] = (pithp_debug){.print = print, .message = "a message"};
    const pithp_debug_params params = {&messages[a->count++]};
    const pithp_new_instruction given = {.primitive = PITHP_OP_DEBUG,
                                         .operand_count = 1,
                                         .operands = &v,
                                         .params = &params};
    pithp_program_add_many(a->s, p, &given);
}

static pithp_program *with_messages(adding *a, const pithp_program *from);

/* A copy of an instruction, and messages of some of its results. Reports have none. */
static void copy(adding *a,
                 pithp_program *to,
                 const pithp_program *from,
                 const pithp_instruction *i,
                 pithp_value *names) {
    pithp_value operands[32];
    pithp_program *programs[4];
    cr_assert(i->operand_count <= 32 && i->program_count <= 4);
    for (int k = 0; k < i->operand_count; k++)
        operands[k] = names[pithp_operands(from, i)[k]];
    for (int k = 0; k < i->program_count; k++)
        programs[k] = with_messages(a, i->programs[k]);
    const pithp_value first =
        pithp_program_add_many(a->s, to,
                               &(pithp_new_instruction){.primitive = i->primitive,
                                                        .operand_count = i->operand_count,
                                                        .operands = operands,
                                                        .params = i->params,
                                                        .program_count = i->program_count,
                                                        .programs = programs});
    const bool reports =
        i->primitive == PITHP_OP_KERNEL || i->primitive == PITHP_OP_CHECKED;
    for (int k = 0; k < i->result_count; k++)
        names[i->result + k] = first + k;
    for (int k = 0; k < i->result_count - reports; k++)
        if (draw(a, 3))
            add_message(a, to, first + k);
    for (int k = 0; k < i->program_count; k++)
        pithp_program_release(programs[k]);
}

static pithp_program *with_messages(adding *a, const pithp_program *from) {
    pithp_value *names = calloc((size_t)from->value_count + 1, sizeof *names);
    pithp_program *to = pithp_program_make(a->s);
    pithp_graph_walk w = {.program = from};
    const pithp_instruction *i;
    pithp_value v;
    while (pithp_graph_next(&w, &v, &i)) {
        const pith_spec *spec = i ? NULL : pithp_value_spec(from, v);
        if (i)
            copy(a, to, from, i, names);
        else if (from->values[v].origin == PITHP_FROM_INPUT)
            names[v] = pithp_program_input(a->s, to, spec);
        else
            names[v] = pithp_program_literal(a->s, to, spec, pithp_literal_of(from, v));
    }
    if (from->input_count && draw(a, 2))
        add_message(a, to, names[from->inputs[0]]);
    for (int64_t k = 0; k < from->output_count; k++)
        pithp_program_output(a->s, to, names[from->outputs[k]]);
    pt_ok(a->s);
    free(names);
    return to;
}

/* ---- Running ---- */

static void run(const recipe *r, pithp_program *p, bool fuse, int times) {
    pith_scope *s = pith_scope_open_in(r->s);
    const void *inputs[RECIPE_MOST];
    void *outputs[RECIPE_MOST];
    recipe_inputs(r, inputs);
    recipe_outputs(r, outputs);
    pithp_plan *plan = pithp_plan_make(s, p, fuse);
    pt_ok(s);
    while (times-- > 0) {
        now.count = 0;
        pithp_plan_run(s, plan, inputs, outputs);
        pt_ok(s);
        pith_wait(s);
        pith_clear(s);
    }
    pithp_plan_free(plan);
    for (int k = 0; k < r->output_count; k++)
        free(outputs[k]);
    pith_scope_close(s);
}

static void expect_same(uint64_t seed, const char *way, unsigned passes) {
    cr_assert_eq(now.count, expected.count,
                 "seed %llu, %s, passes %u: %lld messages, not %lld",
                 (unsigned long long)seed, way, passes, (long long)now.count,
                 (long long)expected.count);
    for (int64_t k = 0; k < now.count && k < MOST_PRINTED; k++)
        cr_assert(now.list[k].number == expected.list[k].number &&
                      now.list[k].hash == expected.list[k].hash,
                  "seed %llu, %s, passes %u: message %lld is of %lld, not %lld, or of "
                  "another value",
                  (unsigned long long)seed, way, passes, (long long)k,
                  (long long)now.list[k].number, (long long)expected.list[k].number);
}

/* Plans of the program after passes print what the unchanged one prints step by step. */
static int64_t
try_program(pith_scope *s, uint64_t seed, int steps, const char *way, int times) {
    static const unsigned passes[] = {0,
                                      PITHP_PASS_ALGEBRA,
                                      PITHP_PASS_FOLD,
                                      PITHP_PASS_COMMON,
                                      PITHP_PASS_DEAD,
                                      PITHP_PASS_CONTROL,
                                      PITHP_PASS_ALL};
    recipe *r = recipe_make(s, seed, steps);
    adding a = {.s = s, .state = seed};
    pithp_program *plain = recipe_program(r), *p = with_messages(&a, plain);
    pithp_refusal why;
    cr_assert(pithp_program_verify(p, &why) == PITH_OK, "%s", why.text);
    setenv("PITH_JIT", "off", 1);
    run(r, p, false, 1);
    memcpy(&expected, &now, sizeof now);
    setenv("PITH_JIT", way, 1);
    for (int k = 0; k < PITHP_COUNT(passes); k++) {
        pithp_program *better = passes[k] ? pithp_program_optimise(s, p, passes[k]) : p;
        pt_ok(s, better);
        cr_assert(pithp_program_verify(better, &why) == PITH_OK, "%s", why.text);
        if (times == 1 || passes[k] == PITHP_PASS_ALL) {
            run(r, better, true, times);
            expect_same(seed, way, passes[k]);
        }
        if (better != p)
            pithp_program_release(better);
    }
    pithp_program_release(p);
    pithp_program_release(plain);
    recipe_free(r);
    return expected.count;
}

static void try_programs(int64_t count, uint64_t from, const char *way, int times) {
    pith_runtime *rt = pt_open();
    int64_t met = 0;
    for (int64_t k = 0; k < count; k++) {
        pith_scope *s = pith_scope_open(rt);
        met += try_program(s, recipe_first(from) + (uint64_t)k, 6 + (int)(k % 50), way,
                           times);
        pith_scope_close(s);
    }
    cr_assert_gt(met, 5 * count);
    pt_close(rt);
}

Test(messages, are_printed_in_order_whatever_passes_do) {
    try_programs(recipe_programs(500), 0, "off", 1);
}

Test(messages, compiled_code_prints_them_too) {
    try_programs(recipe_programs(40), 50000, "wait", 2);
}
