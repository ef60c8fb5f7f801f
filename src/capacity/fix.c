/* Capacity fixes: repair of a state whose capacity is too small, and the public calls
 * that take a capacity and a requirement. */
#include "capacity/capacity_internal.h"

#include <stdio.h>

/* ---- Fixes ---- */

/* Set each size through the lens to the maximum of current and wanted, which resizes
 * leaves. */
static const void *set_through_lens(pith_scope *work,
                                    const pith_capacity *c,
                                    const void *root,
                                    const int64_t *wanted) {
    const pith_lens_options options = {.resize = true};
    const void *now = pith_lens_get(work, c->lens, root);
    if (pith_failed(work))
        return NULL;
    if (!now) {
        pith_fail(work, PITH_E_CAPACITY, NULL, "there are no sizes at %s",
                  pith_lens_text(work, c->lens));
        return NULL;
    }
    const int64_t count = pithp_sizes_count(work, now, "pith_capacity_fix");
    int64_t *sizes =
        count > 0 ? pithp_scope_allocate(work, (size_t)count * sizeof *sizes) : NULL;
    if (!sizes || pithp_sizes_read(work, now, "pith_capacity_fix", sizes) != PITH_OK)
        return NULL;
    if (count != c->count) {
        pith_fail(work, PITH_E_STRUCTURE, NULL,
                  "the capacity has %lld sizes, but its lens %s finds %lld",
                  (long long)c->count, pith_lens_text(work, c->lens), (long long)count);
        return NULL;
    }
    bool same = true;
    for (int64_t i = 0; i < count; i++)
        if (wanted[i] > sizes[i]) {
            sizes[i] = wanted[i];
            same = false;
        }
    if (same)
        return root;
    const void *value = pithp_sizes_replace(work, now, sizes);
    return value ? pith_lens_set_with(work, c->lens, root, value, &options) : NULL;
}

static const void *set_sizes(pith_scope *work,
                             const pith_capacity *c,
                             const void *root,
                             const int64_t *wanted) {
    if (c->how == PITHP_CAPACITY_LENS)
        return set_through_lens(work, c, root, wanted);
    if (c->how == PITHP_CAPACITY_USER && c->kind.fix)
        return c->kind.fix(work, root, c->count, wanted, c->closure);
    return root; /* if growth was required, its failure is already an error */
}

const void *pithp_capacity_set(pith_scope *work,
                               const pith_capacity *c,
                               const void *root,
                               const int64_t *sizes) {
    if (c->lens)
        return set_through_lens(work, c, root, sizes);
    return pithp_capacity_can_grow(c) ? set_sizes(work, c, root, sizes) : NULL;
}

const void *pithp_capacity_repair(pith_scope *s,
                                  const pith_capacity *c,
                                  const void *root,
                                  const pith_array *required,
                                  bool grow) {
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    const void *fixed = NULL;
    const pithp_need *needs = pithp_needs_read(work, c, required);
    int64_t *wanted =
        needs ? pithp_scope_allocate(work, (size_t)c->count * sizeof *wanted) : NULL;
    bool fine = wanted != NULL;
    for (int64_t i = 0; fine && i < c->count; i++)
        fine = pithp_need_grow(work, c, i, &needs[i], grow, &wanted[i]);
    if (fine)
        fixed = set_sizes(work, c, root, wanted);
    if (fine && !fixed && !pith_failed(work))
        pith_fail(work, PITH_E_CALLBACK, NULL,
                  "the fix of the capacity returned no root");
    if (!pith_failed(work) &&
        pithp_tree_check(work, fixed, "pith_capacity_fix", "fixed root") == PITH_OK)
        pithp_keep_slots(s, 1, &fixed);
    pith_scope_close(work);
    return s->error.code == PITH_OK ? fixed : NULL;
}

/* ---- Calls ---- */

static bool arguments_fit(pith_scope *s,
                          const pith_capacity *capacity,
                          const pith_array *required,
                          const char *function) {
    return pithp_enter_as(s, function) &&
           pithp_capacity_check(s, capacity, function, "capacity") == PITH_OK &&
           pithp_array_check(s, required, function, "required") == PITH_OK &&
           pithp_need_check(s, capacity, required, function) == PITH_OK;
}

const void *pith_capacity_fix_any(pith_scope *s,
                                  const pith_capacity *capacity,
                                  const void *root,
                                  const pith_array *target) {
    static const char *const function = "pith_capacity_fix";
    const void *nil = pithp_nil_for(root);
    if (!arguments_fit(s, capacity, target, function) ||
        pithp_tree_check(s, root, function, "root") != PITH_OK)
        return nil;
    const void *fixed = pithp_capacity_repair(s, capacity, root, target, false);
    return fixed ? fixed : nil;
}

/* Needs in a scope of their own. On failure both are NULL and the error of s is set. */
static const pithp_need *needs_of(pith_scope *s,
                                  const pith_capacity *capacity,
                                  const pith_array *required,
                                  const char *function,
                                  pith_scope **work) {
    *work =
        arguments_fit(s, capacity, required, function) ? pithp_temporaries_open(s) : NULL;
    const pithp_need *needs = *work ? pithp_needs_read(*work, capacity, required) : NULL;
    if (!needs && *work) {
        pith_scope_close(*work);
        *work = NULL;
    }
    return needs;
}

const pith_capacity *pith_capacity_grown(pith_scope *s,
                                         const pith_capacity *capacity,
                                         const pith_array *required) {
    pith_scope *work;
    const pithp_need *needs =
        needs_of(s, capacity, required, "pith_capacity_grown", &work);
    if (!needs)
        return NULL;
    const pith_capacity *result = capacity;
    if (!pithp_needs_fit(capacity, needs)) {
        int64_t *sizes =
            pithp_scope_allocate(work, (size_t)capacity->count * sizeof *sizes);
        bool fine = sizes != NULL;
        for (int64_t i = 0; fine && i < capacity->count; i++)
            fine = pithp_need_grow(work, capacity, i, &needs[i], true, &sizes[i]);
        result = fine ? pithp_capacity_with(s, capacity, sizes) : NULL;
    }
    pith_scope_close(work);
    return s->error.code == PITH_OK ? result : NULL;
}

bool pith_capacity_valid(pith_scope *s,
                         const pith_capacity *capacity,
                         const pith_array *required) {
    pith_scope *work;
    const pithp_need *needs =
        needs_of(s, capacity, required, "pith_capacity_valid", &work);
    const bool fits = needs && pithp_needs_fit(capacity, needs);
    pith_scope_close(work);
    return fits;
}

/* Message for a requirement that does not fit. The caller ends path and text. false: it
 * fits, or the error is set. */
static bool complaint(pith_scope *s,
                      const pith_capacity *capacity,
                      const pith_array *required,
                      const char *function,
                      pithp_string *path,
                      pithp_string *text) {
    pith_scope *work;
    const pithp_need *needs = needs_of(s, capacity, required, function, &work);
    if (!needs)
        return false;
    const bool fits = pithp_needs_fit(capacity, needs);
    if (!fits) {
        pithp_string_begin(path, s->runtime);
        pithp_string_begin(text, s->runtime);
        if (capacity->one)
            pithp_capacity_name(capacity, 0, path);
        pithp_needs_describe(capacity, needs, text);
    }
    pith_scope_close(work);
    return !fits;
}

bool pith_capacity_check(pith_scope *s,
                         const pith_capacity *capacity,
                         const pith_array *required) {
    pithp_string path, text;
    if (!complaint(s, capacity, required, "pith_capacity_check", &path, &text))
        return pithp_scope_writable(s) && s->error.code == PITH_OK;
    pithp_fail(s, PITH_E_CAPACITY, path.bytes, "%s", text.bytes);
    pithp_string_end(&text);
    pithp_string_end(&path);
    return false;
}

const char *pith_capacity_message(pith_scope *s,
                                  const pith_capacity *capacity,
                                  const pith_array *required) {
    pithp_string path, text;
    if (!complaint(s, capacity, required, "pith_capacity_message", &path, &text))
        return "";
    const size_t bytes = path.length + text.length + sizeof ": ";
    char *line = pithp_scope_allocate(s, bytes);
    if (line)
        snprintf(line, bytes, "%s%s%s", path.bytes, path.length ? ": " : "", text.bytes);
    pithp_string_end(&text);
    pithp_string_end(&path);
    return line ? line : "";
}
