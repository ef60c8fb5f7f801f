/* Whether a description that comes again is of a type that is registered. Descriptions
 * name their children by functions that register them; while two are compared, such a
 * registration is answered with a comparison instead. Types that lead back to themselves
 * are the same if no difference is found on the way. */
#include "tree/type_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct pair {
    const pith_type *type;
    const pith_field *fields; /* of the description */
} pair;

/* All are guarded by the registry's lock. */
static struct {
    const pith_type *expected; /* what a child is compared with; NULL: nothing is asked */
    bool answered, same;
} question;
static pair *pairs; /* under comparison: taken for the same */
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
    const pith_type *known = child(); /* at once, or by pithp_type_answer */
    const bool same = question.answered ? question.same : known == expected;
    question = before;
    return same;
}

/* A pair stays until the end: one difference is a difference of all that lead to it. */
static bool is_same(const pith_type *t, const pith_type_spec *spec) {
    if (strcmp(t->name, pithp_type_spec_name(spec)) != 0 ||
        pithp_type_difference(t, spec) != -1)
        return false;
    if (!t->ready || is_in_flight(t, spec)) /* its children are still being resolved */
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
