/* Profile counters: runs on any thread add to them. */
#include "program/profile/profile.h"

static void add(atomic_llong *total, int64_t more) {
    if (more > 0)
        atomic_fetch_add_explicit(total, more, memory_order_relaxed);
}

static bool leads(const pithp_profile *p, int64_t entry) {
    return p->entries[entry].leader == entry;
}

static int64_t bytes_of(const pithp_profile_entry *e) {
    return e->read + e->written;
}

/* Divide time among the leaders by their bytes. The last leader gets the remainder. */
static void divide(pithp_profile *p, int64_t entry, int64_t n, int64_t nanoseconds) {
    int64_t all = 0, before = 0, given = 0, last = entry;
    for (int64_t k = entry; k < entry + n; k++) {
        all += bytes_of(&p->entries[k]);
        last = leads(p, k) ? k : last;
    }
    for (int64_t k = entry; k < last; k++) {
        before += bytes_of(&p->entries[k]);
        const int64_t until =
            all ? (int64_t)((double)nanoseconds * ((double)before / (double)all)) : 0;
        add(&p->entries[k].nanoseconds, until - given);
        given = until;
    }
    add(&p->entries[last].nanoseconds, nanoseconds - given);
}

void pithp_profile_count(pithp_profile *p, int64_t entry, int64_t n) {
    for (int64_t k = entry; k < entry + n; k++)
        if (leads(p, k))
            add(&p->entries[k].calls, 1);
}

void pithp_profile_credit(pithp_profile *p,
                          int64_t entry,
                          int64_t n,
                          int64_t nanoseconds) {
    pithp_profile_count(p, entry, n);
    divide(p, entry, n, nanoseconds);
}

void pithp_profile_share(pithp_profile *p,
                         int64_t entry,
                         int64_t n,
                         int64_t nanoseconds) {
    divide(p, entry, n, nanoseconds);
    for (int64_t k = p->entries[p->entries[entry].leader].parent; k >= 0;
         k = p->entries[k].parent)
        add(&p->entries[k].nanoseconds, nanoseconds);
}

void pithp_profile_add_run(pithp_profile *p, int64_t nanoseconds) {
    add(&p->calls, 1);
    add(&p->nanoseconds, nanoseconds);
}
