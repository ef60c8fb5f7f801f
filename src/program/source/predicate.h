/* Predicates of control flow; needs a prologue. */
#ifndef PITH_PROGRAM_SOURCE_PREDICATE_H
#define PITH_PROGRAM_SOURCE_PREDICATE_H

/* Load an integer; values above the range of i64 saturate. */
M_FN i64 m_integer_at(const void *p, i32 size, i32 is_signed) {
    switch (size) {
        case 1:
            return is_signed ? (i64) * (const i8 *)p : (i64) * (const u8 *)p;
        case 2:
            return is_signed ? (i64) * (const i16 *)p : (i64) * (const u16 *)p;
        case 4:
            return is_signed ? (i64) * (const i32 *)p : (i64) * (const u32 *)p;
        default: {
            const i64 x = *(const i64 *)p;
            return is_signed || x >= 0 ? x : 0x7fffffffffffffff;
        }
    }
}

M_FN i64 m_decide(const m_decide_args *a) {
    const i64 value = m_integer_at(a->value, a->size, a->is_signed);
    if (a->kind == M_DECIDE_BELOW)
        return value < a->limit;
    if (a->kind == M_DECIDE_TRUTH)
        return value != 0;
    return value < 0 ? 0 : value >= a->limit ? a->limit - 1 : value;
}

#endif
