/* Linking of math.def's functions into code compiled at run time. Such code cannot see
 * the library's symbols, so it jumps through a table of its own, which is filled after
 * loading. gcc finds the vector forms in it under their ABI names, as in the library. */
#include "program/host/math/link.h"

#include "program/source/prologue_host.h"

#include <string.h>

typedef void (*code)(void);

#if defined(__x86_64__)
enum { FORMS = 5 }; /* scalar; 128 bits, 256 bits without and with AVX2, 512 bits */
#    define VECTOR(isa, lanes, v, name, type)                                            \
        extern void isa##_##name##_##type(void) __asm__("_ZGV" #isa "N" #lanes #v        \
                                                        "_pithp_math_" #name "_" #type);
#    define DECLARE(v, name)                                                             \
        VECTOR(b, 4, v, name, f32)                                                       \
        VECTOR(c, 8, v, name, f32)                                                       \
        VECTOR(d, 8, v, name, f32)                                                       \
        VECTOR(e, 16, v, name, f32)                                                      \
        VECTOR(b, 2, v, name, f64)                                                       \
        VECTOR(c, 4, v, name, f64)                                                       \
        VECTOR(d, 4, v, name, f64)                                                       \
        VECTOR(e, 8, v, name, f64)
#    define PITHP_MATH1(name, ...) DECLARE(v, name)
#    define PITHP_MATH2(name, ...) DECLARE(vv, name)
#    include "program/host/math/math.def"
#    define ADDRESSES(name, type)                                                        \
        (code) pithp_math_##name##_##type, b_##name##_##type, c_##name##_##type,         \
            d_##name##_##type, e_##name##_##type
#else
enum { FORMS = 1 };
#    define ADDRESSES(name, type) (code) pithp_math_##name##_##type
#endif

static const code addresses[] = {
#define ROW(name)              ADDRESSES(name, f32), ADDRESSES(name, f64),
#define PITHP_MATH1(name, ...) ROW(name)
#define PITHP_MATH2(name, ...) ROW(name)
#include "program/host/math/math.def"
};

static const struct {
    const char *name;
    int arguments;
} rows[] = {
#define PITHP_MATH1(name, ...) {#name, 1},
#define PITHP_MATH2(name, ...) {#name, 2},
#include "program/host/math/math.def"
};

_Static_assert(sizeof addresses / sizeof addresses[0] ==
                   sizeof rows / sizeof rows[0] * 2 * FORMS,
               "every function has an address for each type and form");

/* ---- Text ---- */

/* Jumps under the names that the compiler expects. */
static void add_jumps(pithp_string *t) {
    static const char *const types[] = {"f32", "f64"};
    static const char *const vectors[][4] = {{"bN4", "cN8", "dN8", "eN16"},
                                             {"bN2", "cN4", "dN4", "eN8"}};
    int at = 0;
    pithp_string_add(t, "__asm__(\".macro pith_jump symbol, at\\n\"\n"
                        "\".globl \\\\symbol\\n.hidden \\\\symbol\\n\"\n"
                        "\".type \\\\symbol, @function\\n\\\\symbol:\\n\"\n"
                        "\"jmp *pithp_math_table+8*\\\\at(%rip)\\n.endm\\n.text\\n\"\n");
    for (int i = 0; i < PITHP_COUNT(rows); i++)
        for (int type = 0; type < 2; type++) {
            pithp_string_print(t, "\"pith_jump pithp_math_%s_%s, %d\\n\"\n", rows[i].name,
                               types[type], at++);
            for (int form = 0; form < 4; form++)
                pithp_string_print(t, "\"pith_jump _ZGV%s%s_pithp_math_%s_%s, %d\\n\"\n",
                                   vectors[type][form],
                                   rows[i].arguments == 2 ? "vv" : "v", rows[i].name,
                                   types[type], at++);
        }
    pithp_string_add(t, ");\n");
}

/* Calls through the table, without vector forms. */
static void add_calls(pithp_string *t) {
    static const char *const types[] = {"f32", "f64"};
    int at = 0;
    for (int i = 0; i < PITHP_COUNT(rows); i++)
        for (int type = 0; type < 2; type++) {
            const char *T = types[type];
            if (rows[i].arguments == 1)
                pithp_string_print(
                    t,
                    "%s pithp_math_%s_%s(%s x) {\n"
                    "    return ((%s (*)(%s))pithp_math_table[%d])(x);\n}\n",
                    T, rows[i].name, T, T, T, T, at++);
            else
                pithp_string_print(
                    t,
                    "%s pithp_math_%s_%s(%s x, %s y) {\n"
                    "    return ((%s (*)(%s, %s))pithp_math_table[%d])(x, y);\n}\n",
                    T, rows[i].name, T, T, T, T, T, T, at++);
        }
}

void pithp_math_text(pithp_string *t) {
    pithp_string_print(t,
                       "void (*pithp_math_table[%d])(void) "
                       "__attribute__((visibility(\"hidden\"), used));\n"
                       "void pithp_math_link(const void *args, i64 begin, i64 end);\n"
                       "void pithp_math_link(const void *args, i64 begin, i64 end) {\n"
                       "    for (i64 i = begin; i < end; i++)\n"
                       "        if (!pithp_math_table[i])\n"
                       "            pithp_math_table[i] = ((void (*const "
                       "*)(void))args)[i];\n"
                       "}\n",
                       PITHP_COUNT(addresses));
    if (FORMS > 1)
        add_jumps(t);
    else
        add_calls(t);
}

pith_status pithp_math_link(pithp_module *m, pithp_error *e) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* modules are shared */
    pithp_launch launch = {.name = "pithp_math_link"};
    const pith_status rc = pithp_module_search(m, launch.name, &launch, e);
    if (rc != PITH_OK)
        return rc;
    pthread_mutex_lock(&lock);
    launch.loops[0](addresses, 0, PITHP_COUNT(addresses));
    pthread_mutex_unlock(&lock);
    return PITH_OK;
}
