/* An elementwise C expression as a function over chunks of leaves. The text is one for cc
 * and NVRTC: behind the prologue of src/program/emit, a loop for each tuple of dtypes
 * that occurs, and one function that finds chunk and loop of an index.
 *
 *     a, b, c, d     an element of the first, second, ... tree; f16 and bf16 as f32
 *     p[0] .. p[7]   the parameters: f32 where a is f32, f16 or bf16, else f64
 *     sin(x), ...    functions of math.h, of the type of x (integers: f64), as is y
 *     quotient, rest division of integers, 0 where the divisor is */
#include "tree/expression.h"

#include <string.h>

static const struct {
    const char *name, *argument, *value;
} functions[] = {
#define ONE(name, row)                                                                   \
    { #name, "x", "m_" #row "(pith_real(x))" }
#define TWO(name, row)                                                                   \
    { #name, "x, y", "m_" #row "(pith_real(x), (PITH_TYPE(x))(y))" }
    ONE(sqrt, sqrt),
    ONE(cbrt, cbrt),
    ONE(exp, exp),
    ONE(exp2, exp2),
    ONE(expm1, expm1),
    ONE(log, log),
    ONE(log2, log2),
    ONE(log10, log10),
    ONE(log1p, log1p),
    ONE(sin, sin),
    ONE(cos, cos),
    ONE(tan, tan),
    ONE(asin, asin),
    ONE(acos, acos),
    ONE(atan, atan),
    ONE(sinh, sinh),
    ONE(cosh, cosh),
    ONE(tanh, tanh),
    ONE(asinh, asinh),
    ONE(acosh, acosh),
    ONE(atanh, atanh),
    ONE(erf, erf),
    ONE(erfc, erfc),
    ONE(lgamma, lgamma),
    ONE(tgamma, tgamma),
    ONE(fabs, abs),
    ONE(floor, floor),
    ONE(ceil, ceil),
    ONE(trunc, trunc),
    ONE(rint, rint),
    ONE(nearbyint, rint),
    TWO(pow, pow),
    TWO(atan2, atan2),
    TWO(hypot, hypot),
    TWO(fmod, fmod),
    TWO(copysign, copysign),
#undef ONE
#undef TWO
    {"fmin", "x, y", "pith_fmin(pith_real(x), pith_real(y))"},
    {"fmax", "x, y", "pith_fmax(pith_real(x), pith_real(y))"},
    {"quotient", "x, y", "m_quotient(x, y)"},
    {"rest", "x, y", "m_rest(x, y)"},
};

/* ---- Reading ---- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* One identifier: operands and parameters must be given. */
static pith_status
check_name(pith_scope *s, const pithp_map_text *m, const char *name, size_t n) {
    const int operand = n == 1 && name[0] >= 'a' && name[0] <= 'd' ? name[0] - 'a' : -1;
    if (operand >= m->trees)
        return pithp_fail(
            s, PITH_E_ARG, NULL, "the expression uses %c, but there %s %d tree%s",
            name[0], m->trees == 1 ? "is" : "are", m->trees, m->trees == 1 ? "" : "s");
    if (n != 1 || name[0] != 'p')
        return PITH_OK;
    const char *index = name + 1 + strspn(name + 1, " ");
    if (*index != '[' || !is_digit(index[1]) || is_digit(index[2]) || index[2] != ']')
        return pithp_fail(
            s, PITH_E_ARG, NULL,
            "the expression uses p, which takes an index from p[0] to p[%d]",
            PITHP_MAP_PARAMETERS - 1);
    if (index[1] - '0' >= m->parameters)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "the expression uses p[%c], but %d parameter%s given", index[1],
                          m->parameters, m->parameters == 1 ? " is" : "s are");
    return PITH_OK;
}

pith_status pithp_expression_check(pith_scope *s, const pithp_map_text *m) {
    int depth = 0;
    for (const char *p = m->expression; *p;) {
        if (is_letter(*p)) {
            const char *name = p;
            while (is_letter(*p) || is_digit(*p))
                p++;
            const pith_status rc = check_name(s, m, name, (size_t)(p - name));
            if (rc != PITH_OK)
                return rc;
            continue;
        }
        if (is_digit(*p)) { /* 1e-3f, 0x1p4: letters belong to the number */
            while (is_letter(*p) || is_digit(*p) || *p == '.')
                p++;
            continue;
        }
        depth += (*p == '(') - (*p == ')');
        if (depth < 0 || strchr(";{}#\"'\\@`$", *p) || (unsigned char)*p < ' ' ||
            (unsigned char)*p > '~' || (p[0] == '/' && (p[1] == '/' || p[1] == '*')))
            return pithp_fail(s, PITH_E_ARG, NULL,
                              "expected one C expression, got \"%.120s\"", m->expression);
        p++;
    }
    if (depth != 0 || m->expression[strspn(m->expression, " ")] == 0)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "expected one C expression, got \"%.120s\"", m->expression);
    return PITH_OK;
}

bool pithp_expression_divides(const char *expression) {
    return strpbrk(expression, "/%") != NULL;
}

/* ---- Writing ---- */

static const char head[] =
    "typedef struct { i64 loop, count; void *at[PITH_ADDRESSES]; } pith_chunk;\n"
    "typedef struct {\n"
    "    const pith_chunk *chunks;\n"
    "    i64 total, shift, streamed;\n"
    "    f64 parameters[8];\n"
    "    pith_chunk whole;\n"
    "} pith_args;\n"
    "#ifdef __cplusplus\n"
    "M_FN f32 pith_real(f32 x) { return x; }\n"
    "template <class T> M_FN f64 pith_real(T x) { return (f64)x; }\n"
    "#define PITH_TYPE(x) decltype(pith_real(x))\n"
    "#else\n"
    "#define pith_real(x) _Generic((x), f32 : (x), default : (f64)(x))\n"
    "#define PITH_TYPE(x) __typeof__(pith_real(x))\n"
    "#endif\n"
    "#define pith_fmin(x, y) ((x) < (y) || (y) != (y) ? (x) : (y))\n"
    "#define pith_fmax(x, y) ((x) > (y) || (y) != (y) ? (x) : (y))\n";

/* What the caches cannot hold is streamed: a store of a whole line that goes past them
 * need not read the line first, which is a third of the traffic of one operand. Blocks of
 * the result are computed in the first cache, so that loops stay as they are. */
static const char dispatch[] =
    "#if defined(__x86_64__) && !defined(__CUDACC__)\n"
    "#define PITH_BLOCK 4096\n"
    "#if defined(__AVX512F__)\n"
    "typedef long long pith_line __attribute__((vector_size(64)));\n"
    "#define PITH_STREAM __builtin_ia32_movntdq512\n"
    "#elif defined(__AVX__)\n"
    "typedef long long pith_line __attribute__((vector_size(32)));\n"
    "#define PITH_STREAM __builtin_ia32_movntdq256\n"
    "#else\n"
    "typedef long long pith_line __attribute__((vector_size(16)));\n"
    "#define PITH_STREAM __builtin_ia32_movntdq\n"
    "#endif\n"
    "#ifdef __clang__\n"
    "#undef PITH_STREAM\n"
    "#define PITH_STREAM(to, x) __builtin_nontemporal_store(x, to)\n"
    "#endif\n"
    "M_FN void pith_stream(char *to, const char *from, i64 bytes) {\n"
    "    const i64 line = (i64)sizeof(pith_line);\n"
    "    i64 i = 0;\n"
    "    if ((__UINTPTR_TYPE__)to % sizeof(pith_line) == 0)\n"
    "        for (; i + line <= bytes; i += line)\n"
    "            PITH_STREAM((pith_line *)(to + i), *(const pith_line *)(from + i));\n"
    "    __builtin_memcpy(to + i, from + i, (u64)(bytes - i));\n"
    "}\n"
    "M_FN void pith_part(const pith_args *args, const pith_chunk *chunk, i64 begin,\n"
    "                    i64 end) {\n"
    "    __attribute__((aligned(64))) char block[PITH_BLOCK];\n"
    "    const i64 *sizes = pith_sizes[chunk->loop];\n"
    "    const i64 step = args->streamed ? PITH_BLOCK / sizes[0] : end - begin;\n"
    "    for (i64 i = begin; i < end; i += step) {\n"
    "        const i64 n = end - i < step ? end - i : step;\n"
    "        void *at[PITH_ADDRESSES];\n"
    "        for (int k = 0; k < PITH_ADDRESSES; k++)\n"
    "            at[k] = (char *)chunk->at[k] + i * sizes[k];\n"
    "        char *const to = (char *)at[0];\n"
    "        if (args->streamed)\n"
    "            at[0] = block;\n"
    "        pith_loop(chunk->loop, at, 0, n, args->parameters);\n"
    "        if (args->streamed)\n"
    "            pith_stream(to, block, n * sizes[0]);\n"
    "    }\n"
    "    if (args->streamed)\n"
    "        __builtin_ia32_sfence();\n"
    "}\n"
    "#else\n"
    "M_FN void pith_part(const pith_args *args, const pith_chunk *chunk, i64 begin,\n"
    "                    i64 end) {\n"
    "    pith_loop(chunk->loop, chunk->at, begin, end, args->parameters);\n"
    "}\n"
    "#endif\n"
    "M_FN void pith_range(const pith_args *args, i64 begin, i64 end) {\n"
    "    while (begin < end) {\n"
    "        const i64 c = begin >> args->shift, first = c << args->shift;\n"
    "        const pith_chunk *chunk = args->chunks ? &args->chunks[c] : &args->whole;\n"
    "        const i64 from = begin - first;\n"
    "        i64 to = end - first;\n"
    "        to = to < chunk->count ? to : chunk->count;\n"
    "        if (from < to)\n"
    "            pith_part(args, chunk, from, to);\n"
    "        begin = first + ((i64)1 << args->shift);\n"
    "    }\n"
    "}\n"
    "#ifdef __CUDACC__\n"
    "extern \"C\" __global__ void pith_map(const pith_args args) {\n"
    "    const i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;\n"
    "    if (i < args.total)\n"
    "        pith_range(&args, i, i + 1);\n"
    "}\n"
    "#else\n"
    "void pith_map(const void *args, i64 begin, i64 end) {\n"
    "    pith_range((const pith_args *)args, begin, end);\n"
    "}\n"
    "#endif\n";

/* The prologue's name of a dtype. */
static const char *name_of(pith_dtype dtype) {
    return dtype == PITH_BOOL ? "b8" : pith_dtype_name(dtype);
}

static bool is_half(pith_dtype dtype) {
    return dtype == PITH_F16 || dtype == PITH_BF16;
}

static void emit_loop(pithp_text *t, const pithp_map_text *m, int number) {
    const uint8_t *dtypes = m->loops[number].dtypes;
    const pith_dtype to = (pith_dtype)dtypes[0];
    const char *real = is_half(to) || to == PITH_F32 ? "f32" : "f64";
    pithp_text_print(t,
                     "M_FN void pith_loop_%d(void *const *at, i64 begin, i64 end, "
                     "const f64 *q) {\n"
                     "    %s *__restrict__ to = (%s *)at[0];\n",
                     number, name_of(to), name_of(to));
    for (int k = 0; k < m->trees; k++)
        pithp_text_print(t, "    const %s *__restrict__ from_%c = (const %s *)at[%d];\n",
                         name_of((pith_dtype)dtypes[k]), 'a' + k,
                         name_of((pith_dtype)dtypes[k]), k + 1);
    if (m->parameters) {
        pithp_text_print(t, "    const %s p[] = {", real);
        for (int i = 0; i < m->parameters; i++)
            pithp_text_print(t, "%s(%s)q[%d]", i ? ", " : "", real, i);
        pithp_text_add(t, "};\n");
    }
    pithp_text_add(t, "    (void)q;\n    for (i64 i = begin; i < end; i++) {\n");
    for (int k = 0; k < m->trees; k++) {
        const pith_dtype dtype = (pith_dtype)dtypes[k];
        const char c = (char)('a' + k);
        if (is_half(dtype))
            pithp_text_print(t, "        const f32 %c = m_load_%s(from_%c[i]);\n", c,
                             name_of(dtype), c);
        else
            pithp_text_print(t, "        const %s %c = from_%c[i];\n", name_of(dtype), c,
                             c);
    }
    for (int k = 0; k < m->trees; k++)
        pithp_text_print(t, "        (void)%c;\n", 'a' + k);
    pithp_text_print(t, "        to[i] = m_to_%s((%s));\n    }\n}\n", name_of(to),
                     m->expression);
}

/* Bytes of an element at each address of a loop. */
static void emit_sizes(pithp_text *t, const pithp_map_text *m) {
    pithp_text_add(t, "#if defined(__x86_64__) && !defined(__CUDACC__)\n"
                      "static const i64 pith_sizes[][PITH_ADDRESSES] = {\n");
    for (int i = 0; i < m->loop_count; i++) {
        const uint8_t *dtypes = m->loops[i].dtypes;
        pithp_text_print(t, "    {%zu", pith_dtype_size((pith_dtype)dtypes[0]));
        for (int k = 0; k < m->trees; k++)
            pithp_text_print(t, ", %zu", pith_dtype_size((pith_dtype)dtypes[k]));
        pithp_text_add(t, "},\n");
    }
    pithp_text_add(t, "};\n#endif\n");
}

void pithp_expression_emit(pithp_text *t, const pithp_map_text *m) {
    pithp_text_print(t, "#define PITH_ADDRESSES %d\n", m->trees + 1);
    pithp_text_add(t, head);
    for (int i = 0; i < PITHP_COUNT(functions); i++)
        pithp_text_print(t, "#define %s(%s) %s\n", functions[i].name,
                         functions[i].argument, functions[i].value);
    for (int i = 0; i < m->loop_count; i++)
        emit_loop(t, m, i);
    pithp_text_add(t,
                   "M_FN void pith_loop(i64 loop, void *const *at, i64 begin, i64 end, "
                   "const f64 *q) {\n    switch (loop) {\n");
    for (int i = 0; i < m->loop_count; i++)
        pithp_text_print(
            t, "    case %d:\n        pith_loop_%d(at, begin, end, q);\n        break;\n",
            i, i);
    pithp_text_add(t, "    }\n}\n");
    emit_sizes(t, m);
    pithp_text_add(t, dispatch);
}
