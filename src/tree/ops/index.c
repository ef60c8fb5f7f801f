/* Index records: integers over a vocabulary of keys, which is a static text. Matching
 * gives indices a common vocabulary and renumbers their integers. */
#include "tree/node_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Vocabularies ---- */

typedef struct vocabulary {
    int64_t count, room;
    int64_t *keys;
} vocabulary;

static void release(pith_scope *s, vocabulary *v) {
    pithp_release(s->runtime, v->keys, (size_t)v->room * sizeof *v->keys);
}

/* Allocate room for keys; the vocabulary is empty. */
static pith_status reserve(pith_scope *s, vocabulary *v, int64_t room) {
    size_t bytes = SIZE_MAX;
    const bool fits = !pithp_mul_overflows((size_t)room, sizeof *v->keys, &bytes);
    *v = (vocabulary){0, room, fits ? pithp_allocate(s->runtime, bytes) : NULL};
    if (v->keys || room == 0)
        return PITH_OK;
    v->room = 0;
    return pithp_fail_memory(s, bytes);
}

/* Parse "0,3,7" and append it. Returns false for invalid text. */
static bool read_keys(vocabulary *v, const char *text) {
    const char *at = text;
    while (*at) {
        char *end;
        errno = 0;
        const int64_t key = strtoll(at, &end, 10);
        const bool digit = (*at >= '0' && *at <= '9') || *at == '-';
        if (!digit || end == at || errno || (*end && *end != ',') ||
            (*end == ',' && !end[1]))
            return false;
        v->keys[v->count++] = key;
        at = *end ? end + 1 : end;
    }
    return true;
}

static int64_t most_keys(const char *text) {
    int64_t count = *text != 0;
    for (; *text; text++)
        count += *text == ',';
    return count;
}

/* The vocabulary of an index; its keys must be ascending. */
static pith_status vocabulary_of(pith_scope *s, const pith_index *index, vocabulary *v) {
    const char *text = index->keys ? index->keys : "";
    const pith_status rc = reserve(s, v, most_keys(text));
    if (rc != PITH_OK)
        return rc;
    bool good = read_keys(v, text);
    for (int64_t i = 1; i < v->count && good; i++)
        good = v->keys[i - 1] < v->keys[i];
    if (good)
        return PITH_OK;
    release(s, v);
    return pithp_fail(s, PITH_E_ARG, ".keys",
                      "expected ascending integers like \"0,3,7\", got \"%.60s\"", text);
}

static int compare_keys(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort_distinct(vocabulary *v) {
    int64_t kept = 0;
    qsort(v->keys, (size_t)v->count, sizeof *v->keys, compare_keys);
    for (int64_t i = 0; i < v->count; i++)
        if (kept == 0 || v->keys[kept - 1] < v->keys[i])
            v->keys[kept++] = v->keys[i];
    v->count = kept;
}

/* Binary search: the position of a key, or count if it is absent. */
static int64_t position_of(const vocabulary *v, int64_t key) {
    int64_t low = 0, high = v->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (v->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->count && v->keys[low] == key ? low : v->count;
}

/* Print a vocabulary to a text in s. NULL sets the error. */
static const char *print_keys(pith_scope *s, const vocabulary *v) {
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    for (int64_t i = 0; i < v->count; i++)
        pithp_string_print(&text, "%s%lld", i ? "," : "", (long long)v->keys[i]);
    return pithp_string_finish(s, &text);
}

/* ---- The type ---- */

/* Whether a dtype can represent 0 to count. If not, sets the error. */
static bool dtype_fits(pith_scope *s, pith_dtype dtype, int64_t count) {
    uint64_t bits;
    if (!pith_dtype_is_integer(dtype)) {
        pithp_fail(s, PITH_E_DTYPE, ".at", "expected integers, got %s",
                   pith_dtype_name(dtype));
        return false;
    }
    if (pith_dtype_size(dtype) == 8 || pithp_dtype_encode(dtype, (double)count, &bits))
        return true;
    pithp_fail(s, PITH_E_DTYPE, ".at", "%s is too small for %lld keys",
               pith_dtype_name(dtype), (long long)count);
    return false;
}

static void check_index(pith_scope *s, const pith_index *index) {
    vocabulary v;
    if (vocabulary_of(s, index, &v) != PITH_OK)
        return;
    dtype_fits(s, pithp_array_spec(index->at)->dtype, v.count);
    release(s, &v);
}

static void match_indices(pith_scope *s, int64_t count, const pith_index **nodes);

const pith_type *pith_index_pith_type(void) {
    typedef pith_index Self;
    static const pith_type *cache;
    static const pith_field fields[] = {
        PITH_LEAF(at, "any[...]"), PITH_STATIC(keys, .initial_text = ""),
        PITH_STATIC(kind, .initial_text = ""), PITH_VALIDATE(check_index),
        PITH_MATCH(match_indices)};
    static const pith_type_spec spec = {"pith_index", sizeof(Self),        _Alignof(Self),
                                        fields,       PITHP_COUNT(fields), NULL};
    const pith_type *known = __atomic_load_n(&cache, __ATOMIC_ACQUIRE);
    return known ? known : pith_type_register(&spec, &cache);
}

/* ---- Integers ---- */

/* Results of a chain of operations; all but the last are dropped. */
typedef struct chain {
    pith_scope *s;
    const pith_array *made[16];
    int count;
} chain;

static const pith_array *add(chain *c, const pith_array *made) {
    if (made)
        c->made[c->count++] = made;
    return made;
}
static const pith_array *finish(chain *c, const pith_array *result) {
    for (int i = 0; i < c->count; i++)
        if (c->made[i] != result)
            pithp_array_drop(c->s, c->made[i]);
    return result;
}

static const pith_array *number(chain *c, pith_dtype dtype, int64_t value) {
    const pith_array *wide = add(c, pith_i64(pithp_on_behalf(c->s), value));
    if (!wide || dtype == PITH_I64)
        return wide;
    return add(c, pithp_cast(c->s, wide, dtype));
}

static const pith_array *valid(chain *c, const pith_array *at, int64_t count) {
    const pith_dtype dtype = pithp_array_spec(at)->dtype;
    if (!dtype_fits(c->s, dtype, count)) /* a record made while checks were suspended */
        return NULL;
    const pith_array *zero = number(c, dtype, 0), *end = number(c, dtype, count);
    if (!zero || !end)
        return NULL;
    const pith_array *least = add(c, pith_greater_equal(pithp_on_behalf(c->s), at, zero));
    const pith_array *most = add(c, pith_less(pithp_on_behalf(c->s), at, end));
    return least && most ? add(c, pith_logical_and(pithp_on_behalf(c->s), least, most))
                         : NULL;
}

/* table[at] as dtype; `missing` for integers outside the vocabulary. */
static const pith_array *look_up(pith_scope *s,
                                 const pith_array *at,
                                 int64_t count,
                                 const int64_t *table,
                                 int64_t missing,
                                 pith_dtype dtype) {
    chain c = {.s = s};
    static const int64_t none[1];
    const pith_array *good = valid(&c, at, count), *other = number(&c, dtype, missing);
    const pith_array *wide =
        add(&c, pith_array_copy(pithp_on_behalf(s), PITH_I64,
                                PITH_SHAPE(count ? count : 1), count ? table : none));
    const pith_array *all =
        wide && dtype != PITH_I64 ? add(&c, pithp_cast(s, wide, dtype)) : wide;
    const pith_take_options clip = {.mode = PITH_INDEX_CLIP};
    const pith_array *taken =
        all ? add(&c, pith_take(pithp_on_behalf(s), all, at, &clip)) : NULL;
    return finish(&c, good && other && taken
                          ? add(&c, pith_where(pithp_on_behalf(s), good, taken, other))
                          : NULL);
}

/* ---- Matching ---- */

/* Renumber an index over a vocabulary that contains all its keys. */
static const pith_index *
moved(pith_scope *s, const pith_index *index, const vocabulary *all, const char *text) {
    vocabulary own;
    const pith_dtype dtype = pithp_array_spec(index->at)->dtype;
    if (!dtype_fits(s, dtype, all->count) || vocabulary_of(s, index, &own) != PITH_OK)
        return NULL;
    for (int64_t i = 0; i < own.count; i++)
        own.keys[i] = position_of(all, own.keys[i]);
    const pith_array *at = look_up(s, index->at, own.count, own.keys, all->count, dtype);
    release(s, &own);
    const pith_index value = {at, text, index->kind};
    return at ? pithp_freeze(s, pith_index_pith_type(), &value) : NULL;
}

static const char *shown(const char *text) {
    return text ? text : "";
}

/* The union of the vocabularies; unchanged if all are equal. */
static pith_status
unite(pith_scope *s, int64_t count, const pith_index **nodes, vocabulary *all) {
    int64_t room = 0;
    for (int64_t i = 0; i < count; i++)
        room += most_keys(shown(nodes[i]->keys));
    pith_status rc = reserve(s, all, room);
    for (int64_t i = 0; i < count && rc == PITH_OK; i++) {
        vocabulary own;
        rc = vocabulary_of(s, nodes[i], &own);
        if (rc != PITH_OK)
            break;
        if (own.count)
            memcpy(all->keys + all->count, own.keys,
                   (size_t)own.count * sizeof *own.keys);
        all->count += own.count;
        release(s, &own);
    }
    if (rc == PITH_OK)
        sort_distinct(all);
    return rc;
}

static void match_indices(pith_scope *s, int64_t count, const pith_index **nodes) {
    bool same = true;
    for (int64_t i = 1; i < count; i++) {
        same &= strcmp(shown(nodes[i]->keys), shown(nodes[0]->keys)) == 0;
        if (strcmp(shown(nodes[i]->kind), shown(nodes[0]->kind)) != 0) {
            pithp_fail(s, PITH_E_STRUCTURE, ".kind",
                       "expected an index of \"%s\", got one of \"%s\" in tree %lld",
                       shown(nodes[0]->kind), shown(nodes[i]->kind), (long long)i);
            return;
        }
    }
    vocabulary all = {0};
    if (same || unite(s, count, nodes, &all) != PITH_OK) {
        release(s, &all);
        return;
    }
    const char *text = print_keys(s, &all);
    for (int64_t i = 0; i < count && text; i++)
        if (strcmp(text, shown(nodes[i]->keys)) != 0) {
            nodes[i] = moved(s, nodes[i], &all, text);
            if (!nodes[i])
                break;
        }
    release(s, &all);
}

/* ---- Making and reading ---- */

static const pith_index *nil(void) {
    return pithp_nil(pith_index_pith_type());
}

static const pith_index *
make(pith_scope *s, const char *kind, const vocabulary *v, const pith_array *at) {
    const char *text = at ? print_keys(s, v) : NULL;
    const pith_index value = {at, text, kind ? kind : ""};
    const pith_index *made =
        text ? pithp_freeze(s, pith_index_pith_type(), &value) : NULL;
    return made ? made : nil();
}

static bool
count_fits(pith_scope *s, const char *function, int64_t count, const void *data) {
    if (count >= 0 && count <= INT32_MAX && (data || !count))
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function,
               count >= 0 && count <= INT32_MAX ? "the numbers are NULL"
                                                : "invalid count of keys");
    return false;
}

const pith_index *pith_index_make(pith_scope *s,
                                  const char *kind,
                                  int64_t count,
                                  const int64_t *keys,
                                  const pith_array *at) {
    static const char *const name = "pith_index_make";
    if (!pithp_enter(s) || pithp_array_check(s, at, name, "at") != PITH_OK ||
        !count_fits(s, name, count, keys))
        return nil();
    for (int64_t i = 1; i < count; i++)
        if (keys[i] <= keys[i - 1]) {
            pithp_fail(s, PITH_E_ARG, NULL,
                       "%s: keys[%lld] is %lld, which is not greater than the %lld "
                       "before it",
                       name, (long long)i, (long long)keys[i], (long long)keys[i - 1]);
            return nil();
        }
    const vocabulary v = {count, count, (int64_t *)(uintptr_t)keys};
    return make(s, kind, &v, at);
}

const pith_index *
pith_index_of(pith_scope *s, const char *kind, int64_t count, const int64_t *values) {
    vocabulary v, places;
    if (!pithp_enter(s) || !count_fits(s, "pith_index_of", count, values) ||
        reserve(s, &v, count) != PITH_OK)
        return nil();
    const pith_index *made = nil();
    if (reserve(s, &places, count) == PITH_OK) {
        if (count)
            memcpy(v.keys, values, (size_t)count * sizeof *values);
        v.count = count;
        sort_distinct(&v);
        for (int64_t i = 0; i < count; i++)
            places.keys[i] = position_of(&v, values[i]);
        made = make(s, kind, &v,
                    pith_array_copy(pithp_on_behalf(s), PITH_I64, PITH_SHAPE(count),
                                    count ? places.keys : &(int64_t){0}));
        release(s, &places);
    }
    release(s, &v);
    return made;
}

/* Check an index from the user. */
static bool is_index(pith_scope *s, const pith_index *index, const char *function) {
    if (!pithp_enter_as(s, function) ||
        pithp_tree_check(s, index, function, "index") != PITH_OK)
        return false;
    if (pith_type_of(index) == pith_index_pith_type())
        return true;
    pithp_fail(s, PITH_E_TYPE, NULL, "%s: index: expected a pith_index", function);
    return false;
}

const int64_t *pith_index_keys(pith_scope *s, const pith_index *index, int64_t *count) {
    vocabulary v;
    if (count)
        *count = 0;
    if (!is_index(s, index, "pith_index_keys"))
        return NULL;
    if (!count) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_index_keys: count is NULL");
        return NULL;
    }
    if (vocabulary_of(s, index, &v) != PITH_OK)
        return NULL;
    int64_t *keys = pithp_scope_allocate(s, ((size_t)v.count + 1) * sizeof *keys);
    if (keys && v.count)
        memcpy(keys, v.keys, (size_t)v.count * sizeof *keys);
    if (keys)
        *count = v.count;
    release(s, &v);
    return keys;
}

const pith_array *
pith_index_values(pith_scope *s, const pith_index *index, int64_t missing) {
    vocabulary v;
    if (!is_index(s, index, "pith_index_values") ||
        vocabulary_of(s, index, &v) != PITH_OK)
        return NULL;
    const pith_array *made = look_up(s, index->at, v.count, v.keys, missing, PITH_I64);
    release(s, &v);
    return made;
}

const pith_array *pith_index_valid(pith_scope *s, const pith_index *index) {
    vocabulary v;
    if (!is_index(s, index, "pith_index_valid") || vocabulary_of(s, index, &v) != PITH_OK)
        return NULL;
    chain c = {.s = s};
    const pith_array *made = finish(&c, valid(&c, index->at, v.count));
    release(s, &v);
    return made;
}
