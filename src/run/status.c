/* Status file of a run: JSON for other programs, updated while the run is in progress. */
#include "capacity/capacity_internal.h"
#include "checkpoint/store/file.h"
#include "run/attempt.h"
#include "run/run_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double interval = 1; /* seconds between updates */

/* A size covered by a capacity. */
typedef struct pithp_noted_size {
    const char *path;
    int64_t size;
} pithp_noted_size;

/* ---- Text ---- */

static void add_number(pithp_string *t, const char *name, double value) {
    pithp_string_print(t, ",\"%s\":", name);
    if (isfinite(value))
        pithp_string_add_number(t, 6, value);
    else
        pithp_string_add(t, "null");
}

/* Whether a leaf of a record's type has a static as an extent. */
static bool names_extent(const pith_type *type, int32_t field) {
    for (int32_t i = 0; i < type->slot_count; i++) {
        const pithp_field *f = &type->fields[type->slot_fields[i]];
        if (f->declared.kind != PITH_FIELD_LEAF)
            continue;
        for (int d = 0; d < f->leaf.rank; d++)
            if (f->leaf.extents[d].kind == PITHP_EXTENT_STATIC &&
                f->leaf.extents[d].name == field)
                return true;
    }
    return false;
}

static void add_size(pithp_string *t, const char *path, int64_t size, bool *any) {
    pithp_string_add(t, *any ? "," : "");
    pithp_json_string(t, path);
    pithp_string_print(t, ":%" PRId64, size);
    *any = true;
}

static void
add_sizes(pithp_string *t, const pithp_walk *w, const pith_type *type, bool *any) {
    pithp_string path;
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_static_info *info = &type->statics[i];
        int64_t size;
        if (info->kind != PITH_STATIC_KIND_I64 || !names_extent(type, info->field))
            continue;
        memcpy(&size, (const char *)w->node + info->offset, sizeof size);
        pithp_string_begin(&path, t->rt);
        pithp_walk_path(w, &path);
        pithp_path_add_field(&path, type->fields[info->field].declared.name);
        add_size(t, path.bytes, size, any);
        pithp_string_end(&path);
    }
}

/* Add integer statics that name extents of leaves, by path, and other sizes covered by
 * capacities. */
static void
add_capacities(pithp_string *t, const pithp_status_file *f, const void *state) {
    pithp_walk w;
    pithp_visit visit;
    pithp_string sizes, key;
    bool any = false;
    pithp_string_begin(&sizes, t->rt);
    pithp_walk_begin(&w, t->rt, state);
    while (pithp_walk_next(&w, &visit))
        if (visit == PITHP_VISIT_ENTER && pith_type_of(w.node))
            add_sizes(&sizes, &w, pith_type_of(w.node), &any);
    pithp_walk_end(&w);
    for (int64_t i = 0; i < f->noted_count; i++) {
        pithp_string_begin(&key, t->rt);
        pithp_json_string(&key, f->noted[i].path);
        pithp_string_add(&key, ":");
        if (!strstr(sizes.bytes, key.bytes))
            add_size(&sizes, f->noted[i].path, f->noted[i].size, &any);
        pithp_string_end(&key);
    }
    pithp_string_print(t, ",\"capacities\":{");
    pithp_string_add(t, sizes.bytes);
    pithp_string_add(t, "}");
    t->failed |= sizes.failed;
    pithp_string_end(&sizes);
}

static void print_status(const pithp_status_file *f,
                         pith_scope *s,
                         pithp_string *t,
                         const void *state,
                         int64_t number,
                         const pith_run_end *end) {
    const double now = pithp_seconds(), spent = now - f->started;
    const double rate = spent > 0 ? (double)(number - f->first) / spent : 0;
    const bool lasts = end->reason == PITH_RUN_NONE;
    const pith_memory_info memory = pith_memory_about(s->runtime);
    pithp_string_print(
        t, "{\"step\":%" PRId64 ",\"first_step\":%" PRId64 ",\"last_step\":%" PRId64,
        number, f->first, f->last);
    add_number(t, "seconds", spent);
    add_number(t, "steps_per_second", rate);
    add_number(t, "seconds_left",
               !lasts     ? 0
               : rate > 0 ? (double)(f->last - number) / rate
                          : (double)INFINITY);
    pithp_string_print(t, ",\"memory\":{\"live\":%zu,\"peak\":%zu}", memory.live,
                       memory.peak);
    add_capacities(t, f, state);
    pithp_string_print(t, ",\"repairs\":%" PRId64, f->repairs);
    if (f->saved >= 0) {
        pithp_string_print(t, ",\"last_save\":{\"step\":%" PRId64, f->saved);
        add_number(t, "seconds_ago", now - f->saved_at);
        pithp_string_add(t, "}");
    } else
        pithp_string_add(t, ",\"last_save\":null");
    pithp_string_print(t, ",\"outcome\":\"%s\",\"signal\":%d,\"message\":",
                       pithp_run_end_text(end), end->signal);
    pithp_json_string(t, end->reason == PITH_RUN_FAILED ? pith_message(s) : "");
    pithp_string_add(t, "}\n");
}

/* ---- Capacities of a step ---- */

/* prefix: path of the assertion or guard. */
static void note_capacity(pithp_status_file *f,
                          const pith_capacity *c,
                          const char *prefix,
                          int64_t room) {
    pithp_string path;
    for (int64_t i = 0; c && c->lens && i < c->count && f->noted_count < room; i++) {
        pithp_string_begin(&path, f->noted_in->runtime);
        pithp_string_add(&path, prefix);
        if (!c->one)
            pithp_capacity_name(c, i, &path);
        char *copy = pithp_scope_allocate(f->noted_in, path.length + 1);
        if (copy)
            f->noted[f->noted_count++] = (pithp_noted_size){
                .path = memcpy(copy, path.bytes, path.length + 1), .size = c->sizes[i]};
        pithp_string_end(&path);
    }
}

static int64_t sizes_of(const pithp_fix *fix) {
    const pith_capacity *c = pithp_capacity_of_fix(fix);
    return c && c->lens ? c->count : 0;
}

static void
note(pithp_status_file *f, const pithp_outcome *o, const pithp_guard *guards) {
    int64_t room = 0;
    for (int64_t i = 0; i < o->count; i++)
        room += sizes_of(&o->all[i]->fix);
    for (const pithp_guard *g = guards; g; g = g->next)
        room += sizes_of(&g->fix);
    f->noted = pithp_scope_allocate(f->noted_in, (size_t)(room + 1) * sizeof *f->noted);
    if (!f->noted)
        return;
    for (int64_t i = 0; i < o->count; i++)
        note_capacity(f, pithp_capacity_of_fix(&o->all[i]->fix), o->all[i]->path, room);
    for (const pithp_guard *g = guards; g; g = g->next)
        note_capacity(f, pithp_capacity_of_fix(&g->fix), g->path, room);
}

void pithp_status_note(pithp_status_file *f,
                       pith_scope *work,
                       pithp_collector *c,
                       int64_t slots) {
    pithp_outcome outcome;
    if (f->noted_in && f->repairs == f->noted_repairs &&
        pithp_seconds() - f->written < interval)
        return;
    pithp_status_end(f);
    f->noted_in = pith_scope_open(work->runtime);
    f->noted_repairs = f->repairs;
    pith_scope *own = pith_scope_open_in(work);
    if (pithp_scope_writable(own) && pithp_scope_writable(f->noted_in) &&
        pithp_outcome_read(own, own, c, slots, &outcome) == PITH_OK)
        note(f, &outcome, c->guards);
    pithp_close_quietly(own);
}

void pithp_status_end(pithp_status_file *f) {
    pithp_close_quietly(f->noted_in);
    f->noted_in = NULL;
    f->noted_count = 0;
}

/* ---- The file ---- */

/* Replace the file; work: a scope for this call. */
static void replace(pith_scope *work, const char *path, const pithp_string *t) {
    pithp_location location;
    pithp_writer w = {.file = -1, .folder = -1, .rt = work->runtime};
    if (pithp_location_open(work, path, &location) == PITH_OK) {
        pithp_writer_open(&w, work->runtime, &location, t ? t->length : 0);
        if (t) {
            pithp_writer_add(&w, t->bytes, t->length);
            pithp_writer_sync(&w);
            pithp_writer_rename(&w, location.name);
        }
        pithp_writer_status(work, &w, path);
        pithp_writer_close(&w);
    }
    pithp_location_close(&location);
}

bool pithp_status_begin(pithp_status_file *t,
                        pith_scope *s,
                        const pith_run_options *o,
                        bool writes) {
    t->path = writes ? o->status_file : NULL;
    t->saved = -1;
    if (t->path)
        replace(s, t->path, NULL);
    return s->error.code == PITH_OK;
}

void pithp_status_write(pithp_status_file *t,
                        pith_scope *s,
                        const void *state,
                        int64_t number,
                        const pith_run_end *end) {
    pithp_string text;
    if (!t->path)
        return;
    pith_scope *work = pith_scope_open(s->runtime); /* s may have an error */
    pithp_string_begin(&text, s->runtime);
    print_status(t, s, &text, state, number, end);
    if (!text.failed)
        replace(work, t->path, &text);
    if (pith_failed(work) && !t->complained) {
        pithp_log(s->runtime, PITH_LOG_WARNING, "the status file: %s",
                  pith_message(work));
        t->complained = true;
    }
    pithp_string_end(&text);
    pithp_close_quietly(work);
    t->written = pithp_seconds();
}

void pithp_status_step(pithp_status_file *t,
                       pith_scope *s,
                       const void *state,
                       int64_t number) {
    const pith_run_end lasts = {.reason = PITH_RUN_NONE};
    if (t->path && pithp_seconds() - t->written >= interval)
        pithp_status_write(t, s, state, number, &lasts);
}
