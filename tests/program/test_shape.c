/* Shape primitives against golden values. */
#include "call.h"

#include <stddef.h>

/* Parameters of any rule. */
typedef union {
    pithp_broadcast_params broadcast;
    pithp_reshape_params reshape;
    pithp_transpose_params transpose;
    pithp_slice_params slice;
    pithp_reverse_params reverse;
    pithp_concatenate_params concatenate;
    pithp_pad_params pad;
    pithp_iota_params iota;
} params;

static int read_shape(const golden_json *list, int64_t shape[PITH_MAX_RANK]) {
    int rank = 0;
    for (const golden_json *d = list->child; d; d = d->next)
        shape[rank++] = golden_integer(d);
    return rank;
}

static int axis_of(const golden_json *p, int rank) {
    const int axis = (int)golden_number(p, "axis", 0);
    return axis < 0 ? axis + rank : axis;
}

/* Python's slice of an extent as start, limit, step that exist. */
static void
python_slice(const golden_json *slice, int64_t n, pithp_slice_params *p, int d) {
    const golden_json *part[3];
    for (int i = 0; i < 3; i++)
        part[i] = golden_item(slice, i);
    const int64_t step = part[2]->kind == 'z' ? 1 : golden_integer(part[2]);
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    int64_t end[2];
    for (int i = 0; i < 2; i++) {
        int64_t v = (i == 0) == (step > 0) ? low : high;
        if (part[i]->kind != 'z') {
            v = golden_integer(part[i]);
            v = v < 0 ? v + n : v;
            v = v < low ? low : v > high ? high : v;
        }
        end[i] = v;
    }
    if (step > 0 ? end[1] < end[0] : end[1] > end[0])
        end[1] = end[0];
    p->start[d] = n ? end[0] : 0;
    p->limit[d] = n ? end[1] : 0;
    p->step[d] = n ? step : 1;
}

/* Parameters of a golden case; false: the operation is made of several primitives. */
static bool read_params(const golden_json *one, call *c, params *u) {
    const char *op = golden_text(one, "op");
    const golden_json *p = golden_get(one, "params");
    const pith_spec *x = c->specs[0];
    memset(u, 0, sizeof *u);
    c->params = u;
    c->primitive = call_primitive(op);
    if (!strcmp(op, "slice")) {
        for (int d = 0; d < x->rank; d++)
            python_slice(golden_item(golden_get(p, "slices"), d), x->shape[d], &u->slice,
                         d);
    } else if (!strcmp(op, "pad")) {
        for (int d = 0; d < x->rank; d++) {
            const golden_json *edge = golden_item(golden_get(p, "config"), d);
            u->pad.low[d] = golden_integer(golden_item(edge, 0));
            u->pad.high[d] = golden_integer(golden_item(edge, 1));
            u->pad.interior[d] = golden_integer(golden_item(edge, 2));
        }
    } else if (!strcmp(op, "reverse")) {
        for (const golden_json *a = golden_get(p, "axes")->child; a; a = a->next)
            u->reverse.axes |= 1u << (golden_integer(a) < 0 ? golden_integer(a) + x->rank
                                                            : golden_integer(a));
    } else if (!strcmp(op, "transpose")) {
        int d = 0;
        for (const golden_json *a = golden_get(p, "permutation")->child; a; a = a->next)
            u->transpose.permutation[d++] = (int32_t)golden_integer(a);
    } else if (!strcmp(op, "concatenate")) {
        u->concatenate.axis = axis_of(p, x->rank);
    } else if (!strcmp(op, "reshape")) {
        int64_t known = 1;
        u->reshape.rank = read_shape(golden_get(p, "shape"), u->reshape.shape);
        for (int d = 0; d < u->reshape.rank; d++)
            known *= u->reshape.shape[d] == -1 ? 1 : u->reshape.shape[d];
        for (int d = 0; d < u->reshape.rank; d++)
            if (u->reshape.shape[d] == -1)
                u->reshape.shape[d] = known ? x->count / known : 0;
    } else if (!strcmp(op, "broadcast_to")) {
        c->primitive = PITHP_OP_BROADCAST;
        u->broadcast.rank = read_shape(golden_get(p, "shape"), u->broadcast.shape);
        for (int d = 0; d < x->rank; d++)
            u->broadcast.dimensions[d] = u->broadcast.rank - x->rank + d;
    } else if (!strcmp(op, "iota")) {
        u->iota.rank = read_shape(golden_get(p, "shape"), u->iota.shape);
        u->iota.axis = axis_of(p, u->iota.rank);
        u->iota.dtype = pith_dtype_parse(golden_text(p, "dtype"));
    } else if (!strcmp(op, "broadcast_add")) {
        c->primitive = PITHP_OP_ADD;
    } else {
        return false;
    }
    return true;
}

Test(shape, gives_the_golden_values) {
    const golden_family *g = golden_open("shape");
    int ran = 0, failed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        call c = {0};
        params u;
        for (; golden_tensor_of(g, one, "in", c.count); c.count++) {
            const golden_tensor *t = golden_tensor_of(g, one, "in", c.count);
            c.specs[c.count] = &t->spec;
            c.data[c.count] = t->data;
        }
        if (!golden_get(one, "out") || !read_params(one, &c, &u))
            continue;
        for (c.split = 0; c.split < 12; c.split += 5) {
            call_run(&c);
            failed += !call_agrees(&c, g, one, 0);
            call_free(&c);
        }
        ran++;
    }
    cr_expect(failed == 0, "%d failed", failed);
    cr_expect(ran > 100, "only %d cases ran", ran);
}

/* Every element of a large array under every permutation, against index arithmetic. */
Test(shape, transposes_large_arrays_in_every_order) {
    enum { A = 19, B = 33, C = 40 };
    static int32_t x[A * B * C];
    for (int i = 0; i < A * B * C; i++)
        x[i] = i;
    static const int32_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const pith_spec spec = {PITH_I32, 3, A * B * C, sizeof x, {A, B, C}};
    for (int o = 0; o < PITHP_COUNT(orders); o++) {
        pithp_transpose_params p = {0};
        memcpy(p.permutation, orders[o], sizeof orders[o]);
        call c = {.primitive = PITHP_OP_TRANSPOSE,
                  .count = 1,
                  .specs = {&spec},
                  .data = {x},
                  .params = &p,
                  .split = o};
        cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
        static const int64_t stride[3] = {B * C, C, 1};
        const int32_t *got = c.out;
        for (int64_t i = 0; i < c.result.shape[0]; i++)
            for (int64_t j = 0; j < c.result.shape[1]; j++)
                for (int64_t k = 0; k < c.result.shape[2]; k++)
                    cr_assert(*got++ == i * stride[orders[o][0]] +
                                            j * stride[orders[o][1]] +
                                            k * stride[orders[o][2]]);
        call_free(&c);
    }
}

Test(shape, refuses_what_does_not_fit) {
    const pith_spec x = {PITH_F32, 2, 12, 48, {3, 4}}, y = {PITH_F32, 1, 4, 16, {4}},
                    z = {PITH_F64, 2, 12, 96, {3, 4}};
    const pithp_slice_params past = {{0, 0}, {4, 4}, {1, 1}};
    const pithp_transpose_params twice = {{0, 0}};
    const pithp_reshape_params wrong = {1, {13}}, huge = {3, {1l << 40, 1l << 40, 2}};
    const pithp_concatenate_params first = {0};
    const pithp_broadcast_params back = {2, {4, 3}, {1, 0}};
    const pithp_pad_params cut = {{-2, 0}, {-2, 0}, {0, 0}};
    const struct {
        pithp_primitive primitive;
        int count;
        const pith_spec *specs[2];
        const void *params;
        pith_status code;
        const char *text;
    } cases[] = {
        {PITHP_OP_SLICE, 1, {&x}, &past, PITH_E_INDEX, "extent 3"},
        {PITHP_OP_TRANSPOSE, 1, {&x}, &twice, PITH_E_ARG, "not a permutation"},
        {PITHP_OP_RESHAPE, 1, {&x}, &wrong, PITH_E_SHAPE, "f32[3,4] has 12 elements"},
        {PITHP_OP_RESHAPE, 1, {&x}, &huge, PITH_E_OVERFLOW, "too many elements"},
        {PITHP_OP_CONCATENATE, 2, {&x, &y}, &first, PITH_E_SHAPE, "got f32[4]"},
        {PITHP_OP_CONCATENATE, 2, {&x, &z}, &first, PITH_E_DTYPE, "got f64[3,4]"},
        {PITHP_OP_BROADCAST, 1, {&x}, &back, PITH_E_SHAPE, "cannot broadcast f32[3,4]"},
        {PITHP_OP_PAD, 2, {&x, &y}, &cut, PITH_E_DTYPE, "scalar value"},
        {PITHP_OP_ADD, 2, {&x, &z}, NULL, PITH_E_DTYPE, "got f32[3,4] and f64[3,4]"},
        {PITHP_OP_ADD, 1, {&x}, NULL, PITH_E_ARG, "expected 2 operands, got 1"},
        {PITHP_OP_BITWISE_AND, 2, {&x, &x}, NULL, PITH_E_DTYPE, "integers or bool"},
    };
    for (int i = 0; i < PITHP_COUNT(cases); i++) {
        call c = {.primitive = cases[i].primitive,
                  .count = cases[i].count,
                  .specs = {cases[i].specs[0], cases[i].specs[1]},
                  .params = cases[i].params};
        cr_expect(call_run(&c) == cases[i].code, "case %d: %s", i, c.refusal.text);
        cr_expect(strstr(c.refusal.text, cases[i].text) != NULL, "case %d: %s", i,
                  c.refusal.text);
    }
}
