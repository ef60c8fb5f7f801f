/* The text of a program of one elementwise operation: types of its operands, its row's
 * expression, and a kernel that applies it to every element. */
#include "program/cuda/cuda.h"

/* How a dtype is written in expressions; in the order of pith_dtype. */
typedef struct spelling {
    const char *storage, *type, *wrapping, *unsigned_type, *load, *store, *half;
} spelling;

static const spelling spellings[PITH_DTYPE_COUNT] = {
    [PITH_BOOL] = {"b8", "b8", "u32", "u8", "x", "(b8)((x) & 1)", "M_HALF_NONE"},
    [PITH_I8] = {"i8", "i8", "u32", "u8", "x", "(i8)(x)", "M_HALF_NONE"},
    [PITH_I16] = {"i16", "i16", "u32", "u16", "x", "(i16)(x)", "M_HALF_NONE"},
    [PITH_I32] = {"i32", "i32", "u32", "u32", "x", "(i32)(x)", "M_HALF_NONE"},
    [PITH_I64] = {"i64", "i64", "u64", "u64", "x", "(i64)(x)", "M_HALF_NONE"},
    [PITH_U8] = {"u8", "u8", "u32", "u8", "x", "(u8)(x)", "M_HALF_NONE"},
    [PITH_U16] = {"u16", "u16", "u32", "u16", "x", "(u16)(x)", "M_HALF_NONE"},
    [PITH_U32] = {"u32", "u32", "u32", "u32", "x", "(u32)(x)", "M_HALF_NONE"},
    [PITH_U64] = {"u64", "u64", "u64", "u64", "x", "(u64)(x)", "M_HALF_NONE"},
    [PITH_F16] = {"f16", "f32", "u32", "u16", "m_load_f16(x)", "m_store_f16(x)",
                  "M_HALF_F16"},
    [PITH_BF16] = {"bf16", "f32", "u32", "u16", "m_load_bf16(x)", "m_store_bf16(x)",
                   "M_HALF_BF16"},
    [PITH_F32] = {"f32", "f32", "u32", "u32", "x", "(x)", "M_HALF_NONE"},
    [PITH_F64] = {"f64", "f64", "u64", "u64", "x", "(x)", "M_HALF_NONE"},
};

/* Bits of a width, for where, which computes nothing. */
static const spelling *moved_as(pith_dtype dtype) {
    switch (pith_dtype_size(dtype)) {
        case 1:
            return &spellings[PITH_U8];
        case 2:
            return &spellings[PITH_U16];
        case 4:
            return &spellings[PITH_U32];
        default:
            return &spellings[PITH_U64];
    }
}

/* Operands a, b, c from elements of their storage types, and the result from them. */
static void add_function(pithp_text *t, const pithp_call *call, const char *expression) {
    static const char names[] = "abc";
    pithp_text_add(t, "M_FN R apply(const m_one_args *args, const i64 place[3]) {\n");
    for (int k = 0; k < call->operand_count; k++)
        if (k == 0 && call->primitive == PITHP_OP_WHERE)
            pithp_text_add(t,
                           "    const b8 a = ((const b8 *)args->from[0])[place[0]];\n");
        else
            pithp_text_print(
                t, "    const T %c = LOAD(((const S *)args->from[%d])[place[%d]]);\n",
                names[k], k, k);
    pithp_text_print(t, "    return KEEP((%s));\n}\n", expression);
}

void pithp_one_text(pithp_text *t, const pithp_call *call) {
    const pithp_row *row = &pithp_rows[call->primitive];
    const pith_dtype dtype = call->operands[call->operand_count - 1]->dtype;
    const bool where = call->primitive == PITHP_OP_WHERE;
    const spelling *s = where ? moved_as(dtype) : &spellings[dtype];
    pithp_text_print(t,
                     "typedef %s S;\ntypedef %s T;\ntypedef %s U;\ntypedef %s V;\n"
                     "enum { HALF = %s };\ntypedef %s R;\n"
                     "#define LOAD(x) %s\n#define KEEP(x) %s\n",
                     s->storage, s->type, s->wrapping, s->unsigned_type, s->half,
                     row->predicate ? "b8" : s->storage, s->load,
                     row->predicate ? "(b8)(x)" : s->store);
    add_function(t, call, where || pith_dtype_is_float(dtype) ? row->real : row->integer);
    pithp_text_add(t, "M_KERNEL(pithp_one, m_one_args) {\n"
                      "    R result[M_EACH];\n"
                      "    for (i32 k = 0; k < M_EACH; k++) {\n"
                      "        const i64 i = M_ELEMENT(t, k);\n"
                      "        i64 place[3];\n"
                      "        if (i >= a->count)\n"
                      "            break;\n"
                      "        m_places(a, i, place);\n"
                      "        result[k] = apply(a, place);\n"
                      "    }\n"
                      "    for (i32 k = 0; k < M_EACH; k++) {\n"
                      "        const i64 i = M_ELEMENT(t, k);\n"
                      "        if (i < a->count)\n"
                      "            ((R *)a->to)[i] = result[k];\n"
                      "    }\n"
                      "}\n");
}
