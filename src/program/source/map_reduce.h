/* Loops that make elements and reduce them at once, in emitted text: elements stay in
 * registers, and so do the lanes of a row. They keep the order of host/vector/reduce.c.
 *
 * The text defines NAME_from, which says where a step's externals are; NAME_open(at),
 * which makes one; and NAME_element(from, i), which is element i as it is accumulated.
 * After combine.h and fold_args.h. */
#ifndef PITH_PROGRAM_SOURCE_MAP_REDUCE_H
#define PITH_PROGRAM_SOURCE_MAP_REDUCE_H

#define M_MADE(element, i) element(from, first + (i))

/* Rows begin to end, which follow each other. Those of three elements, vectors in space,
 * are done side by side. */
#define M_FOLD_ROWS(NAME, A, IDENTITY, COMBINE)                                          \
    M_FN A NAME##_row(const NAME##_from from, i64 first, i64 n){                         \
        M_IN_ORDER(A, M_MADE, NAME##_element, IDENTITY,                                  \
                   COMBINE)} M_FN A NAME##_three(const NAME##_from from, i64 first) {    \
        const A none = IDENTITY, x = M_MADE(NAME##_element, 0),                          \
                y = M_MADE(NAME##_element, 1), z = M_MADE(NAME##_element, 2);            \
        const A pair = COMBINE(x, y), all = COMBINE(pair, z);                            \
        return COMBINE(none, all);                                                       \
    }                                                                                    \
    void NAME(const void *args, i64 begin, i64 end) {                                    \
        const m_fold_args *const r = (const m_fold_args *)args;                          \
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

/* Elements begin to end go to an accumulator each. */
#define M_FOLD_COLUMNS(NAME, A, IDENTITY, COMBINE)                                       \
    void NAME(const void *args, i64 begin, i64 end) {                                    \
        const m_fold_args *const r = (const m_fold_args *)args;                          \
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
