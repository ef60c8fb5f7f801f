/* Messages in random programs: what each prints, and programs with messages after some of
 * their instructions, in loops and branches too. */
#ifndef PITH_TESTS_RANDOM_MESSAGES_H
#define PITH_TESTS_RANDOM_MESSAGES_H

#include "program/op/debug.h"
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

static pithp_debug messages[MOST_MESSAGES];

static PT_UNUSED void print_hash(const pithp_debug *debug,
                                 pith_scope *s,
                                 const pith_spec *const *specs,
                                 const void *const *operands) {
    char *elements = malloc(specs[0]->bytes + 1);
    cr_assert_eq(pithp_copy_out(s, elements, operands[0], specs[0]->bytes), PITH_OK);
    if (now.count < MOST_PRINTED)
        now.list[now.count] = (printed){debug - messages, hash_of(specs[0], elements)};
    now.count++;
    free(elements);
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
    messages[a->count] = (pithp_debug){.print = print_hash, .message = "a message"};
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

/* ---- Comparing ---- */

static PT_UNUSED void expect_same(uint64_t seed, const char *way, unsigned passes) {
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

#endif
