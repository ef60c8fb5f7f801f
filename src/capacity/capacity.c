/* Capacities: sizes, growth rules, and one factor for the product of all
 * multiplications. */
#include "capacity/capacity_internal.h"

#include <math.h>
#include <string.h>

static const void *keep(pith_scope *outer, const void *object);
static const pithp_class capacity_class = {"a capacity", keep};

/* ---- Making ---- */

/* Allocate a capacity of `count` sizes, to be set by the caller; NULL: error set. */
static struct pith_capacity *make(pith_scope *s, int64_t count, int64_t **sizes) {
    size_t bytes;
    if (pithp_mul_overflows((size_t)count, sizeof(int64_t), &bytes) ||
        pithp_add_overflows(bytes, sizeof(struct pith_capacity), &bytes)) {
        pithp_fail_memory(s, SIZE_MAX);
        return NULL;
    }
    struct pith_capacity *c =
        pithp_object_make(s, PITHP_KIND_CLASS, &capacity_class, bytes);
    if (c) {
        *sizes = (int64_t *)(c + 1);
        c->sizes = *sizes;
        c->count = count;
        c->factor = 1;
        c->message = "";
    }
    return c;
}

/* Keep a part of a capacity in s, unless it already outlives s. false: error set. */
static bool keep_part(pith_scope *s, const void **part) {
    if (!*part || pithp_scope_reaches(s, pithp_owner_of(*part)))
        return s->error.code == PITH_OK;
    const pithp_header *h = pithp_header_of(*part);
    if (h->kind != PITHP_KIND_CLASS)
        return pithp_keep_slots(s, 1, part) == PITH_OK;
    *part = ((const pithp_class *)h->descriptor)->keep(s, *part);
    return s->error.code == PITH_OK;
}

static const char *copy_text(pith_scope *s, const char *a, const char *b) {
    const size_t m = strlen(a), n = strlen(b), space = m && n ? 1 : 0;
    char *text = m + n ? pithp_scope_allocate(s, m + space + n + 1) : NULL;
    if (!text)
        return m + n ? NULL : "";
    memcpy(text, a, m);
    text[m] = ' ';
    memcpy(text + m + space, b, n + 1);
    return text;
}

/* A copy in s with other sizes, which are already checked. NULL: error set. */
static struct pith_capacity *
copy(pith_scope *s, const struct pith_capacity *from, const int64_t *sizes) {
    int64_t *own = NULL;
    struct pith_capacity *c = make(s, from->count, &own);
    if (!c)
        return NULL;
    const void *lens = from->lens, *tree = from->tree;
    const char *message = copy_text(s, from->message, "");
    if (!message || !keep_part(s, &lens) || !keep_part(s, &tree))
        return NULL;
    *c = *from;
    c->lens = lens;
    c->tree = tree;
    c->message = message;
    c->sizes = memcpy(own, sizes, (size_t)from->count * sizeof *sizes);
    return c;
}

static const void *keep(pith_scope *outer, const void *object) {
    const struct pith_capacity *c = object;
    return copy(outer, c, c->sizes);
}

const pith_capacity *pithp_capacity_keep(pith_scope *outer, const pith_capacity *c) {
    return pithp_scope_reaches(outer, pithp_owner_of(c)) ? c : copy(outer, c, c->sizes);
}

const pith_capacity *
pithp_capacity_with(pith_scope *s, const pith_capacity *c, const int64_t *sizes) {
    for (int64_t i = 0; i < c->count; i++)
        if (sizes[i] > INT64_MAX / c->factor) {
            pithp_fail(s, PITH_E_OVERFLOW, NULL, "a size of %lld times %lld overflows",
                       (long long)sizes[i], (long long)c->factor);
            return NULL;
        }
    return copy(s, c, sizes);
}

pith_status pithp_capacity_check(pith_scope *s,
                                 const pith_capacity *c,
                                 const char *function,
                                 const char *name) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(c, &block);
    if (PITHP_LIKELY(verdict == PITHP_POINTER_OK &&
                     pithp_header_of(c)->descriptor == &capacity_class)) {
        if (block->runtime == s->runtime)
            return PITH_OK;
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s belongs to another runtime",
                          function, name);
    }
    return pithp_fail(
        s, PITH_E_ARG, NULL, "%s: %s: expected a capacity, got %s", function, name,
        verdict == PITHP_POINTER_OK ? "another object" : pithp_pointer_text(verdict));
}

/* ---- Sizes of a new capacity ---- */

static const char maker[] = "pith_capacity_make";

static void add_lens(const pith_lens *lens, pithp_string *t) {
    for (int32_t i = 0; i < lens->part_count; i++)
        lens->parts[i].kind->text(t, &lens->parts[i]);
}

/* Prefix the error of a size with its path in the state. Returns NULL. */
static struct pith_capacity *fail_size(pith_scope *s, const pith_lens *lens) {
    pithp_string slot;
    pithp_string_begin(&slot, s->runtime);
    if (lens)
        add_lens(lens, &slot);
    pithp_error_prefix(s, slot.bytes);
    pithp_string_end(&slot);
    return NULL;
}

/* A fixed capacity with the sizes of a tree. NULL: error set. */
static struct pith_capacity *
of_tree(pith_scope *s, const pith_capacity_options *o, const char *function) {
    if (pithp_tree_check(s, o->tree, function, "sizes") != PITH_OK)
        return NULL;
    const int64_t count = pithp_sizes_count(s, o->tree, function);
    if (count < 0)
        return fail_size(s, o->lens);
    int64_t *sizes = NULL;
    struct pith_capacity *c = make(s, count, &sizes);
    const void *tree = o->tree;
    if (!c || !keep_part(s, &tree))
        return NULL;
    c->tree = tree;
    if (pithp_sizes_read(s, tree, function, sizes) != PITH_OK)
        return fail_size(s, o->lens);
    return c;
}

/* A fixed capacity with sizes that are numbers. NULL: error set. */
static struct pith_capacity *
of_numbers(pith_scope *s, const pith_capacity_options *o, const char *function) {
    const bool one = !o->sizes && o->count == 0;
    const int64_t count = one ? 1 : o->count, *from = one ? &o->size : o->sizes;
    if (count < 1 || !from) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected sizes, got %lld at %s", function,
                   (long long)count, from ? "an address" : "NULL");
        return NULL;
    }
    int64_t *sizes = NULL;
    struct pith_capacity *c = make(s, count, &sizes);
    if (!c)
        return NULL;
    memcpy(sizes, from, (size_t)count * sizeof *sizes);
    c->one = one;
    return c;
}

/* A fixed capacity with the sizes of the options. NULL: error set. */
static struct pith_capacity *
with_sizes(pith_scope *s, const pith_capacity_options *o, const char *function) {
    struct pith_capacity *c =
        o->tree ? of_tree(s, o, function) : of_numbers(s, o, function);
    for (int64_t i = 0; c && i < c->count; i++)
        if (c->sizes[i] < 0) {
            pithp_fail(s, PITH_E_ARG, NULL, "%s: a size of %lld: expected 0 or more",
                       function, (long long)c->sizes[i]);
            return NULL;
        }
    return c;
}

/* ---- Makers ---- */

/* A new capacity with the sizes and the growth of the options. NULL: error set. */
static struct pith_capacity *
make_new(pith_scope *s, const pith_capacity_options *o, const char *function) {
    const bool grows = o->lens && !o->fixed && !o->kind;
    if (o->fixed && o->kind) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: a fixed capacity has no kind", function);
        return NULL;
    }
    if (grows && !isfinite(o->base)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a base that is a number, got %g",
                   function, o->base);
        return NULL;
    }
    struct pith_capacity *c = with_sizes(s, o, function);
    if (c && o->kind) {
        c->how = PITHP_CAPACITY_USER;
        c->kind = *o->kind;
        c->closure = o->closure;
    } else if (c && grows) {
        c->how = PITHP_CAPACITY_LENS;
        c->base = o->base;
    }
    return c;
}

/* A copy of options->from. NULL: error set. */
static struct pith_capacity *make_derived(pith_scope *s, const pith_capacity_options *o) {
    if (pithp_capacity_check(s, o->from, maker, "from") != PITH_OK)
        return NULL;
    if (o->fixed || o->kind || o->closure || o->base != 0) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: a copy of a capacity takes no fixed, kind, closure or base",
                   maker);
        return NULL;
    }
    if (o->lens && o->from->how == PITHP_CAPACITY_LENS) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: the capacity has a lens of its own", maker);
        return NULL;
    }
    return copy(s, o->from, o->from->sizes);
}

/* Multiply a capacity by a factor; 0 stands for 1. */
static pith_status multiply(pith_scope *s, struct pith_capacity *c, int64_t factor) {
    int64_t product;
    if (factor < 0)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: expected a factor of 1 or more, got %lld", maker,
                          (long long)factor);
    bool fits = !__builtin_mul_overflow(c->factor, factor ? factor : 1, &product);
    for (int64_t i = 0; fits && i < c->count; i++)
        fits = c->sizes[i] <= INT64_MAX / product;
    if (!fits)
        return pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: a size times %lld overflows",
                          maker, (long long)factor);
    c->factor = product;
    return PITH_OK;
}

/* Set the lens of a capacity to a copy that lives as long as s. false: error set. */
static bool set_lens(pith_scope *s, struct pith_capacity *c, const pith_lens *lens) {
    const void *kept = lens;
    if (!keep_part(s, &kept))
        return false;
    c->lens = kept;
    return true;
}

const pith_capacity *pith_capacity_make(pith_scope *s,
                                        const pith_capacity_options *options) {
    const pith_capacity_options o = options ? *options : (pith_capacity_options){0};
    const bool list = o.sizes || o.count != 0;
    if (!pithp_enter(s) ||
        (o.lens && pithp_lens_check(s, o.lens, maker, "lens") != PITH_OK))
        return NULL;
    if ((o.size != 0) + list + !!o.tree + !!o.from > 1) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: expected one of size, sizes, tree and from, got several", maker);
        return NULL;
    }
    struct pith_capacity *c = o.from ? make_derived(s, &o) : make_new(s, &o, maker);
    if (!c || multiply(s, c, o.factor) != PITH_OK || (o.lens && !set_lens(s, c, o.lens)))
        return NULL;
    c->message = copy_text(s, c->message, o.message ? o.message : "");
    return c->message ? c : NULL;
}

const pith_capacity *
pith_lens_capacity(pith_scope *s, const pith_lens *lens, int64_t size, double base) {
    const pith_capacity_options o = {.size = size, .lens = lens, .base = base};
    if (!pithp_enter(s) ||
        pithp_lens_check(s, lens, "pith_lens_capacity", "lens") != PITH_OK)
        return NULL;
    struct pith_capacity *c = make_new(s, &o, "pith_lens_capacity");
    return c && set_lens(s, c, lens) ? c : NULL;
}

/* ---- Getters ---- */

static bool is_capacity(const pith_capacity *c) {
    pithp_block *block = NULL;
    return pithp_pointer_check(c, &block) == PITHP_POINTER_OK &&
           pithp_header_of(c)->descriptor == &capacity_class;
}

int64_t pith_capacity_count(const pith_capacity *capacity) {
    return is_capacity(capacity) ? capacity->count : 0;
}

int64_t pith_capacity_size(const pith_capacity *capacity) {
    return pith_capacity_size_at(capacity, 0);
}

int64_t pith_capacity_size_at(const pith_capacity *capacity, int64_t index) {
    return is_capacity(capacity) && index >= 0 && index < capacity->count
               ? pithp_capacity_size(capacity, index)
               : -1;
}

const void *pith_capacity_sizes(pith_scope *s, const pith_capacity *capacity) {
    if (!pithp_enter(s) ||
        pithp_capacity_check(s, capacity, "pith_capacity_sizes", "capacity") != PITH_OK)
        return NULL;
    pith_scope *work = pithp_temporaries_open(s);
    const size_t n = (size_t)capacity->count;
    int64_t *sizes = work ? pithp_scope_allocate(work, n * sizeof *sizes) : NULL;
    const void **items = sizes ? pithp_scope_allocate(work, n * sizeof *items) : NULL;
    const void *tree = NULL;
    for (size_t i = 0; items && i < n; i++) {
        sizes[i] = pithp_capacity_size(capacity, (int64_t)i);
        items[i] = capacity->tree ? NULL : pith_i64(work, sizes[i]);
    }
    if (items)
        tree = capacity->tree  ? pithp_sizes_replace(work, capacity->tree, sizes)
               : capacity->one ? items[0]
                               : pith_tuple_make(work, capacity->count, items);
    if (tree && !pith_failed(work))
        pithp_keep_slots(s, 1, &tree);
    pith_scope_close(work);
    return s->error.code == PITH_OK ? tree : NULL;
}

/* ---- Names ---- */

/* Append the path of size i if the sizes were given as numbers and their lens merges as
 * many lenses. false: not so. */
static bool add_merged(const pith_capacity *c, int64_t i, pithp_string *t) {
    const pith_lens *lens = c->lens;
    const pithp_lens_part *last =
        lens && lens->part_count ? &lens->parts[lens->part_count - 1] : NULL;
    if (!last || c->tree || last->kind != &pithp_lens_merge_kind ||
        last->count != c->count)
        return false;
    for (const pithp_lens_part *part = lens->parts; part < last; part++)
        part->kind->text(t, part);
    add_lens(last->merged[i], t);
    return true;
}

/* Append the path of the i-th size in the tree of sizes. */
static void
add_place(pith_runtime *rt, const pith_capacity *c, int64_t i, pithp_string *t) {
    pithp_size_walk w;
    if (!c->tree) {
        pithp_string_print(t, "[%lld]", (long long)i);
        return;
    }
    pithp_size_begin(&w, rt, c->tree);
    while (pithp_size_next(&w) && i-- > 0)
        continue;
    pithp_size_path(&w, t);
    pithp_size_end(&w);
}

void pithp_capacity_name(const pith_capacity *c, int64_t i, pithp_string *t) {
    if (c->names) {
        pithp_string_add(t, c->names[i]);
        return;
    }
    if (!c->one && add_merged(c, i, t))
        return;
    if (c->lens)
        add_lens(c->lens, t);
    if (!c->one)
        add_place(t->rt, c, i, t);
}

const char *pith_capacity_slot(pith_scope *s, const pith_capacity *capacity) {
    if (!pithp_enter(s) ||
        pithp_capacity_check(s, capacity, "pith_capacity_slot", "capacity") != PITH_OK)
        return "";
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    if (capacity->lens)
        add_lens(capacity->lens, &text);
    const char *slot = copy_text(s, text.bytes, "");
    pithp_string_end(&text);
    return slot ? slot : "";
}
