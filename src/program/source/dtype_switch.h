/* Loads and stores by dtype number (as pith_dtype): a switch per thread, or a constant in
 * generated text. Part of generated text; needs a prologue and source/scalar.h. */
#ifndef PITH_PROGRAM_SOURCE_DTYPE_SWITCH_H
#define PITH_PROGRAM_SOURCE_DTYPE_SWITCH_H

/* X(NAME, storage type) of every dtype in the order of PITH_DTYPE_LIST. */
#define M_SIGNED(X)   X(I8, i8) X(I16, i16) X(I32, i32) X(I64, i64)
#define M_UNSIGNED(X) X(U8, u8) X(U16, u16) X(U32, u32) X(U64, u64)
#define M_SINGLES(X)  X(F16, f16) X(BF16, bf16) X(F32, f32)
#define M_BUT_F64(X)  X(BOOL, b8) M_SIGNED(X) M_UNSIGNED(X) M_SINGLES(X)
#define M_DTYPES(X)   M_BUT_F64(X) X(F64, f64)

#define M_DTYPE_NUMBER(NAME, type) M_DTYPE_##NAME,
enum { M_DTYPE_NONE, M_DTYPES(M_DTYPE_NUMBER) }; /* as pith_dtype */
#define M_IS_SIGNED(dtype) ((dtype) >= M_DTYPE_I8 && (dtype) <= M_DTYPE_I64)
#define M_IS_FLOAT(dtype)  ((dtype) >= M_DTYPE_F16)

/* Store x as element i; its type holds the value exactly. */
#define M_STORE_AS(NAME, type)                                                           \
    case M_DTYPE_##NAME:                                                                 \
        ((type *)to)[i] = m_to_##type(x);                                                \
        break;
#define M_STORE_ANY(name, from)                                                          \
    M_FN void m_store_any_##name(void *to, i64 i, i32 dtype, from x) {                   \
        switch (dtype) {                                                                 \
            M_BUT_F64(M_STORE_AS)                                                        \
            default:                                                                     \
                ((f64 *)to)[i] = m_to_f64(x);                                            \
        }                                                                                \
    }
M_STORE_ANY(signed, i64)
M_STORE_ANY(unsigned, u64)
M_STORE_ANY(real, f64)
M_STORE_ANY(single, f32)

/* Element i as an accumulator of 8 bytes: signed integers are sign-extended, floats are
 * f64. */
M_FN u64 m_load_number(const void *from, i32 dtype, i64 i) {
    switch (dtype) {
        case M_DTYPE_I8:
            return (u64)(i64)((const i8 *)from)[i];
        case M_DTYPE_I16:
            return (u64)(i64)((const i16 *)from)[i];
        case M_DTYPE_I32:
            return (u64)(i64)((const i32 *)from)[i];
        case M_DTYPE_BOOL:
        case M_DTYPE_U8:
            return ((const u8 *)from)[i];
        case M_DTYPE_U16:
            return ((const u16 *)from)[i];
        case M_DTYPE_U32:
            return ((const u32 *)from)[i];
        case M_DTYPE_I64:
        case M_DTYPE_U64:
            return ((const u64 *)from)[i];
        case M_DTYPE_F16:
            return m_bits_f64((f64)m_load_f16(((const f16 *)from)[i]));
        case M_DTYPE_BF16:
            return m_bits_f64((f64)m_load_bf16(((const bf16 *)from)[i]));
        case M_DTYPE_F32:
            return m_bits_f64((f64)((const f32 *)from)[i]);
        default:
            return m_bits_f64(((const f64 *)from)[i]);
    }
}

#endif
