/* Equality of a repeated declaration and a registered type. Declarations name children by
 * functions that register them. During a comparison, such a registration runs a
 * comparison instead. Recursive types are equal if no difference is found on the way. */
#include "tree/type_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct pair {
    const pith_type *type;
    const pith_field *fields; /* of the declaration */
} pair;

/* The lock of the registry guards all of these. */
static struct {
    const pith_type
        *expected; /* the type to compare the child with; NULL: no comparison runs */
    bool answered, same;
} question;
static pair *pairs; /* being compared: assumed equal */
static size_t pair_count, pair_room;
static bool short_of_memory;

static bool is_in_flight(const pith_type *t, const pith_type_spec *spec) {
    for (size_t i = 0; i < pair_count; i++)
        if (pairs[i].type == t && pairs[i].fields == spec->fields)
            return true;
    return false;
}

static bool begin(const pith_type *t, const pith_type_spec *spec) {
    if (pair_count == pair_room) {
        const size_t room = pair_room ? 2 * pair_room : 16;
        pair *grown = realloc(pairs, room * sizeof *grown);
        short_of_memory |= !grown;
        if (!grown)
            return false;
        pairs = grown;
        pair_room = room;
    }
    pairs[pair_count++] = (pair){t, spec->fields};
    return true;
}

static bool is_same(const pith_type *t, const pith_type_spec *spec);

static bool is_same_child(const pith_type *expected, const pith_type *(*child)(void)) {
    const __typeof__(question) before = question;
    question.expected = expected;
    question.answered = false;
    const pith_type *known = child(); /* answers directly, or through pithp_type_answer */
    const bool same = question.answered ? question.same : known == expected;
    question = before;
    return same;
}

/* A pair stays in the list until the end: one difference makes every type that leads to
 * it differ. */
static bool is_same(const pith_type *t, const pith_type_spec *spec) {
    if (strcmp(t->name, pithp_type_spec_name(spec)) != 0 ||
        pithp_type_difference(t, spec) != -1)
        return false;
    if (!t->ready || is_in_flight(t, spec)) /* its children are not resolved yet */
        return true;
    bool same = begin(t, spec);
    for (int32_t i = 0; same && i < t->field_count; i++)
        if (spec->fields[i].child && t->fields[i].child)
            same = is_same_child(t->fields[i].child, spec->fields[i].child);
    return same;
}

bool pithp_type_answer(const pith_type_spec *spec) {
    if (!question.expected)
        return false;
    const bool same = is_same(question.expected, spec);
    question.answered = true;
    question.same = same;
    return true;
}

bool pithp_type_same(const pith_type *t, const pith_type_spec *spec, bool *no_memory) {
    const bool same = is_same(t, spec);
    *no_memory |= short_of_memory;
    free(pairs);
    pairs = NULL;
    pair_count = pair_room = 0;
    short_of_memory = false;
    return same;
}
