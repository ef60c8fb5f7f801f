/* Requirements: validation, reading, comparison with sizes, and messages. */
#include "capacity/capacity_internal.h"

#include <math.h>
#include <string.h>

enum { MOST_NAMED = 4 }; /* maximum number of sizes in one message */

pith_status pithp_need_check(pith_scope *s,
                             const pith_capacity *c,
                             const pith_array *required,
                             const char *function) {
    char text[PITHP_SPEC_TEXT_BYTES];
    if (pithp_operand_check(s, required, function, "required") != PITH_OK)
        return s->error.code;
    const pith_spec *spec = pithp_array_spec(required);
    if (spec->dtype == PITH_BOOL)
        return pithp_fail(s, PITH_E_DTYPE, NULL,
                          "%s: required: expected integers or floats, got %s", function,
                          pithp_spec_print(spec, text));
    if (!c->one && spec->rank > 0 && spec->shape[spec->rank - 1] != c->count)
        return pithp_fail(s, PITH_E_SHAPE, NULL,
                          "%s: required: expected a last extent of %lld, the number of "
                          "sizes, got %s",
                          function, (long long)c->count, pithp_spec_print(spec, text));
    return PITH_OK;
}

/* ---- Reading ---- */

static void take(pithp_need *need, pith_dtype dtype, const void *element) {
    int64_t value = 0;
    double number = 0;
    bool fine = true;
    if (dtype == PITH_I64) {
        memcpy(&value, element, sizeof value);
    } else if (dtype == PITH_U64) {
        uint64_t bits;
        memcpy(&bits, element, sizeof bits);
        value = (int64_t)bits;
        number = (double)bits;
        fine = bits <= INT64_MAX;
    } else {
        number = pithp_dtype_decode(dtype, element);
        fine = pithp_need_of(number, &value);
    }
    if (!fine && !need->beyond) {
        need->beyond = true;
        need->number = number;
    }
    if (fine && value > need->value)
        need->value = value;
}

/* Copy needs from device memory. All enqueued work must be complete. */
static pith_status copy_needs(pithp_stream *st,
                              const pith_capacity *c,
                              const pith_spec *spec,
                              const void *data,
                              pithp_need *needs,
                              pithp_error *e) {
    pith_runtime *rt = st->device->runtime;
    const size_t width = pith_dtype_size(spec->dtype), room = spec->bytes + 1;
    char *host = pithp_scratch_allocate(rt, room);
    if (!host) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: no room for %zu bytes of a requirement", room);
        return PITH_E_MEMORY;
    }
    for (int64_t i = 0; i < c->count; i++)
        needs[i] = (pithp_need){.value = INT64_MIN};
    const bool each = !c->one && spec->rank > 0;
    const pith_status rc = st->device->backend->copy_out(st, host, data, spec->bytes, e);
    for (int64_t k = 0; rc == PITH_OK && k < spec->count; k++)
        for (int64_t i = each ? k % c->count : 0; i < c->count; i++) {
            take(&needs[i], spec->dtype, host + (size_t)k * width);
            if (each)
                break;
        }
    pithp_scratch_release(rt, host, room);
    return rc;
}

pithp_need *
pithp_needs_read(pith_scope *s, const pith_capacity *c, const pith_array *required) {
    pithp_error e;
    pithp_need *needs = pithp_scope_allocate(s, (size_t)c->count * sizeof *needs);
    if (!needs || pithp_synchronise(s) != PITH_OK)
        return NULL;
    if (copy_needs(pithp_scope_stream(s), c, pithp_array_spec(required), required->data,
                   needs, &e) == PITH_OK)
        return needs;
    pithp_fail_device(s, &e);
    return NULL;
}

pith_status pithp_required_describe(pithp_stream *st,
                                    const pith_capacity *c,
                                    const pith_spec *spec,
                                    const void *data,
                                    pithp_string *t,
                                    pithp_error *e) {
    const size_t bytes = (size_t)c->count * sizeof(pithp_need);
    pithp_need *needs = pithp_allocate(st->device->runtime, bytes);
    if (!needs) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory: no room for needs");
        return PITH_E_MEMORY;
    }
    const pith_status rc = copy_needs(st, c, spec, data, needs, e);
    if (rc == PITH_OK)
        pithp_needs_describe(c, needs, t);
    pithp_release(st->device->runtime, needs, bytes);
    return rc;
}

/* ---- Comparison with sizes ---- */

static bool need_fits(const pith_capacity *c, int64_t i, const pithp_need *need) {
    return !need->beyond && need->value <= pithp_capacity_size(c, i);
}

bool pithp_needs_fit(const pith_capacity *c, const pithp_need *needs) {
    for (int64_t i = 0; i < c->count; i++)
        if (!need_fits(c, i, &needs[i]))
            return false;
    return true;
}

/* A need divided by the factor, rounded up. */
static int64_t own_need(const pith_capacity *c, const pithp_need *need) {
    return need->value <= 0 ? 0
                            : need->value / c->factor + (need->value % c->factor != 0);
}

/* The size after growth. The capacity must be able to grow, and the need must not be
 * `beyond`. */
static int64_t grown(const pith_capacity *c, int64_t i, int64_t need) {
    if (need <= c->sizes[i])
        return c->sizes[i];
    if (c->how == PITHP_CAPACITY_LENS)
        return pithp_growth(c->sizes[i], need, c->base);
    return c->kind.grow ? c->kind.grow(c->sizes[i], need, c->closure) : need;
}

/* ---- Messages ---- */

/* Append a size as "128000 (32 * 4000)". */
static void add_size(pithp_string *t, const pith_capacity *c, int64_t size) {
    int64_t product;
    if (__builtin_mul_overflow(size, c->factor, &product))
        product = INT64_MAX;
    pithp_string_print(t, "%lld", (long long)product);
    if (c->factor > 1)
        pithp_string_print(t, " (%lld * %lld)", (long long)size, (long long)c->factor);
}

static void
describe_one(const pith_capacity *c, int64_t i, const pithp_need *need, pithp_string *t) {
    pithp_string_add(t, c->how == PITHP_CAPACITY_FIXED ? "fixed capacity" : "capacity");
    if (c->kind.name)
        pithp_string_print(t, " %s", c->kind.name);
    if (!c->one) {
        pithp_string_add(t, " ");
        pithp_capacity_name(c, i, t);
    }
    pithp_string_add(t, " is too small: have ");
    add_size(t, c, c->sizes[i]);
    if (need->beyond) {
        pithp_string_print(t, ", need %g, which exceeds every size", need->number);
        return;
    }
    pithp_string_print(t, ", need %lld", (long long)need->value);
    if (c->factor > 1)
        pithp_string_print(t, " (%lld * %lld)", (long long)own_need(c, need),
                           (long long)c->factor);
    if (pithp_capacity_can_grow(c)) {
        pithp_string_add(t, ", new ");
        add_size(t, c, grown(c, i, own_need(c, need)));
    }
}

/* Append the capacity's own message. */
static void add_message(const pith_capacity *c, pithp_string *t) {
    if (c->message[0])
        pithp_string_print(t, "; %s", c->message);
}

void pithp_needs_describe(const pith_capacity *c,
                          const pithp_need *needs,
                          pithp_string *text) {
    int64_t named = 0;
    for (int64_t i = 0; i < c->count; i++) {
        if (need_fits(c, i, &needs[i]) || named++ >= MOST_NAMED)
            continue;
        if (named > 1)
            pithp_string_add(text, "; ");
        describe_one(c, i, &needs[i], text);
    }
    if (named > MOST_NAMED)
        pithp_string_print(text, "; and %lld more", (long long)(named - MOST_NAMED));
    if (named)
        add_message(c, text);
}

/* ---- Growing ---- */

static void
fail_one(pith_scope *s, const pith_capacity *c, int64_t i, const pithp_need *need) {
    pithp_string path, text;
    pithp_string_begin(&path, s->runtime);
    pithp_string_begin(&text, s->runtime);
    if (c->one)
        pithp_capacity_name(c, 0, &path);
    describe_one(c, i, need, &text);
    add_message(c, &text);
    pithp_fail(s, PITH_E_CAPACITY, path.bytes, "%s", text.bytes);
    pithp_string_end(&text);
    pithp_string_end(&path);
}

bool pithp_need_grow(pith_scope *s,
                     const pith_capacity *c,
                     int64_t i,
                     const pithp_need *need,
                     bool grow,
                     int64_t *size) {
    const int64_t own = need->beyond ? INT64_MAX : own_need(c, need);
    *size = c->sizes[i];
    if (own <= *size && !need->beyond)
        return true;
    if (need->beyond || !pithp_capacity_can_grow(c)) {
        fail_one(s, c, i, need);
        return false;
    }
    *size = grow ? grown(c, i, own) : own;
    if (*size >= own)
        return true;
    pithp_fail(s, PITH_E_CAPACITY, NULL, "%s grows to %lld, expected %lld or more",
               c->kind.name ? c->kind.name : "a user-defined capacity", (long long)*size,
               (long long)own);
    return false;
}
