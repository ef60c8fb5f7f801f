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

/* ---- Given sizes ---- */

/* Source of sizes: numbers or a tree. */
typedef struct {
    const char *function;
    int64_t count;
    const int64_t *sizes;
    const void *tree;
    bool one;
    const pith_lens *lens; /* path of the sizes in the state; NULL: none */
} source;

static void add_lens(const pith_lens *lens, pithp_text *t) {
    for (int32_t i = 0; i < lens->part_count; i++)
        lens->parts[i].kind->text(t, &lens->parts[i]);
}

/* Prefix the error of a size with its path in the state. Returns NULL. */
static struct pith_capacity *fail_size(pith_scope *s, const source *g) {
    pithp_text slot;
    pithp_text_begin(&slot, s->runtime);
    if (g->lens)
        add_lens(g->lens, &slot);
    pithp_error_prefix(s, slot.bytes);
    pithp_text_end(&slot);
    return NULL;
}

/* A fixed capacity of these sizes; makers change it afterwards. NULL: error set. */
static struct pith_capacity *from(pith_scope *s, source *g) {
    const bool tree = !g->sizes && g->tree;
    if (tree) {
        if (pithp_tree_check(s, g->tree, g->function, "sizes") != PITH_OK)
            return NULL;
        g->count = pithp_sizes_count(s, g->tree, g->function);
        if (g->count < 0)
            return fail_size(s, g);
    }
    if (!tree && (g->count < 1 || !g->sizes)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected sizes, got %lld at %s", g->function,
                   (long long)g->count, g->sizes ? "an address" : "NULL");
        return NULL;
    }
    int64_t *sizes = NULL;
    struct pith_capacity *c = make(s, g->count, &sizes);
    if (!c || !keep_part(s, &g->tree))
        return NULL;
    c->tree = g->tree;
    c->one = g->one;
    if (!tree)
        memcpy(sizes, g->sizes, (size_t)g->count * sizeof *g->sizes);
    else if (pithp_sizes_read(s, g->tree, g->function, sizes) != PITH_OK)
        return fail_size(s, g);
    for (int64_t i = 0; i < c->count; i++)
        if (c->sizes[i] < 0) {
            pithp_fail(s, PITH_E_ARG, NULL, "%s: a size of %lld: expected 0 or more",
                       g->function, (long long)c->sizes[i]);
            return NULL;
        }
    return c;
}

static const pith_capacity *through_lens(pith_scope *s, source g, double base) {
    if (!pithp_enter_as(s, g.function) ||
        pithp_lens_check(s, g.lens, g.function, "lens") != PITH_OK)
        return NULL;
    if (!isfinite(base)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a base that is a number, got %g",
                   g.function, base);
        return NULL;
    }
    struct pith_capacity *c = from(s, &g);
    const void *kept = g.lens;
    if (!c || !keep_part(s, &kept))
        return NULL;
    c->how = PITHP_CAPACITY_LENS;
    c->lens = kept;
    c->base = base;
    return c;
}

const pith_capacity *
pith_lens_capacity(pith_scope *s, const pith_lens *lens, int64_t size, double base) {
    const source g = {.function = "pith_lens_capacity",
                      .count = 1,
                      .sizes = &size,
                      .one = true,
                      .lens = lens};
    return through_lens(s, g, base);
}

const pith_capacity *pith_lens_capacity_sizes(pith_scope *s,
                                              const pith_lens *lens,
                                              int64_t count,
                                              const int64_t *sizes,
                                              double base) {
    const source g = {.function = "pith_lens_capacity_sizes",
                      .count = count,
                      .sizes = sizes,
                      .lens = lens};
    return through_lens(s, g, base);
}

const pith_capacity *pith_lens_capacity_tree(pith_scope *s,
                                             const pith_lens *lens,
                                             const void *sizes,
                                             double base) {
    const source g = {.function = "pith_lens_capacity_tree", .tree = sizes, .lens = lens};
    return through_lens(s, g, base);
}

static const pith_capacity *fixed(pith_scope *s, source g, const char *message) {
    struct pith_capacity *c = pithp_enter_as(s, g.function) ? from(s, &g) : NULL;
    if (!c)
        return NULL;
    c->message = copy_text(s, message ? message : "", "");
    return c->message ? c : NULL;
}

const pith_capacity *
pith_fixed_capacity(pith_scope *s, int64_t size, const char *message) {
    return fixed(
        s,
        (source){
            .function = "pith_fixed_capacity", .count = 1, .sizes = &size, .one = true},
        message);
}

const pith_capacity *pith_fixed_capacity_sizes(pith_scope *s,
                                               int64_t count,
                                               const int64_t *sizes,
                                               const char *message) {
    return fixed(
        s,
        (source){.function = "pith_fixed_capacity_sizes", .count = count, .sizes = sizes},
        message);
}

const pith_capacity *
pith_fixed_capacity_tree(pith_scope *s, const void *sizes, const char *message) {
    return fixed(s, (source){.function = "pith_fixed_capacity_tree", .tree = sizes},
                 message);
}

static const pith_capacity *
of_user(pith_scope *s, source g, const pith_capacity_kind *kind, void *closure) {
    if (!pithp_enter_as(s, g.function))
        return NULL;
    if (!kind) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: kind is NULL", g.function);
        return NULL;
    }
    struct pith_capacity *c = from(s, &g);
    if (!c)
        return NULL;
    c->how = PITHP_CAPACITY_USER;
    c->kind = *kind;
    c->closure = closure;
    return c;
}

const pith_capacity *pith_user_capacity(pith_scope *s,
                                        const pith_capacity_kind *kind,
                                        int64_t size,
                                        void *closure) {
    return of_user(
        s,
        (source){
            .function = "pith_user_capacity", .count = 1, .sizes = &size, .one = true},
        kind, closure);
}

const pith_capacity *pith_user_capacity_sizes(pith_scope *s,
                                              const pith_capacity_kind *kind,
                                              int64_t count,
                                              const int64_t *sizes,
                                              void *closure) {
    return of_user(
        s,
        (source){.function = "pith_user_capacity_sizes", .count = count, .sizes = sizes},
        kind, closure);
}

const pith_capacity *pith_user_capacity_tree(pith_scope *s,
                                             const pith_capacity_kind *kind,
                                             const void *sizes,
                                             void *closure) {
    return of_user(s, (source){.function = "pith_user_capacity_tree", .tree = sizes},
                   kind, closure);
}

/* ---- Capacities derived from another one ---- */

const pith_capacity *
pith_multiplied_capacity(pith_scope *s, const pith_capacity *capacity, int64_t factor) {
    static const char *const function = "pith_multiplied_capacity";
    int64_t product;
    if (!pithp_enter(s) ||
        pithp_capacity_check(s, capacity, function, "capacity") != PITH_OK)
        return NULL;
    if (factor < 1) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a factor of 1 or more, got %lld",
                   function, (long long)factor);
        return NULL;
    }
    bool fits = !__builtin_mul_overflow(capacity->factor, factor, &product);
    for (int64_t i = 0; fits && i < capacity->count; i++)
        fits = capacity->sizes[i] <= INT64_MAX / product;
    if (!fits) {
        pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: a size times %lld overflows", function,
                   (long long)factor);
        return NULL;
    }
    struct pith_capacity *c = copy(s, capacity, capacity->sizes);
    if (c)
        c->factor = product;
    return c;
}

const pith_capacity *pith_capacity_extend_message(pith_scope *s,
                                                  const pith_capacity *capacity,
                                                  const char *message) {
    static const char *const function = "pith_capacity_extend_message";
    if (!pithp_enter(s) ||
        pithp_capacity_check(s, capacity, function, "capacity") != PITH_OK)
        return NULL;
    if (!message) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: message is NULL", function);
        return NULL;
    }
    struct pith_capacity *c = copy(s, capacity, capacity->sizes);
    if (c)
        c->message = copy_text(s, capacity->message, message);
    return c && c->message ? c : NULL;
}

const pith_capacity *
pith_capacity_for(pith_scope *s, const pith_capacity *capacity, const pith_lens *lens) {
    static const char *const function = "pith_capacity_for";
    if (!pithp_enter(s) ||
        pithp_capacity_check(s, capacity, function, "capacity") != PITH_OK ||
        pithp_lens_check(s, lens, function, "lens") != PITH_OK)
        return NULL;
    if (capacity->how == PITHP_CAPACITY_LENS) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: the capacity has a lens of its own",
                   function);
        return NULL;
    }
    const void *kept = lens;
    struct pith_capacity *c = copy(s, capacity, capacity->sizes);
    if (!c || !keep_part(s, &kept))
        return NULL;
    c->lens = kept;
    return c;
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
static bool add_merged(const pith_capacity *c, int64_t i, pithp_text *t) {
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
add_place(pith_runtime *rt, const pith_capacity *c, int64_t i, pithp_text *t) {
    pithp_size_walk w;
    if (!c->tree) {
        pithp_text_print(t, "[%lld]", (long long)i);
        return;
    }
    pithp_size_begin(&w, rt, c->tree);
    while (pithp_size_next(&w) && i-- > 0)
        continue;
    pithp_size_path(&w, t);
    pithp_size_end(&w);
}

void pithp_capacity_name(const pith_capacity *c, int64_t i, pithp_text *t) {
    if (c->names) {
        pithp_text_add(t, c->names[i]);
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
    pithp_text text;
    pithp_text_begin(&text, s->runtime);
    if (capacity->lens)
        add_lens(capacity->lens, &text);
    const char *slot = copy_text(s, text.bytes, "");
    pithp_text_end(&text);
    return slot ? slot : "";
}
