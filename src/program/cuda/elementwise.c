/* Text of a CUDA program of one elementwise operation: types of its operands, its row's
 * expression, and a kernel that applies it to every element. */
#include "program/cuda/cuda.h"
#include "program/op/spelling.h"

/* An unsigned dtype of equal width: WHERE moves bits and computes nothing. */
static pith_dtype moved_as(pith_dtype dtype) {
    switch (pith_dtype_size(dtype)) {
        case 1:
            return PITH_U8;
        case 2:
            return PITH_U16;
        case 4:
            return PITH_U32;
        default:
            return PITH_U64;
    }
}

/* A function of operands a, b, c in their storage types; it returns the result's storage
 * type. */
static void
add_function(pithp_string *t, const pithp_call *call, const char *expression) {
    static const char names[] = "abc";
    pithp_string_add(
        t, "M_FN R apply(const m_elementwise_args *args, const i64 offset[3]) {\n");
    for (int k = 0; k < call->operand_count; k++)
        if (k == 0 && call->primitive == PITHP_OP_WHERE)
            pithp_string_add(
                t, "    const b8 a = ((const b8 *)args->from[0])[offset[0]];\n");
        else
            pithp_string_print(
                t, "    const T %c = LOAD(((const S *)args->from[%d])[offset[%d]]);\n",
                names[k], k, k);
    pithp_string_print(t, "    return KEEP((%s));\n}\n", expression);
}

void pithp_elementwise_text(pithp_string *t, const pithp_call *call) {
    const pithp_op_info *row = &pithp_ops[call->primitive];
    const pith_dtype dtype = call->operands[call->operand_count - 1]->dtype;
    const bool where = call->primitive == PITHP_OP_WHERE;
    const char *name = pithp_dtype_spelling(where ? moved_as(dtype) : dtype);
    pithp_string_print(t, "typedef %s S;\n", name);
    pithp_dtype_scope(t, "", where ? moved_as(dtype) : dtype);
    pithp_string_print(t,
                       "typedef %s R;\n"
                       "#define LOAD(x) LOAD_%s(x)\n#define KEEP(x) %s%s(x)\n",
                       row->predicate ? "b8" : name, name,
                       row->predicate ? "(b8)" : "STORE_", row->predicate ? "" : name);
    add_function(t, call, where || pith_dtype_is_float(dtype) ? row->real : row->integer);
    pithp_string_add(t,
                     "M_KERNEL(pithp_elementwise, m_elementwise_args) {\n"
                     "    R result[M_EACH];\n"
                     "    if (M_ELEMENT(t, 0) >= a->count)\n"
                     "        return;\n"
                     "    M_UNROLL for (i32 k = 0; k < M_EACH; k++) {\n"
                     "        i64 offset[3];\n"
                     "        m_offsets(a, M_ELEMENT_WITHIN(t, k, a->count), offset);\n"
                     "        result[k] = apply(a, offset);\n"
                     "    }\n"
                     "    M_UNROLL for (i32 k = 0; k < M_EACH; k++)\n"
                     "        if (M_ELEMENT(t, k) < a->count)\n"
                     "            ((R *)a->to)[M_ELEMENT(t, k)] = result[k];\n"
                     "}\n");
}
