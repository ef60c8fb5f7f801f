/* Fused map and reduction loops in generated text: elements and the lanes of a row stay
 * in registers. The order is that of host/vector/reduce.c.
 *
 * The text defines NAME_from, the addresses of a step's operands in memory;
 * NAME_open(at), which makes one; and NAME_element(from, i), element i in the
 * accumulator's type. Needs source/reducers.h and source/args/map_reduce.h. */
#ifndef PITH_PROGRAM_SOURCE_MAP_REDUCE_H
#define PITH_PROGRAM_SOURCE_MAP_REDUCE_H

#define M_MADE(element, i) element(from, first + (i))

/* Reduce consecutive rows, begin to end. Rows of three elements, vectors in space, are
 * vectorised across rows. */
#define M_MAP_REDUCE_ROWS(NAME, A, IDENTITY, COMBINE)                                    \
    M_FN A NAME##_row(const NAME##_from from, i64 first, i64 n){                         \
        M_IN_ORDER(A, M_MADE, NAME##_element, IDENTITY,                                  \
                   COMBINE)} M_FN A NAME##_three(const NAME##_from from, i64 first) {    \
        const A none = IDENTITY, x = M_MADE(NAME##_element, 0),                          \
                y = M_MADE(NAME##_element, 1), z = M_MADE(NAME##_element, 2);            \
        const A pair = COMBINE(x, y), all = COMBINE(pair, z);                            \
        return COMBINE(none, all);                                                       \
    }                                                                                    \
    void NAME(const void *args, i64 begin, i64 end) {                                    \
        const m_map_reduce_args *const r = (const m_map_reduce_args *)args;              \
        const NAME##_from from = NAME##_open(r->at);                                     \
        const i64 first = r->first, length = r->length;                                  \
        A *const to = (A *)r->to;                                                        \
        if (length == 3) {                                                               \
            M_LOOP                                                                       \
            for (i64 i = begin; i < end; i++)                                            \
                to[i - begin] = NAME##_three(from, first + 3 * i);                       \
        } else {                                                                         \
            for (i64 i = begin; i < end; i++)                                            \
                to[i - begin] = NAME##_row(from, first + i * length, length);            \
        }                                                                                \
    }

/* Elements begin to end are combined with one accumulator each. */
#define M_MAP_REDUCE_COLUMNS(NAME, A, IDENTITY, COMBINE)                                 \
    void NAME(const void *args, i64 begin, i64 end) {                                    \
        const m_map_reduce_args *const r = (const m_map_reduce_args *)args;              \
        const NAME##_from from = NAME##_open(r->at);                                     \
        A *const to = (A *)r->to;                                                        \
        if (r->begins) {                                                                 \
            M_LOOP                                                                       \
            for (i64 i = begin; i < end; i++)                                            \
                to[i - begin] = NAME##_element(from, i);                                 \
        } else {                                                                         \
            M_LOOP                                                                       \
            for (i64 i = begin; i < end; i++) {                                          \
                const A next = NAME##_element(from, i);                                  \
                to[i - begin] = COMBINE(to[i - begin], next);                            \
            }                                                                            \
        }                                                                                \
    }

#endif
