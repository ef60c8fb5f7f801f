/* pith_expression: formulas over named arrays. */
#include "array/expression_parts.h"

/* Minimum elements of a result to run as a fused plan, made once per formula and
 * dtypes. */
enum { LEAST_FUSED = 2048 };

/* ---- Bindings ---- */

static bool is_name(const char *name) {
    const size_t n = pithp_word_length(name);
    return n > 0 && name[n] == 0 && !pithp_is_digit(name[0]);
}

static pith_status check_binding(pith_scope *s, const pith_binding *all, int64_t k) {
    static const char *const function = "pith_expression";
    const char *const name = all[k].name;
    if (!is_name(name))
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: \"%.64s\" cannot be a name: expected letters, digits and "
                          "_, no digit first",
                          function, name);
    if (pithp_element_type_find(name, strlen(name)) != PITH_DTYPE_NONE)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: \"%s\" cannot be a name: it is a dtype", function, name);
    for (int64_t i = 0; i < k; i++)
        if (strcmp(all[i].name, name) == 0)
            return pithp_fail(s, PITH_E_ARG, NULL, "%s: \"%.64s\" is bound twice",
                              function, name);
    return pithp_operand_check(s, all[k].array, function, name);
}

/* ---- Values ---- */

/* Whether operands have one layout or one element, and the result's shape. */
static bool describe(const pith_array *const *operands,
                     pithp_fused_key *key,
                     const pith_spec **like) {
    *like = NULL;
    for (int k = 0; k < key->count; k++) {
        const pith_spec *spec = pithp_array_spec(operands[k]);
        key->dtypes[k] = (uint8_t)spec->dtype;
        if (spec->rank == 0) {
            key->scalar |= 1u << k;
            continue;
        }
        if (*like && (spec->rank != (*like)->rank ||
                      memcmp(spec->shape, (*like)->shape,
                             (size_t)spec->rank * sizeof *spec->shape) != 0))
            return false;
        *like = spec;
    }
    return *like != NULL;
}

static const pith_array *run_fused(pith_scope *s,
                                   pithp_fused_code *code,
                                   const pith_spec *like,
                                   const pith_array *const *operands,
                                   int count) {
    const void *data[PITHP_FUSED_OPERANDS];
    for (int k = 0; k < count; k++)
        data[k] = operands[k]->data;
    const pith_spec *spec =
        pithp_spec(s, pithp_fused_dtype(code), like->rank, like->shape);
    pith_array *result = spec ? pithp_array_make(s, spec) : NULL;
    if (!result ||
        pithp_fused_code_run(s, code, data, result->data, spec->count) == PITH_OK)
        return result;
    pithp_array_drop(s, result);
    return NULL;
}

/* Evaluate all operations in one pass over large operands; *made: whether it was done, or
 * failed. */
static const pith_array *evaluate_fused(pith_scope *s,
                                        const pithp_expression *e,
                                        const pith_array *const *operands,
                                        int64_t count,
                                        bool *made) {
    pithp_fused_key key;
    const pith_spec *like;
    pithp_fused_code *code = NULL;
    memset(&key, 0, sizeof key); /* with padding: the key is compared as bytes */
    key.count = (int)count;
    *made = false;
    if (e->operations < 2 || count > PITHP_FUSED_OPERANDS || pithp_scope_trace(s) ||
        !describe(operands, &key, &like) || like->count < LEAST_FUSED)
        return NULL;
    *made = pithp_expression_fuse(s, e, &key, &code) != PITH_OK || code;
    const pith_array *result =
        code ? run_fused(s, code, like, operands, (int)count) : NULL;
    pithp_fused_code_release(code);
    return result;
}

static const pith_array *evaluate(pith_scope *s,
                                  const pithp_expression *e,
                                  const pith_array *const *operands,
                                  int64_t count) {
    bool made;
    const pith_array *result = evaluate_fused(s, e, operands, count, &made);
    if (made)
        return result;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    result = pithp_expression_record(w, e, operands, PITH_DTYPE_NONE);
    return pithp_temporaries_close(s, w, result);
}

const pith_array *
pith_expression(pith_scope *s, const char *text, const pith_binding *bindings) {
    if (!pithp_enter(s))
        return NULL;
    if (!text) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_expression: text is NULL");
        return NULL;
    }
    pithp_expression_names names = {.bindings = bindings, .parameters = -1};
    for (; bindings && bindings[names.count].name; names.count++)
        if (check_binding(s, bindings, names.count) != PITH_OK)
            return NULL;
    pithp_expression e;
    const size_t bytes = (size_t)names.count * sizeof(const pith_array *);
    const pith_array **operands = pithp_scratch_allocate(s->runtime, bytes + 1);
    if (!operands) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    for (int64_t k = 0; k < names.count; k++)
        operands[k] = bindings[k].array;
    const pith_array *result = NULL;
    if (pithp_expression_parse(s, &e, text, &names) == PITH_OK) {
        result = evaluate(s, &e, operands, names.count);
        pithp_expression_end(&e);
    }
    pithp_scratch_release(s->runtime, operands, bytes + 1);
    return result;
}
