/* Memory hints: computes bytes from contracts of nodes, and combines hints. Arithmetic is
 * exact in 64 bits; overflow is an error. */
#include "pith/memory_hint.h"

#include "capacity/capacity_internal.h"
#include "mesh/mesh_internal.h"

#include <math.h>

enum { LARGEST_DIMENSION = 16 }; /* a longer last axis is not a space dimension */

static const pith_memory_hint no_hint = {SIZE_MAX, SIZE_MAX};

static bool too_much(pith_scope *s, const char *function) {
    pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: the bytes do not fit 64 bits", function);
    return false;
}

/* ---- Contracts ---- */

/* *product *= base^exponent; false: overflow. */
static bool times_power(uint64_t *product, uint64_t base, int32_t exponent) {
    for (uint64_t power = base; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) && __builtin_mul_overflow(*product, power, product))
            return false;
        if (exponent > 1 && __builtin_mul_overflow(power, power, &power))
            return false;
    }
    return true;
}

static bool sample_fits(pith_scope *s, const char *function, const pith_sample *sample) {
    if (!sample || (sample->particles >= 0 && sample->arity >= 0))
        return true;
    pithp_fail(
        s, PITH_E_ARG, NULL,
        "%s: sample: %lld particles and an arity of %lld: expected no negative number",
        function, (long long)sample->particles, (long long)sample->arity);
    return false;
}

static bool
contract_fits(pith_scope *s, const char *function, const pith_contract *contract) {
    if (!contract) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: contract is NULL", function);
        return false;
    }
    if (contract->rank < 0 || contract->particle_depth < 0 || contract->dim < 0 ||
        contract->features < 0) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: contract: rank %d, particle_depth %d, dim %lld, features %lld: "
                   "expected no negative number",
                   function, contract->rank, contract->particle_depth,
                   (long long)contract->dim, (long long)contract->features);
        return false;
    }
    if (contract->rank > 0 && contract->dim == 0) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: contract: rank %d needs the dimension of space, .dim", function,
                   contract->rank);
        return false;
    }
    if (contract->dtype != PITH_DTYPE_NONE && pith_dtype_size(contract->dtype) == 0) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: contract: %d is not a dtype", function,
                   (int)contract->dtype);
        return false;
    }
    return true;
}

static uint64_t particles_of(const pith_sample *sample) {
    return sample && sample->particles > 0 ? (uint64_t)sample->particles : 1;
}

/* Number of elements of a checked contract; false: exceeds the limit of an array. */
static bool elements_of(const pith_contract *contract,
                        const pith_sample *sample,
                        uint64_t *elements) {
    *elements = (uint64_t)contract->features;
    if (*elements == 0)
        return true;
    return times_power(elements, (uint64_t)contract->dim, contract->rank) &&
           times_power(elements, particles_of(sample), contract->particle_depth) &&
           *elements <= INT64_MAX;
}

/* Bytes of the output; false: error set. */
static bool output_of(pith_scope *s,
                      const char *function,
                      const pith_contract *contract,
                      const pith_sample *sample,
                      size_t *bytes) {
    const pith_dtype dtype = contract && contract->dtype ? contract->dtype : PITH_F32;
    uint64_t elements = 0;
    if (!contract_fits(s, function, contract) || !sample_fits(s, function, sample))
        return false;
    if (!elements_of(contract, sample, &elements) ||
        pithp_mul_overflows(elements, pith_dtype_size(dtype), bytes))
        return too_much(s, function);
    return true;
}

int64_t pith_hint_output_elements(pith_scope *s,
                                  const pith_contract *contract,
                                  const pith_sample *sample) {
    static const char *const function = "pith_hint_output_elements";
    uint64_t elements = 0;
    if (!pithp_enter(s) || !contract_fits(s, function, contract) ||
        !sample_fits(s, function, sample))
        return -1;
    if (elements_of(contract, sample, &elements))
        return (int64_t)elements;
    pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: the elements do not fit 63 bits", function);
    return -1;
}

size_t pith_hint_output_bytes(pith_scope *s,
                              const pith_contract *contract,
                              const pith_sample *sample) {
    size_t bytes = 0;
    return pithp_enter(s) &&
                   output_of(s, "pith_hint_output_bytes", contract, sample, &bytes)
               ? bytes
               : SIZE_MAX;
}

pith_memory_hint
pith_hint_leaf(pith_scope *s, const pith_contract *contract, const pith_sample *sample) {
    size_t bytes = 0;
    return pithp_enter(s) && output_of(s, "pith_hint_leaf", contract, sample, &bytes)
               ? (pith_memory_hint){.per_sample = bytes}
               : no_hint;
}

/* ---- Combinators ---- */

static bool children_fit(pith_scope *s,
                         const char *function,
                         int64_t count,
                         const pith_hint_child *children) {
    if (count >= 0 && (children || count == 0))
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: %lld children at %s", function, (long long)count,
               children ? "an address" : "NULL");
    return false;
}

/* Bytes of repeated outputs; false: error set. */
static bool repeated_of(pith_scope *s,
                        const char *function,
                        int64_t count,
                        const pith_hint_child *children,
                        const pith_sample *sample,
                        size_t *bytes) {
    int32_t deepest = 0;
    *bytes = 0;
    if (!children_fit(s, function, count, children) || !sample_fits(s, function, sample))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (children[i].contract.particle_depth > deepest)
            deepest = children[i].contract.particle_depth;
    for (int64_t i = 0; i < count; i++) {
        const pith_contract *contract = &children[i].contract;
        size_t output = 0;
        uint64_t copies = 1;
        if (!output_of(s, function, contract, sample, &output))
            return false;
        if (output == 0 || contract->particle_depth == deepest)
            continue;
        if (!times_power(&copies, particles_of(sample),
                         deepest - contract->particle_depth) ||
            pithp_mul_overflows(output, copies - 1, &output) ||
            pithp_add_overflows(*bytes, output, bytes))
            return too_much(s, function);
    }
    return true;
}

size_t pith_hint_broadcast(pith_scope *s,
                           int64_t count,
                           const pith_hint_child *children,
                           const pith_sample *sample) {
    size_t bytes = 0;
    return pithp_enter(s) &&
                   repeated_of(s, "pith_hint_broadcast", count, children, sample, &bytes)
               ? bytes
               : SIZE_MAX;
}

/* *sum += hint; false: overflow. */
static bool add_to(pith_memory_hint *sum, pith_memory_hint hint) {
    return !pithp_add_overflows(sum->per_sample, hint.per_sample, &sum->per_sample) &&
           !pithp_add_overflows(sum->persistent, hint.persistent, &sum->persistent);
}

pith_memory_hint pith_hint_operation(pith_scope *s,
                                     const pith_contract *contract,
                                     int64_t count,
                                     const pith_hint_child *children,
                                     const pith_sample *sample) {
    static const char *const function = "pith_hint_operation";
    pith_memory_hint hint = {0, 0}, own = {0, 0}, repeated = {0, 0};
    if (!pithp_enter(s) || !output_of(s, function, contract, sample, &own.per_sample) ||
        !repeated_of(s, function, count, children, sample, &repeated.per_sample))
        return no_hint;
    bool fits = add_to(&hint, own) && add_to(&hint, repeated);
    for (int64_t i = 0; i < count && fits; i++)
        fits = add_to(&hint, children[i].hint);
    return fits || too_much(s, function) ? hint : no_hint;
}

/* ---- Hints from hints ---- */

/* bytes * factor rounded up, for a finite factor >= 1; false: overflow. A factor is a
 * 53-bit integer times a power of two, so the product is exact. */
static bool times_factor(size_t bytes, double factor, size_t *product) {
    int exponent = 0;
    const pithp_u128 mantissa = (uint64_t)ldexp(frexp(factor, &exponent), 53);
    pithp_u128 exact = mantissa * bytes;
    const int shift = exponent - 53;
    if (shift >= 64 || (shift > 0 && exact > (SIZE_MAX >> shift))) {
        *product = 0;
        return bytes == 0;
    }
    if (shift >= 0)
        exact <<= shift;
    else
        exact = (exact + ((pithp_u128)1 << -shift) - 1) >> -shift;
    *product = (size_t)exact;
    return exact <= SIZE_MAX;
}

pith_memory_hint pith_hint_gradient(pith_scope *s, pith_memory_hint hint, double factor) {
    static const char *const function = "pith_hint_gradient";
    const double by = factor == 0 ? 2 : factor;
    if (!pithp_enter(s))
        return no_hint;
    if (!(by >= 1) || !isfinite(by)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a factor of 1 or more, got %g",
                   function, factor);
        return no_hint;
    }
    return times_factor(hint.per_sample, by, &hint.per_sample) || too_much(s, function)
               ? hint
               : no_hint;
}

pith_memory_hint pith_hint_add(pith_scope *s, pith_memory_hint a, pith_memory_hint b) {
    return pithp_enter(s) && (add_to(&a, b) || too_much(s, "pith_hint_add")) ? a
                                                                             : no_hint;
}

pith_memory_hint
pith_hint_sum(pith_scope *s, int64_t count, const pith_memory_hint *hints) {
    pith_memory_hint sum = {0, 0};
    if (!pithp_enter(s))
        return no_hint;
    if (count < 0 || (!hints && count > 0)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_hint_sum: %lld hints at %s",
                   (long long)count, hints ? "an address" : "NULL");
        return no_hint;
    }
    for (int64_t i = 0; i < count; i++)
        if (!add_to(&sum, hints[i])) {
            too_much(s, "pith_hint_sum");
            return no_hint;
        }
    return sum;
}

static bool
count_fits(pith_scope *s, const char *function, const char *name, int64_t count) {
    if (count >= 0)
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: expected no negative number, got %lld",
               function, name, (long long)count);
    return false;
}

pith_memory_hint pith_hint_scaled(pith_scope *s, pith_memory_hint hint, int64_t times) {
    static const char *const function = "pith_hint_scaled";
    if (!pithp_enter(s) || !count_fits(s, function, "times", times))
        return no_hint;
    if (pithp_mul_overflows(hint.per_sample, (size_t)times, &hint.per_sample)) {
        too_much(s, function);
        return no_hint;
    }
    return hint;
}

size_t pith_hint_bytes(pith_scope *s, pith_memory_hint hint, int64_t samples) {
    static const char *const function = "pith_hint_bytes";
    size_t bytes = 0;
    if (!pithp_enter(s) || !count_fits(s, function, "samples", samples))
        return SIZE_MAX;
    if (pithp_mul_overflows(hint.per_sample, (size_t)samples, &bytes) ||
        pithp_add_overflows(bytes, hint.persistent, &bytes)) {
        too_much(s, function);
        return SIZE_MAX;
    }
    return bytes;
}

pith_memory_hint
pith_hint_measured(pith_scope *s, pith_memory_hint hint, int64_t samples, size_t peak) {
    static const char *const function = "pith_hint_measured";
    const bool fine = pithp_enter(s);
    if (fine && (samples <= 0 || peak < hint.persistent))
        pithp_fail(
            s, PITH_E_ARG, NULL,
            "%s: a peak of %zu bytes in %lld samples does not fit %zu persistent bytes",
            function, peak, (long long)samples, hint.persistent);
    if (fine && s->error.code == PITH_OK) {
        const size_t transient = peak - hint.persistent, n = (size_t)samples;
        hint.per_sample = transient / n + (transient % n != 0);
    }
    uint64_t least = ~(uint64_t)hint.per_sample; /* the greatest need of all ranks */
    if (pithp_scope_joins(s) ? !pithp_ranks_least_of(s, function, &least)
                             : !fine || s->error.code != PITH_OK)
        return no_hint;
    hint.per_sample = (size_t)~least;
    return hint;
}

pith_batch_fit
pith_fit_batch(pith_scope *s, pith_memory_hint hint, size_t budget, int64_t total) {
    static const char *const function = "pith_fit_batch";
    pith_batch_fit fit = {0};
    uint64_t most = INT64_MAX;
    const bool fine = pithp_enter(s) && count_fits(s, function, "total", total);
    if (fine && (hint.persistent > budget || hint.per_sample > budget - hint.persistent))
        pithp_fail(
            s, PITH_E_MEMORY, NULL,
            "%s: one sample takes %zu bytes and %zu are persistent, which do not fit "
            "a budget of %zu",
            function, hint.per_sample, hint.persistent, budget);
    else if (fine && hint.per_sample > 0 &&
             (budget - hint.persistent) / hint.per_sample < most)
        most = (budget - hint.persistent) / hint.per_sample;
    if (pithp_scope_joins(s) ? !pithp_ranks_least_of(s, function, &most)
                             : !fine || s->error.code != PITH_OK)
        return fit;
    fit.batch = total > 0 && (size_t)total < most ? total : (int64_t)most;
    fit.chunks = total / fit.batch + (total % fit.batch != 0);
    fit.last = total > 0 ? total - (fit.chunks - 1) * fit.batch : 0;
    fit.bytes = (size_t)fit.batch * hint.per_sample + hint.persistent;
    return fit;
}

/* ---- Hints from arrays ---- */

pith_sample pith_sample_of(pith_scope *s,
                           const pith_array *x,
                           const pith_array *v,
                           const pith_array *mask) {
    static const char *const function = "pith_sample_of";
    pith_sample sample = {.has_velocity = v != NULL, .has_mask = mask != NULL};
    if (!pithp_enter(s) || (x && pithp_array_check(s, x, function, "x") != PITH_OK) ||
        (v && pithp_array_check(s, v, function, "v") != PITH_OK) ||
        (mask && pithp_array_check(s, mask, function, "mask") != PITH_OK))
        return (pith_sample){0};
    const pith_spec *spec = x ? pithp_array_spec(x) : NULL;
    if (spec && spec->rank >= 2 && spec->shape[spec->rank - 1] >= 1 &&
        spec->shape[spec->rank - 1] <= LARGEST_DIMENSION)
        sample.particles = spec->shape[spec->rank - 2];
    return sample;
}
