/* Memory shares: manual instances have their requested proportion, automatic ones share
 * the rest equally. */
#include "base/format.h"
#include "gpu/device.h"
#include "gpu/memory/manager.h"

#define LEAST_AUTO 0.05  /* of the device, total of all automatic instances */
#define ROUNDING   1e-12 /* tolerance for sums of proportions */

static double manual_sum(const pithp_memory_manager *m, const pith_instance *except) {
    double sum = 0;
    for (const pith_instance *i = m->first; i; i = i->next)
        if (i->manual && i != except)
            sum += i->proportion;
    return sum;
}

static int automatic_count(const pithp_memory_manager *m, const pith_instance *except) {
    int count = 0;
    for (const pith_instance *i = m->first; i; i = i->next)
        count += !i->manual && i != except;
    return count;
}

bool pithp_share_fits(pithp_memory_manager *m,
                      const pith_instance *except,
                      double proportion,
                      pithp_warnings *w,
                      char why[256]) {
    if (!(proportion > 0 && proportion <= 1)) {
        pithp_format(why, 256, "a proportion of %g, expected over 0 and at most 1",
                     proportion);
        return false;
    }
    const double others = manual_sum(m, except), left = 1 - others - proportion;
    const int automatic = automatic_count(m, except);
    if (left < -ROUNDING) {
        pithp_format(why, 256, "a proportion of %g, but manual instances already have %g",
                     proportion, others);
        return false;
    }
    if (left >= LEAST_AUTO - ROUNDING)
        return true;
    if (automatic) {
        pithp_format(why, 256,
                     "a proportion of %g in addition to the %g of manual "
                     "instances leaves %d automatic %s less than %g",
                     proportion, others, automatic, automatic == 1 ? "one" : "ones",
                     LEAST_AUTO);
        return false;
    }
    pithp_warning_add(w, PITH_WARNING_LITTLE_LEFT,
                      "manual instances have %g of the memory: less than %g is left for "
                      "automatic ones",
                      others + proportion, LEAST_AUTO);
    return true;
}

bool pithp_share_fits_auto(pithp_memory_manager *m,
                           const pith_instance *except,
                           char why[256]) {
    const double others = manual_sum(m, except);
    if (1 - others >= LEAST_AUTO - ROUNDING)
        return true;
    pithp_format(why, 256,
                 "manual instances have %g of the memory, but automatic "
                 "ones need %g",
                 others, LEAST_AUTO);
    return false;
}

size_t pithp_share_bytes(const pithp_device *d, double proportion) {
    return proportion >= 1 ? d->total : (size_t)(proportion * (double)d->total);
}

void pithp_share_balance(pithp_device *d, pithp_warnings *w) {
    pithp_memory_manager *m = d->memory;
    const int automatic = automatic_count(m, NULL);
    const double rest = 1 - manual_sum(m, NULL);
    int squeezed = 0;
    const pith_instance *one = NULL;
    size_t held = 0; /* by `one` */
    for (pith_instance *i = m->first; i; i = i->next) {
        if (!i->manual)
            i->proportion = (rest < 0 ? 0 : rest) / automatic;
        const size_t cap = pithp_share_bytes(d, i->proportion);
        pithp_account_set_cap(d, &i->account,
                              m->limits == PITH_LIMITS_ACTIVE ? cap : SIZE_MAX);
        const size_t owned = pithp_account_read(d, &i->account).owned;
        if (!i->manual && owned > cap && !squeezed++) {
            one = i;
            held = owned;
        }
    }
    if (one)
        pithp_warning_add(
            w, PITH_WARNING_SQUEEZED,
            "%d automatic %s more than their share: \"%s\" %zu bytes of %zu", squeezed,
            squeezed == 1 ? "instance holds" : "instances hold", one->name, held,
            pithp_share_bytes(d, one->proportion));
}

/* ---- Public functions ---- */

double pith_instance_proportion(const pith_instance *instance) {
    pith_instance *i = pithp_instance_of_pointer(instance);
    if (!i)
        return 0;
    pithp_memory_manager *m = i->device->memory;
    pthread_mutex_lock(&m->lock);
    const double proportion = i->open ? i->proportion : 0;
    pthread_mutex_unlock(&m->lock);
    return proportion;
}

size_t pith_instance_cap(const pith_instance *instance) {
    const pith_instance *i = pithp_instance_of_pointer(instance);
    return i ? pithp_share_bytes(i->device, pith_instance_proportion(i)) : 0;
}

bool pith_instance_is_manual(const pith_instance *instance) {
    pith_instance *i = pithp_instance_of_pointer(instance);
    if (!i)
        return false;
    pithp_memory_manager *m = i->device->memory;
    pthread_mutex_lock(&m->lock);
    const bool manual = i->open && i->manual;
    pthread_mutex_unlock(&m->lock);
    return manual;
}

static pithp_memory_manager *memory_of(const pith_runtime *rt) {
    return pithp_runtime_valid(rt) && pithp_runtime_device(rt)
               ? pithp_runtime_device(rt)->memory
               : NULL;
}

double pith_memory_manual_proportion(const pith_runtime *rt) {
    pithp_memory_manager *m = memory_of(rt);
    if (!m)
        return 0;
    pthread_mutex_lock(&m->lock);
    const double sum = manual_sum(m, NULL);
    pthread_mutex_unlock(&m->lock);
    return sum;
}

double pith_memory_auto_proportion(const pith_runtime *rt) {
    pithp_memory_manager *m = memory_of(rt);
    if (!m)
        return 0;
    pthread_mutex_lock(&m->lock);
    const double rest = 1 - manual_sum(m, NULL);
    const double sum = !automatic_count(m, NULL) || rest < 0 ? 0 : rest;
    pthread_mutex_unlock(&m->lock);
    return sum;
}

pith_limits pith_memory_limits(const pith_runtime *rt) {
    pithp_memory_manager *m = memory_of(rt);
    if (!m)
        return PITH_LIMITS_PASSIVE;
    pthread_mutex_lock(&m->lock);
    const pith_limits limits = m->limits;
    pthread_mutex_unlock(&m->lock);
    return limits;
}

bool(pith_memory_set_limits)(pith_scope *s, pith_limits limits) {
    if (!pithp_enter_untraced(s, "pith_memory_set_limits"))
        return false;
    if (limits != PITH_LIMITS_PASSIVE && limits != PITH_LIMITS_ACTIVE) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_memory_set_limits: %d, expected PITH_LIMITS_PASSIVE or "
                   "PITH_LIMITS_ACTIVE",
                   (int)limits);
        return false;
    }
    pithp_device *d = pithp_scope_device(s);
    pithp_warnings w = {0};
    pthread_mutex_lock(&d->memory->lock);
    d->memory->limits = limits;
    pithp_share_balance(d, &w);
    pthread_mutex_unlock(&d->memory->lock);
    pithp_warnings_tell(d, &w);
    return true;
}

/* Requested change of an instance's share. */
typedef enum { TO_AUTO, TO_PROPORTION } change;

static bool may_change(pithp_memory_manager *m,
                       const pith_instance *i,
                       change to,
                       double proportion,
                       pithp_warnings *w,
                       char why[256]) {
    if (i == m->standard)
        pithp_format(why, 256, "\"default\" has no share");
    else if (to == TO_AUTO && !i->manual)
        pithp_format(why, 256, "\"%s\" is already automatic", i->name);
    else if (to == TO_AUTO)
        return pithp_share_fits_auto(m, i, why);
    else
        return pithp_share_fits(m, i, proportion, w, why);
    return false;
}

static bool change_share(pith_scope *s,
                         pith_instance *instance,
                         change to,
                         double proportion,
                         const char *function) {
    if (!pithp_enter_untraced(s, function))
        return false;
    pith_instance *i = pithp_instance_check(s, instance, function);
    if (!i)
        return false;
    pithp_device *d = i->device;
    pithp_memory_manager *m = d->memory;
    pithp_warnings w = {0};
    char why[256] = "the instance is closed";
    pthread_mutex_lock(&m->lock);
    const bool may = i->open && may_change(m, i, to, proportion, &w, why);
    if (may) {
        i->manual = to != TO_AUTO;
        i->proportion = proportion;
        pithp_share_balance(d, &w);
    }
    pthread_mutex_unlock(&m->lock);
    if (!may)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function, why);
    else
        pithp_warnings_tell(d, &w);
    return may;
}

bool(pith_instance_set_proportion)(pith_scope *s,
                                   pith_instance *instance,
                                   double proportion) {
    return change_share(s, instance, TO_PROPORTION, proportion,
                        "pith_instance_set_proportion");
}

bool(pith_instance_set_auto)(pith_scope *s, pith_instance *instance) {
    return change_share(s, instance, TO_AUTO, 0, "pith_instance_set_auto");
}

/* ---- Available memory ---- */

/* The lock is held. */
static size_t left_of_caps(const pithp_device *d, const pithp_group *g, size_t *caps) {
    size_t left = 0;
    *caps = 0;
    for (pith_instance *i = d->memory->first; i; i = i->next) {
        if (i->group != g)
            continue;
        const size_t cap = pithp_share_bytes(d, i->proportion),
                     owned = pithp_account_read(d, &i->account).owned;
        *caps += cap;
        left += owned < cap ? cap - owned : 0;
    }
    return left;
}

size_t pithp_share_available(pithp_device *d,
                             const pithp_group *g,
                             size_t evictable,
                             pithp_warnings *w) {
    size_t available = pith_memory_about(d->runtime).free, caps;
    if (pithp_add_overflows(available, evictable, &available))
        available = SIZE_MAX;
    if (d->memory->limits == PITH_LIMITS_PASSIVE)
        return available;
    const size_t left = left_of_caps(d, g, &caps);
    if (left < caps / 20)
        pithp_warning_add(w, PITH_WARNING_GROUP_FULL,
                          "group \"%s\" has used more than 95 %% of its memory: %zu of "
                          "%zu bytes are left",
                          g->name, left, caps);
    return left < available ? left : available;
}

size_t(pith_memory_available)(pith_scope *s, const char *group) {
    if (!pithp_enter(s))
        return 0;
    pithp_device *d = pithp_scope_device(s);
    pithp_memory_manager *m = d->memory;
    pithp_warnings w = {0};
    pthread_mutex_lock(&m->lock);
    const pithp_group *g = group ? pithp_group_find(m, group) : NULL;
    const size_t available = g ? pithp_share_available(d, g, 0, &w) : 0;
    pthread_mutex_unlock(&m->lock);
    pithp_warnings_tell(d, &w);
    if (!g)
        pithp_fail(s, PITH_E_ARG, NULL, "pith_memory_available: no group \"%.64s\"",
                   group ? group : "(null)");
    return available;
}

size_t pithp_memory_left(const pith_scope *s) {
    const pithp_device *d = pithp_scope_device(s);
    const pithp_account now =
        pithp_account_read(d, &pithp_instance_named(pithp_scope_instance(s))->account);
    const size_t available = pith_memory_about(d->runtime).free,
                 capped = now.cap > now.owned ? now.cap - now.owned : 0;
    return capped < available ? capped : available;
}
