/* Parameters of primitives as data: one table of fields a rule. The tables make the
 * canonical copy, whose bytes are compared, and the text. */
#include "mesh/mesh_internal.h"
#include "program/op/call.h"
#include "program/op/debug.h"

#include <inttypes.h>
#include <string.h>

typedef enum field_kind {
    FIELD_DTYPE,
    FIELD_I32,
    FIELD_BOOL,
    FIELD_BITS, /* uint64_t, printed in hexadecimal */
    FIELD_F64,
    FIELD_AXES, /* one bit per axis */
    FIELD_MODE,
    FIELD_EXTENTS,    /* int64_t each */
    FIELD_DIMENSIONS, /* int32_t each */
    FIELD_BYTES,      /* int8_t each */
    FIELD_PRIMITIVE,
    FIELD_KERNEL,  /* const pith_kernel_variant * */
    FIELD_DEBUG,   /* const pithp_debug * */
    FIELD_RULE,    /* pithp_rule * */
    FIELD_EXPOSED, /* pithp_exposed * */
    FIELD_NAME,    /* char [PITHP_NAME_BYTES] */
    FIELD_GROUP,   /* pithp_mesh_group * */
    FIELD_PAIRS,   /* const pithp_mesh_pairs * */
} field_kind;

/* Number of elements of an array field. */
typedef enum field_count {
    ONE,
    RANK,         /* the parameter `rank` */
    OPERAND_RANK, /* of the first operand */
    CONTRACTS,
    BATCHES,
    KERNEL_ARGS,
} field_count;

typedef struct field {
    const char *name;
    size_t offset;
    field_kind kind;
    field_count count;
} field;

#define FIELD(rule, member, kind, count)                                                 \
    { #member, offsetof(pithp_##rule##_params, member), FIELD_##kind, count }
#define FIELDS(rule, ...) static const field rule##_fields[] = {__VA_ARGS__, {0}};

FIELDS(cast, FIELD(cast, dtype, DTYPE, ONE))
FIELDS(full,
       FIELD(full, dtype, DTYPE, ONE),
       FIELD(full, rank, I32, ONE),
       FIELD(full, shape, EXTENTS, RANK),
       FIELD(full, value, BITS, ONE))
FIELDS(iota,
       FIELD(iota, dtype, DTYPE, ONE),
       FIELD(iota, rank, I32, ONE),
       FIELD(iota, shape, EXTENTS, RANK),
       FIELD(iota, axis, I32, ONE))
FIELDS(broadcast,
       FIELD(broadcast, rank, I32, ONE),
       FIELD(broadcast, shape, EXTENTS, RANK),
       FIELD(broadcast, dimensions, DIMENSIONS, OPERAND_RANK))
FIELDS(reshape, FIELD(reshape, rank, I32, ONE), FIELD(reshape, shape, EXTENTS, RANK))
FIELDS(transpose, FIELD(transpose, permutation, DIMENSIONS, OPERAND_RANK))
FIELDS(slice,
       FIELD(slice, start, EXTENTS, OPERAND_RANK),
       FIELD(slice, limit, EXTENTS, OPERAND_RANK),
       FIELD(slice, step, EXTENTS, OPERAND_RANK))
FIELDS(reverse, FIELD(reverse, axes, AXES, ONE))
FIELDS(concatenate, FIELD(concatenate, axis, I32, ONE))
FIELDS(pad,
       FIELD(pad, low, EXTENTS, OPERAND_RANK),
       FIELD(pad, high, EXTENTS, OPERAND_RANK),
       FIELD(pad, interior, EXTENTS, OPERAND_RANK))
FIELDS(index,
       FIELD(index, axis, I32, ONE),
       FIELD(index, mode, MODE, ONE),
       FIELD(index, no_negative, BOOL, ONE),
       FIELD(index, fill, BITS, ONE),
       FIELD(index, unique, BOOL, ONE),
       FIELD(index, sorted, BOOL, ONE),
       FIELD(index, unordered, BOOL, ONE),
       FIELD(index, numbers, BITS, ONE),
       FIELD(index, apart, BITS, ONE),
       FIELD(index, axes, BITS, ONE),
       FIELD(index, repeats, BITS, ONE),
       FIELD(index, entry, BITS, ONE))
FIELDS(dynamic, FIELD(dynamic, shape, EXTENTS, OPERAND_RANK))
FIELDS(reduce, FIELD(reduce, axes, AXES, ONE))
FIELDS(scan,
       FIELD(scan, axis, I32, ONE),
       FIELD(scan, reverse, BOOL, ONE),
       FIELD(scan, strong, BOOL, ONE))
FIELDS(sort, FIELD(sort, axis, I32, ONE), FIELD(sort, descending, BOOL, ONE))
FIELDS(search, FIELD(search, right, BOOL, ONE))
FIELDS(dot,
       FIELD(dot, contracts, I32, ONE),
       FIELD(dot, batches, I32, ONE),
       FIELD(dot, contract[0], BYTES, CONTRACTS),
       FIELD(dot, contract[1], BYTES, CONTRACTS),
       FIELD(dot, batch[0], BYTES, BATCHES),
       FIELD(dot, batch[1], BYTES, BATCHES))
FIELDS(random,
       FIELD(random, dtype, DTYPE, ONE),
       FIELD(random, rank, I32, ONE),
       FIELD(random, shape, EXTENTS, RANK),
       FIELD(random, original, BOOL, ONE),
       FIELD(random, unbiased, BOOL, ONE),
       FIELD(random, low, F64, ONE),
       FIELD(random, high, F64, ONE),
       FIELD(random, least, BITS, ONE),
       FIELD(random, greatest, BITS, ONE))
FIELDS(while,
       FIELD(while, cond_operands, I32, ONE),
       FIELD(while, body_operands, I32, ONE),
       FIELD(while, most, EXTENTS, ONE))
FIELDS(loop,
       FIELD(loop, length, EXTENTS, ONE),
       FIELD(loop, constants, I32, ONE),
       FIELD(loop, carries, I32, ONE),
       FIELD(loop, unroll, I32, ONE),
       FIELD(loop, reverse, BOOL, ONE),
       FIELD(loop, sequential, BOOL, ONE),
       FIELD(loop, concurrent, BOOL, ONE),
       FIELD(loop, kept_bytes, EXTENTS, ONE),
       FIELD(loop, chunk, EXTENTS, ONE),
       FIELD(loop, batch, EXTENTS, ONE))

FIELDS(kernel,
       FIELD(kernel, kernel, KERNEL, ONE),
       FIELD(kernel, values, BITS, KERNEL_ARGS),
       FIELD(kernel, batched, BOOL, ONE),
       FIELD(kernel, masked, BOOL, ONE),
       FIELD(kernel, entries, EXTENTS, ONE),
       FIELD(kernel, mapped, BITS, ONE))
FIELDS(checked,
       FIELD(checked, primitive, PRIMITIVE, ONE),
       FIELD(checked, index.axis, I32, ONE),
       FIELD(checked, index.mode, MODE, ONE),
       FIELD(checked, index.no_negative, BOOL, ONE),
       FIELD(checked, index.fill, BITS, ONE),
       FIELD(checked, index.unique, BOOL, ONE),
       FIELD(checked, index.sorted, BOOL, ONE),
       FIELD(checked, index.unordered, BOOL, ONE),
       FIELD(checked, index.numbers, BITS, ONE),
       FIELD(checked, index.apart, BITS, ONE),
       FIELD(checked, index.axes, BITS, ONE),
       FIELD(checked, index.repeats, BITS, ONE),
       FIELD(checked, index.entry, BITS, ONE))
FIELDS(rule, FIELD(rule, rule, RULE, ONE))
FIELDS(debug, FIELD(debug, debug, DEBUG, ONE))
FIELDS(expose, FIELD(expose, exposed, EXPOSED, ONE))
FIELDS(named, FIELD(named, name, NAME, ONE))
FIELDS(vary,
       FIELD(vary, group, GROUP, ONE),
       FIELD(vary, expected, BOOL, ONE),
       FIELD(vary, mapped, BOOL, ONE))
FIELDS(collective,
       FIELD(collective, group, GROUP, ONE),
       FIELD(collective, pairs, PAIRS, ONE),
       FIELD(collective, root, EXTENTS, ONE),
       FIELD(collective, axis, EXTENTS, ONE),
       FIELD(collective, join, EXTENTS, ONE),
       FIELD(collective, unordered, BOOL, ONE),
       FIELD(collective, wrap, BOOL, ONE))

typedef struct description {
    const field *fields;
    size_t bytes;
} description;

#define DESCRIBED(rule)                                                                  \
    { rule##_fields, sizeof(pithp_##rule##_params) }
/* Indexed by the rule column of primitives.def. */
#define RULE_cast        DESCRIBED(cast)
#define RULE_full        DESCRIBED(full)
#define RULE_iota        DESCRIBED(iota)
#define RULE_broadcast   DESCRIBED(broadcast)
#define RULE_reshape     DESCRIBED(reshape)
#define RULE_transpose   DESCRIBED(transpose)
#define RULE_slice       DESCRIBED(slice)
#define RULE_reverse     DESCRIBED(reverse)
#define RULE_concatenate DESCRIBED(concatenate)
#define RULE_pad         DESCRIBED(pad)
#define RULE_scan        DESCRIBED(scan)
#define RULE_cumlinear   DESCRIBED(scan)
#define RULE_sort        DESCRIBED(sort)
#define RULE_search      DESCRIBED(search)
#define RULE_reduce      DESCRIBED(reduce)
#define RULE_product     DESCRIBED(dot)
#define RULE_take        DESCRIBED(index)
#define RULE_take_along  DESCRIBED(index)
#define RULE_scatter     DESCRIBED(index)
#define RULE_dynamic     DESCRIBED(dynamic)
#define RULE_threefry                                                                    \
    { 0 }
#define RULE_while      DESCRIBED(while)
#define RULE_loop       DESCRIBED(loop)
#define RULE_random     DESCRIBED(random)
#define RULE_kernel     DESCRIBED(kernel)
#define RULE_checked    DESCRIBED(checked)
#define RULE_rule       DESCRIBED(rule)
#define RULE_debug      DESCRIBED(debug)
#define RULE_expose     DESCRIBED(expose)
#define RULE_named      DESCRIBED(named)
#define RULE_collective DESCRIBED(collective)
#define RULE_vary       DESCRIBED(vary)
#define RULE_cond                                                                        \
    { 0 }
#define RULE_mark RULE_cond

static const description descriptions[PITHP_PRIMITIVE_COUNT - PITHP_ELEMENTWISE_COUNT] = {
#define PITHP_STRUCTURAL(ENUM, text, operands, rule, ...)                                \
    [PITHP_OP_##ENUM - PITHP_ELEMENTWISE_COUNT] = RULE_##rule,
#define PITHP_CONTROL PITHP_STRUCTURAL
#include "program/op/primitives.def"
};

static const description *describe(pithp_primitive primitive) {
    static const description none = {0};
    if (pithp_is_elementwise(primitive) || primitive == PITHP_OP_DYNAMIC_UPDATE_SLICE)
        return &none;
    return &descriptions[primitive - PITHP_ELEMENTWISE_COUNT];
}

size_t pithp_params_bytes(pithp_primitive primitive) {
    return describe(primitive)->bytes;
}

/* ---- Fields ---- */

static int32_t integer_at(const char *params, size_t offset) {
    int32_t value;
    memcpy(&value, params + offset, sizeof value);
    return value;
}

static int count_of(const field *f, const pithp_call *call) {
    const char *params = call->params;
    switch (f->count) {
        case ONE:
            return 1;
        case RANK: /* `rank` precedes the shape in all of them */
            for (const field *r = describe(call->primitive)->fields; r->name; r++)
                if (!strcmp(r->name, "rank"))
                    return integer_at(params, r->offset);
            return 0;
        case OPERAND_RANK:
            return call->operands[0]->rank;
        case CONTRACTS:
            return integer_at(params, offsetof(pithp_dot_params, contracts));
        case BATCHES:
            return integer_at(params, offsetof(pithp_dot_params, batches));
        case KERNEL_ARGS:
            return ((const pithp_kernel_params *)call->params)->kernel->arg_count;
    }
    return 0;
}

static size_t size_of(const field *f) {
    switch (f->kind) {
        case FIELD_DTYPE:
            return sizeof(pith_dtype);
        case FIELD_MODE:
            return sizeof(pithp_index_mode);
        case FIELD_PRIMITIVE:
            return sizeof(pithp_primitive);
        case FIELD_KERNEL:
            return sizeof(const pith_kernel_variant *);
        case FIELD_DEBUG:
            return sizeof(const pithp_debug *);
        case FIELD_RULE:
            return sizeof(pithp_rule *);
        case FIELD_EXPOSED:
            return sizeof(pithp_exposed *);
        case FIELD_GROUP:
        case FIELD_PAIRS:
            return sizeof(const void *);
        case FIELD_I32:
        case FIELD_AXES:
        case FIELD_DIMENSIONS:
            return sizeof(int32_t);
        case FIELD_BOOL:
            return sizeof(bool);
        case FIELD_BITS:
        case FIELD_F64:
        case FIELD_EXTENTS:
            return sizeof(int64_t);
        case FIELD_BYTES:
            return 1;
        case FIELD_NAME:
            return PITHP_NAME_BYTES;
    }
    return 0;
}

void pithp_params_copy(const pithp_call *call, void *copy) {
    const description *d = describe(call->primitive);
    if (!d->bytes)
        return;
    memset(copy, 0, d->bytes);
    for (const field *f = d->fields; f->name; f++)
        memcpy((char *)copy + f->offset, (const char *)call->params + f->offset,
               (size_t)count_of(f, call) * size_of(f));
}

/* ---- Text ---- */

static void print_pairs(const pithp_mesh_pairs *pairs, pithp_string *text) {
    for (int64_t k = 0; k < pairs->count; k++)
        pithp_string_print(text, "%s%" PRId64 ">%" PRId64, k ? " " : "",
                           pairs->from_to[k][0], pairs->from_to[k][1]);
}

static void print_element(const field *f, const char *at, pithp_string *text) {
    static const char *const modes[] = {"drop", "clip", "wrap", "promise", "error"};
    int64_t wide = 0;
    if (f->kind != FIELD_NAME)
        memcpy(&wide, at, size_of(f));
    switch (f->kind) {
        case FIELD_DTYPE:
            pithp_string_add(text, pith_dtype_name((pith_dtype)wide));
            break;
        case FIELD_MODE:
            pithp_string_add(text, modes[wide]);
            break;
        case FIELD_PRIMITIVE:
            pithp_string_add(text, pithp_ops[wide].name);
            break;
        case FIELD_KERNEL: {
            const pith_kernel_variant *kernel;
            memcpy(&kernel, at, sizeof kernel);
            pithp_string_add(text, kernel->name);
            break;
        }
        case FIELD_DEBUG: {
            const pithp_debug *debug;
            memcpy(&debug, at, sizeof debug);
            pithp_string_print(text, "\"%s\"", debug->message);
            break;
        }
        case FIELD_RULE: {
            const pithp_rule *rule;
            memcpy(&rule, at, sizeof rule);
            pithp_string_add(text, rule->name);
            break;
        }
        case FIELD_EXPOSED:
            pithp_string_add(text, "checks");
            break;
        case FIELD_NAME:
            pithp_string_print(text, "\"%s\"", at);
            break;
        case FIELD_GROUP: {
            const pithp_mesh_group *group;
            memcpy(&group, at, sizeof group);
            pithp_string_print(text, "\"%s\"", group->axes);
            break;
        }
        case FIELD_PAIRS: {
            const pithp_mesh_pairs *pairs;
            memcpy(&pairs, at, sizeof pairs);
            print_pairs(pairs, text);
            break;
        }
        case FIELD_BOOL:
            pithp_string_add(text, wide ? "true" : "false");
            break;
        case FIELD_I32:
        case FIELD_DIMENSIONS:
            pithp_string_print(text, "%" PRId32, integer_at(at, 0));
            break;
        case FIELD_BYTES:
            pithp_string_print(text, "%d", (int)(int8_t)wide);
            break;
        case FIELD_EXTENTS:
            pithp_string_print(text, "%" PRId64, wide);
            break;
        case FIELD_BITS:
            pithp_string_print(text, "0x%" PRIx64, (uint64_t)wide);
            break;
        case FIELD_F64: {
            double value;
            memcpy(&value, at, sizeof value);
            pithp_string_add_number(text, 17, value);
            break;
        }
        case FIELD_AXES: {
            const char *comma = "";
            pithp_string_add(text, "[");
            for (int axis = 0; axis < PITHP_MAX_RANK; axis++)
                if (wide >> axis & 1) {
                    pithp_string_print(text, "%s%d", comma, axis);
                    comma = ",";
                }
            pithp_string_add(text, "]");
            break;
        }
    }
}

static bool is_zero(const field *f, const char *at) {
    const int64_t zero = 0;
    return f->count == ONE && f->kind != FIELD_DTYPE && f->kind != FIELD_NAME &&
           memcmp(at, &zero, size_of(f)) == 0;
}

void pithp_params_text(const pithp_call *call, pithp_string *text) {
    const description *d = describe(call->primitive);
    if (!d->bytes)
        return;
    const char *comma = "";
    pithp_string_add(text, "{");
    for (const field *f = d->fields; f->name; f++) {
        const char *at = (const char *)call->params + f->offset;
        if (!strcmp(f->name, "rank") ||
            (f->kind != FIELD_I32 && f->kind != FIELD_MODE && is_zero(f, at)))
            continue; /* the rank is that of the shape; flags that are off are omitted */
        const int count = count_of(f, call);
        pithp_string_print(text, "%s%s=", comma, f->name);
        if (f->count != ONE)
            pithp_string_add(text, "[");
        for (int i = 0; i < count; i++) {
            if (i)
                pithp_string_add(text, ",");
            print_element(f, at + (size_t)i * size_of(f), text);
        }
        if (f->count != ONE)
            pithp_string_add(text, "]");
        comma = ", ";
    }
    pithp_string_add(text, "}");
}
