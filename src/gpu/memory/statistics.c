/* Memory statistics of instances and scopes, as numbers, JSON and a table. */
#include "base/bytes.h"
#include "base/format.h"
#include "gpu/device.h"
#include "gpu/memory/manager.h"

#include <stdio.h>
#include <string.h>

/* ---- Numbers ---- */

static pith_memory_statistics statistics_of(const pith_instance *i) {
    const pithp_account now = pithp_account_read(i->device, &i->account);
    return (pith_memory_statistics){.current = now.owned + now.lent,
                                    .peak = now.peak,
                                    .total = now.total,
                                    .current_count = now.buffers,
                                    .peak_count = now.peak_buffers,
                                    .total_count = now.total_buffers};
}

pith_memory_statistics pith_instance_statistics(const pith_instance *instance) {
    const pith_instance *i = pithp_instance_of_pointer(instance);
    return i ? statistics_of(i) : (pith_memory_statistics){0};
}

pith_memory_statistics pith_scope_statistics(const pith_scope *s) {
    const pith_instance *i = pithp_scope_writable(s) ? pithp_scope_instance(s) : NULL;
    return i ? statistics_of(i) : (pith_memory_statistics){0};
}

/* ---- Parts ---- */

bool pith_memory_push(pith_scope *s) {
    if (!pithp_enter_untraced(s, "pith_memory_push"))
        return false;
    pith_instance *part = pithp_part_open(pithp_scope_instance(s), s);
    if (!part) {
        pithp_fail_memory(s, sizeof *part);
        return false;
    }
    s->room[PITHP_ROOM_MEMORY] = part;
    return true;
}

/* Whether a part counts the buffers of a scope. */
static bool counts_for(const pith_scope *s, const pith_instance *part) {
    for (const pith_instance *i = pithp_scope_instance(s); i; i = i->part_of)
        if (i == part)
            return true;
    return false;
}

pith_memory_statistics pith_memory_pop(pith_scope *s) {
    if (!pithp_enter(s))
        return (pith_memory_statistics){0};
    pith_instance *part = pithp_scope_instance(s);
    if (part->pushed != s) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_memory_pop: nothing was pushed");
        return (pith_memory_statistics){0};
    }
    for (const pith_scope *child = s->first_child; child; child = child->next_sibling)
        if (counts_for(child, part)) {
            pithp_fail(s, PITH_E_SCOPE, NULL,
                       "pith_memory_pop: a child opened after the push is still open");
            return (pith_memory_statistics){0};
        }
    const pith_memory_statistics counted = statistics_of(part);
    s->room[PITHP_ROOM_MEMORY] = part->part_of;
    pithp_part_close(part);
    return counted;
}

void pithp_memory_pop_all(pith_scope *s) {
    pith_instance *i;
    while ((i = pithp_scope_instance(s)) && i->pushed == s) {
        s->room[PITHP_ROOM_MEMORY] = i->part_of;
        pithp_part_close(i);
    }
}

/* ---- Rows of reports ---- */

typedef struct row {
    char name[PITHP_NAME_BYTES], group[PITHP_NAME_BYTES];
    bool manual;
    double proportion;
    size_t cap;
    pith_memory_statistics numbers;
} row;

typedef struct report {
    pith_memory_info device;
    size_t pinned, total; /* bytes ever allocated, including closed instances */
    int64_t total_count;
    bool active;
    int64_t count;
    row *rows;
    size_t bytes;
} report;

static void read_row(pith_instance *i, row *r) {
    memcpy(r->name, i->name, sizeof r->name);
    memcpy(r->group, i->group ? i->group->name : (char[PITHP_NAME_BYTES]){0},
           sizeof r->group);
    r->manual = i->manual;
    r->proportion = i->proportion;
    r->cap = pithp_share_bytes(i->device, i->proportion);
    r->numbers = statistics_of(i);
}

static void read_rows(const pithp_memory_manager *m, report *r, int64_t room) {
    r->total = m->gone_total;
    r->total_count = m->gone_buffers;
    r->pinned = m->pinned;
    r->active = m->limits == PITH_LIMITS_ACTIVE;
    r->count = 0;
    pith_instance *i = m->standard;
    while (i && r->count < room) {
        row *at = &r->rows[r->count++];
        read_row(i, at);
        r->total += at->numbers.total;
        r->total_count += at->numbers.total_count;
        i = i == m->standard ? m->first : i->next;
    }
}

static int64_t count_instances(const pithp_memory_manager *m) {
    int64_t count = 1;
    for (const pith_instance *i = m->first; i; i = i->next)
        count++;
    return count;
}

/* Take a snapshot; returns false if memory is short. */
static bool report_begin(pithp_device *d, report *r) {
    pithp_memory_manager *m = d->memory;
    pthread_mutex_lock(&m->lock);
    const int64_t room = count_instances(m);
    r->bytes = (size_t)room * sizeof *r->rows;
    r->rows = pithp_allocate(d->runtime, r->bytes);
    if (r->rows)
        read_rows(m, r, room);
    pthread_mutex_unlock(&m->lock);
    r->device = pith_memory_about(d->runtime);
    return r->rows != NULL;
}

static void report_end(pithp_device *d, report *r) {
    pithp_release(d->runtime, r->rows, r->bytes);
}

/* ---- JSON ---- */

static void add_string(pithp_string *t, const char *text) {
    pithp_string_add(t, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            pithp_string_print(t, "\\%c", *c);
        else if (*c < ' ')
            pithp_string_print(t, "\\u%04x", *c);
        else
            pithp_string_add_n(t, (const char *)c, 1);
    }
    pithp_string_add(t, "\"");
}

static void add_numbers(pithp_string *t, const pith_memory_statistics *n) {
    pithp_string_print(
        t,
        "\"current\":%zu,\"peak\":%zu,\"total\":%zu,\"current_count\":%lld,"
        "\"peak_count\":%lld,\"total_count\":%lld}",
        n->current, n->peak, n->total, (long long)n->current_count,
        (long long)n->peak_count, (long long)n->total_count);
}

static void add_row(pithp_string *t, const row *r) {
    pithp_string_add(t, "{\"name\":");
    add_string(t, r->name);
    pithp_string_add(t, ",\"group\":");
    add_string(t, r->group);
    pithp_string_print(t, ",\"manual\":%s,\"proportion\":", r->manual ? "true" : "false");
    pithp_string_add_number(t, 17, r->proportion);
    pithp_string_print(t, ",\"cap\":%zu,", r->cap);
    add_numbers(t, &r->numbers);
}

static void add_report(pithp_string *t, const pithp_device *d, const report *r) {
    pithp_string_add(t, "{\"device\":");
    add_string(t, d->name);
    pithp_string_print(
        t,
        ",\"total\":%zu,\"free\":%zu,\"live\":%zu,\"peak\":%zu,\"pool\":%zu,"
        "\"live_count\":%lld,\"peak_count\":%lld,\"pinned\":%zu,\"allocated\":%zu,\"allocated_count\":%lld,"
        "\"limits\":\"%s\",\"instances\":[",
        r->device.total, r->device.free, r->device.live, r->device.peak, r->device.pool,
        (long long)r->device.live_count, (long long)r->device.peak_count, r->pinned,
        r->total, (long long)r->total_count, r->active ? "active" : "passive");
    for (int64_t i = 0; i < r->count; i++) {
        pithp_string_add(t, i ? "," : "");
        add_row(t, &r->rows[i]);
    }
    pithp_string_add(t, "]}");
}

const char *pith_memory_json(pith_scope *s) {
    if (!pithp_enter(s))
        return NULL;
    pithp_device *d = pithp_scope_device(s);
    report r;
    pithp_string t;
    char *made = NULL;
    if (!report_begin(d, &r)) {
        pithp_fail_memory(s, r.bytes);
        return NULL;
    }
    pithp_string_begin(&t, s->runtime);
    add_report(&t, d, &r);
    if (t.failed)
        pithp_fail_memory(s, t.length);
    else
        made = pithp_scope_allocate(s, t.length + 1);
    if (made)
        memcpy(made, t.bytes, t.length + 1);
    pithp_string_end(&t);
    report_end(d, &r);
    return made;
}

/* ---- The table ---- */

static void print_row(FILE *out, const row *r) {
    char a[PITHP_BYTES_TEXT], b[PITHP_BYTES_TEXT], c[PITHP_BYTES_TEXT],
        cap[PITHP_BYTES_TEXT], share[24];
    pithp_format(share, sizeof share, "%.1f", 100 * r->proportion);
    fprintf(out, "%-20.20s %5s%% %12s %12s %12s %12s %8lld %8lld %8lld\n", r->name, share,
            pithp_bytes_text(cap, r->cap), pithp_bytes_text(a, r->numbers.current),
            pithp_bytes_text(b, r->numbers.peak), pithp_bytes_text(c, r->numbers.total),
            (long long)r->numbers.current_count, (long long)r->numbers.peak_count,
            (long long)r->numbers.total_count);
}

void pith_memory_print(const pith_runtime *rt, FILE *out) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    report r;
    char a[PITHP_BYTES_TEXT], b[PITHP_BYTES_TEXT], c[PITHP_BYTES_TEXT],
        e[PITHP_BYTES_TEXT];
    out = out ? out : stdout;
    if (!d || !report_begin(d, &r))
        return;
    fprintf(out, "%s: %s live, %s at most, %s kept for reuse, ", d->name,
            pithp_bytes_text(a, r.device.live), pithp_bytes_text(b, r.device.peak),
            pithp_bytes_text(c, r.device.pool));
    fprintf(out, "%s free of %s\n", pithp_bytes_text(a, r.device.free),
            pithp_bytes_text(b, r.device.total));
    fprintf(out, "%lld blocks live, %lld at most; %s allocated ever, in %lld blocks; ",
            (long long)r.device.live_count, (long long)r.device.peak_count,
            pithp_bytes_text(c, r.total), (long long)r.total_count);
    fprintf(out, "%s pinned; limits are %s\n", pithp_bytes_text(e, r.pinned),
            r.active ? "active" : "passive");
    fprintf(out, "%-20s %6s %12s %12s %12s %12s %8s %8s %8s\n", "instance", "share",
            "cap", "current", "peak", "total", "blocks", "peak", "total");
    for (int64_t i = 0; i < r.count; i++)
        print_row(out, &r.rows[i]);
    report_end(d, &r);
}
