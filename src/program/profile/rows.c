/* Profile rows: entries merged and sorted by time, while runs may add to them. */
#include "program/profile/profile.h"

#include <stdlib.h>
#include <string.h>

/* A row with its data from before the sort. */
typedef struct sorted {
    pithp_profile_row row;
    uint64_t hash;
    int64_t nanoseconds, inside; /* inside: nanoseconds of the rows inside it */
    int64_t number;
} sorted;

static int64_t find_row(const sorted *rows, int64_t count, const sorted *like) {
    int64_t k = 0;
    while (k < count &&
           !(rows[k].hash == like->hash && rows[k].row.inside == like->row.inside &&
             strcmp(rows[k].row.name, like->row.name) == 0))
        k++;
    return k;
}

static void add_entry(const pithp_profile *p, const pithp_profile_entry *e, sorted *row) {
    const int64_t calls = atomic_load_explicit(&e->calls, memory_order_relaxed);
    row->row.name = p->strings.bytes + e->name;
    row->row.sites = p->strings.bytes + e->sites;
    row->row.calls += calls;
    row->row.read += calls * e->read;
    row->row.written += calls * e->written;
    row->nanoseconds += atomic_load_explicit(&e->nanoseconds, memory_order_relaxed);
}

/* Merge equal entries that ran; row_of: the row of each entry. */
static int64_t merge(const pithp_profile *p, sorted *rows, int64_t *row_of) {
    int64_t count = 0;
    for (int64_t k = 0; k < p->count; k++) {
        const pithp_profile_entry *e = &p->entries[k];
        if (e->leader != k || !atomic_load_explicit(&e->calls, memory_order_relaxed))
            continue;
        sorted like = {.hash = e->hash, .number = count};
        like.row.name = p->strings.bytes + e->name;
        like.row.inside = e->parent >= 0 ? row_of[e->parent] : -1;
        row_of[k] = find_row(rows, count, &like);
        if (row_of[k] == count)
            rows[count++] = like;
        add_entry(p, e, &rows[row_of[k]]);
    }
    return count;
}

static int by_time(const void *a, const void *b) {
    const sorted *x = a, *y = b;
    const int64_t own_x = x->nanoseconds - x->inside, own_y = y->nanoseconds - y->inside;
    if (own_x != own_y)
        return own_x < own_y ? 1 : -1;
    return x->number < y->number ? -1 : 1;
}

int64_t pithp_profile_rows(const pithp_profile *p, pithp_profile_row *rows) {
    const size_t bytes = (size_t)p->count * (sizeof(sorted) + sizeof(int64_t)) + 1;
    sorted *all = pithp_allocate(p->rt, bytes);
    if (!all)
        return -1;
    int64_t *positions = (int64_t *)(void *)(all + p->count);
    const int64_t count = merge(p, all, positions);
    for (int64_t k = 0; k < count; k++)
        if (all[k].row.inside >= 0)
            all[all[k].row.inside].inside += all[k].nanoseconds;
    qsort(all, (size_t)count, sizeof *all, by_time);
    for (int64_t k = 0; k < count; k++)
        positions[all[k].number] = k;
    for (int64_t k = 0; k < count; k++) {
        const int64_t own = all[k].nanoseconds - all[k].inside;
        rows[k] = all[k].row;
        rows[k].inside = rows[k].inside >= 0 ? positions[rows[k].inside] : -1;
        rows[k].seconds = own > 0 ? (double)own * 1e-9 : 0;
    }
    pithp_release(p->rt, all, bytes);
    return count;
}
