/* Elements whose dtype is a number, that of pith_dtype: what a thread switches by, or, in
 * emitted text, a constant. Part of texts, after a prologue and emit/helpers.h. */
#ifndef PITH_PROGRAM_SOURCE_DTYPE_SWITCH_H
#define PITH_PROGRAM_SOURCE_DTYPE_SWITCH_H

/* Store x, of a type that holds it exactly, as element i of the dtype. */
#define M_STORE_AS(dtype, type)                                                          \
    case dtype:                                                                          \
        ((type *)to)[i] = m_to_##type(x);                                                \
        break;
#define M_STORE_ANY(name, from)                                                          \
    M_FN void m_store_any_##name(void *to, i64 i, i32 dtype, from x) {                   \
        switch (dtype) {                                                                 \
            M_STORE_AS(1, b8)                                                            \
            M_STORE_AS(2, i8)                                                            \
            M_STORE_AS(3, i16)                                                           \
            M_STORE_AS(4, i32)                                                           \
            M_STORE_AS(5, i64)                                                           \
            M_STORE_AS(6, u8)                                                            \
            M_STORE_AS(7, u16)                                                           \
            M_STORE_AS(8, u32)                                                           \
            M_STORE_AS(9, u64)                                                           \
            M_STORE_AS(10, f16)                                                          \
            M_STORE_AS(11, bf16)                                                         \
            M_STORE_AS(12, f32)                                                          \
            default:                                                                     \
                ((f64 *)to)[i] = m_to_f64(x);                                            \
        }                                                                                \
    }
M_STORE_ANY(signed, i64)
M_STORE_ANY(unsigned, u64)
M_STORE_ANY(real, f64)
M_STORE_ANY(single, f32)

/* Element i as an accumulator of 8 bytes: signed integers keep their sign, floats are
 * f64. */
M_FN u64 m_load_number(const void *from, i32 dtype, i64 i) {
    switch (dtype) {
        case 2:
            return (u64)(i64)((const i8 *)from)[i];
        case 3:
            return (u64)(i64)((const i16 *)from)[i];
        case 4:
            return (u64)(i64)((const i32 *)from)[i];
        case 1:
        case 6:
            return ((const u8 *)from)[i];
        case 7:
            return ((const u16 *)from)[i];
        case 8:
            return ((const u32 *)from)[i];
        case 5:
        case 9:
            return ((const u64 *)from)[i];
        case 10:
            return m_bits_f64((f64)m_load_f16(((const f16 *)from)[i]));
        case 11:
            return m_bits_f64((f64)m_load_bf16(((const bf16 *)from)[i]));
        case 12:
            return m_bits_f64((f64)((const f32 *)from)[i]);
        default:
            return m_bits_f64(((const f64 *)from)[i]);
    }
}

#endif
