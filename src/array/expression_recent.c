/* Cache of a thread's recently parsed short expressions, so that a text in a loop is
 * parsed once. It holds postfix code, which belongs to no runtime. */
#include "array/expression.h"

#include <string.h>

enum { RECENT = 4, MOST_KEY = 160 };

/* Cache key: the text, the names of operands in order, and the rules. */
typedef struct key {
    size_t length;
    char bytes[MOST_KEY];
} key;

typedef struct recent {
    key key; /* length 0: unused */
    int64_t count, deepest, operations;
    pithp_term terms[PITHP_FEW_TERMS];
} recent;

static _Thread_local recent kept[RECENT];
static _Thread_local unsigned next;

static bool add(key *k, const char *text) {
    const size_t n = strnlen(text, MOST_KEY) + 1;
    if (n > MOST_KEY - k->length)
        return false;
    memcpy(k->bytes + k->length, text, n);
    k->length += n;
    return true;
}

static bool make_key(key *k, const char *text, const pithp_expression_names *names) {
    const char rules[] = {(char)('0' + names->c_types), (char)('1' + names->parameters),
                          0};
    k->length = 0;
    bool fits = add(k, text) && add(k, rules);
    for (int64_t i = 0; i < names->count && fits; i++)
        fits = add(k, names->bindings[i].name);
    return fits;
}

bool pithp_expression_recall(pithp_expression *e, const pithp_expression_names *names) {
    key k;
    const recent *r = kept;
    if (!make_key(&k, e->text, names))
        return false;
    while (r < kept + RECENT &&
           (r->key.length != k.length || memcmp(r->key.bytes, k.bytes, k.length) != 0))
        r++;
    if (r == kept + RECENT)
        return false;
    memcpy(e->few, r->terms, (size_t)r->count * sizeof *r->terms);
    e->count = r->count;
    e->deepest = r->deepest;
    e->operations = r->operations;
    return true;
}

void pithp_expression_remember(const pithp_expression *e,
                               const pithp_expression_names *names) {
    recent *r = &kept[next % RECENT];
    if (e->terms != e->few)
        return;
    if (!make_key(&r->key, e->text, names)) {
        r->key.length = 0;
        return;
    }
    next++;
    memcpy(r->terms, e->few, (size_t)e->count * sizeof *e->few);
    r->count = e->count;
    r->deepest = e->deepest;
    r->operations = e->operations;
}
