/* Profile output: tables and JSON. */
#include "base/bytes.h"
#include "base/format.h"
#include "program/profile/profile.h"

#include <inttypes.h>
#include <string.h>

/* ---- Tables ---- */

enum { CELL_BYTES = 16, MOST_SITES = 4 };

static const char *in_seconds(char cell[CELL_BYTES], double seconds) {
    static const char *const units[] = {"s", "ms", "us"};
    int k = 0;
    for (; seconds < 1 && k + 1 < PITHP_COUNT(units); k++)
        seconds *= 1e3;
    pithp_format(cell, CELL_BYTES, "%.3f %s", seconds, units[k]);
    return cell;
}

/* Length of the file name in a site. */
static size_t file_of(const char *name) {
    const char *colon = strrchr(name, ':');
    return colon ? (size_t)(colon - name) : strlen(name);
}

/* Write sites as "melt.c:88,90,91 run.c:12": lines of a file are listed together. */
static void add_sites(pithp_string *t, const char *sites) {
    const char *before = NULL;
    int count = 0;
    for (const char *site = sites; *site; site += strlen(site) + 1, count++) {
        const char *name = pithp_site_name(site);
        const size_t file = file_of(name);
        const bool same =
            before && file_of(before) == file && strncmp(before, name, file) == 0;
        if (count == MOST_SITES) {
            pithp_string_add(t, ",...");
            return;
        }
        pithp_string_print(t,
                           same     ? ",%s"
                           : before ? " %s"
                                    : "%s",
                           same && name[file] ? name + file + 1 : name);
        before = name;
    }
    pithp_string_add(t, count ? "" : "-");
}

static void add_row(pithp_string *t,
                    double total,
                    const pithp_profile_row *rows,
                    const pithp_profile_row *row) {
    char time[CELL_BYTES], read[PITHP_BYTES_TEXT], written[PITHP_BYTES_TEXT];
    const double bytes = (double)row->read + (double)row->written;
    pithp_string where;
    pithp_string_begin(&where, t->rt);
    add_sites(&where, row->sites);
    pithp_string_print(
        t, "%7.2f %11s %10" PRId64 " %11s %11s %8.2f  %-24s %s",
        total > 0 ? 100 * row->seconds / total : 0, in_seconds(time, row->seconds),
        row->calls, pithp_bytes_text(read, (uint64_t)row->read),
        pithp_bytes_text(written, (uint64_t)row->written),
        row->seconds > 0 ? bytes / row->seconds / 1e9 : 0, where.bytes, row->name);
    t->failed |= where.failed;
    pithp_string_end(&where);
    if (row->inside >= 0) {
        pithp_string_print(t, "  (in %s ", rows[row->inside].name);
        add_sites(t, rows[row->inside].sites);
        pithp_string_add(t, ")");
    }
    pithp_string_add(t, "\n");
}

void pithp_profile_table(pithp_string *t,
                         const pithp_profile *p,
                         double total,
                         int64_t count,
                         const pithp_profile_row *rows) {
    char time[CELL_BYTES];
    const double seconds = pithp_profile_seconds(p);
    pithp_string_print(t, "%s: %lld calls, %s, %.2f %%\n", p->name,
                       (long long)atomic_load(&p->calls), in_seconds(time, seconds),
                       total > 0 ? 100 * seconds / total : 0);
    pithp_string_print(t, "%7s %11s %10s %11s %11s %8s  %-24s %s\n", "%", "time", "calls",
                       "read", "written", "GB/s", "where", "what");
    for (int64_t k = 0; k < count; k++)
        add_row(t, total, rows, &rows[k]);
}

double pithp_profile_seconds(const pithp_profile *p) {
    return (double)atomic_load_explicit(&p->nanoseconds, memory_order_relaxed) * 1e-9;
}

/* ---- JSON ---- */

static void add_number(pithp_string *t, const char *name, double value) {
    pithp_string_print(t, ",\"%s\":", name);
    pithp_string_add_number(t, 9, value);
}

static void json_row(pithp_string *t, double total, const pithp_profile_row *row) {
    const double bytes = (double)row->read + (double)row->written;
    pithp_string_add(t, "{\"name\":");
    pithp_json_string(t, row->name);
    pithp_string_add(t, ",\"sites\":[");
    for (const char *site = row->sites; *site; site += strlen(site) + 1) {
        pithp_string_add(t, site == row->sites ? "" : ",");
        pithp_json_string(t, site);
    }
    pithp_string_add(t, "],\"inside\":");
    if (row->inside >= 0)
        pithp_string_print(t, "%" PRId64, row->inside);
    else
        pithp_string_add(t, "null");
    pithp_string_print(t, ",\"calls\":%" PRId64, row->calls);
    add_number(t, "seconds", row->seconds);
    add_number(t, "share", total > 0 ? row->seconds / total : 0);
    pithp_string_print(t, ",\"bytes_read\":%" PRId64 ",\"bytes_written\":%" PRId64,
                       row->read, row->written);
    add_number(t, "gigabytes_per_second",
               row->seconds > 0 ? bytes / row->seconds / 1e9 : 0);
    pithp_string_add(t, "}");
}

void pithp_profile_json(pithp_string *t,
                        const pithp_profile *p,
                        double total,
                        int64_t count,
                        const pithp_profile_row *rows) {
    const double seconds = pithp_profile_seconds(p);
    pithp_string_add(t, "{\"name\":");
    pithp_json_string(t, p->name);
    pithp_string_print(t, ",\"calls\":%lld", (long long)atomic_load(&p->calls));
    add_number(t, "seconds", seconds);
    add_number(t, "share", total > 0 ? seconds / total : 0);
    pithp_string_add(t, ",\"instructions\":[");
    for (int64_t k = 0; k < count; k++) {
        pithp_string_add(t, k ? ",\n" : "\n");
        json_row(t, total, &rows[k]);
    }
    pithp_string_add(t, "]}");
}
