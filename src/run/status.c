/* The status file of a run: JSON that other programs read while the run lasts. */
#include "checkpoint/checkpoint_internal.h"
#include "run/run_internal.h"
#include "run/try.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double interval = 1; /* seconds between two versions */

/* ---- Text ---- */

static void add_number(pithp_text *t, const char *name, double value) {
    pithp_text_print(t, ",\"%s\":", name);
    if (isfinite(value))
        pithp_text_add_number(t, 6, value);
    else
        pithp_text_add(t, "null");
}

/* Whether a leaf of a record's type names a static as an extent. */
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

static void
add_sizes(pithp_text *t, const pithp_walk *w, const pith_type *type, bool *any) {
    pithp_text path;
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_static_info *info = &type->statics[i];
        int64_t size;
        if (info->kind != PITH_STATIC_I64 || !names_extent(type, info->field))
            continue;
        memcpy(&size, (const char *)w->node + info->offset, sizeof size);
        pithp_text_begin(&path, t->rt);
        pithp_walk_path(w, &path);
        pithp_path_add_field(&path, type->fields[info->field].declared.name);
        pithp_text_add(t, *any ? "," : "");
        pithp_json_string(t, path.bytes);
        pithp_text_print(t, ":%" PRId64, size);
        pithp_text_end(&path);
        *any = true;
    }
}

/* Integer statics that extents of leaves name, by path. */
static void add_capacities(pithp_text *t, const void *state) {
    pithp_walk w;
    pithp_visit visit;
    bool any = false;
    pithp_text_add(t, ",\"capacities\":{");
    pithp_walk_begin(&w, t->rt, state);
    while (pithp_walk_next(&w, &visit))
        if (visit == PITHP_VISIT_ENTER && pith_type_of(w.node))
            add_sizes(t, &w, pith_type_of(w.node), &any);
    pithp_walk_end(&w);
    pithp_text_add(t, "}");
}

static void print_status(const pithp_status_file *f,
                         pith_scope *s,
                         pithp_text *t,
                         const void *state,
                         int64_t number,
                         const pith_run_end *end) {
    const double now = pithp_seconds(), spent = now - f->started;
    const double rate = spent > 0 ? (double)(number - f->first) / spent : 0;
    const bool lasts = end->reason == PITH_RUN_NONE;
    const pith_memory_info memory = pith_memory(s->runtime);
    pithp_text_print(
        t, "{\"step\":%" PRId64 ",\"first_step\":%" PRId64 ",\"last_step\":%" PRId64,
        number, f->first, f->last);
    add_number(t, "seconds", spent);
    add_number(t, "steps_per_second", rate);
    add_number(t, "seconds_left",
               !lasts     ? 0
               : rate > 0 ? (double)(f->last - number) / rate
                          : (double)INFINITY);
    pithp_text_print(t, ",\"memory\":{\"live\":%zu,\"peak\":%zu}", memory.live,
                     memory.peak);
    add_capacities(t, state);
    pithp_text_print(t, ",\"repairs\":%" PRId64, f->repairs);
    if (f->saved >= 0) {
        pithp_text_print(t, ",\"last_save\":{\"step\":%" PRId64, f->saved);
        add_number(t, "seconds_ago", now - f->saved_at);
        pithp_text_add(t, "}");
    } else
        pithp_text_add(t, ",\"last_save\":null");
    pithp_text_print(t, ",\"outcome\":\"%s\",\"signal\":%d,\"message\":",
                     pithp_run_end_text(end), end->signal);
    pithp_json_string(t, end->reason == PITH_RUN_FAILED ? pith_message(s) : "");
    pithp_text_add(t, "}\n");
}

/* ---- The file ---- */

/* Replace it in a scope of its own. */
static void replace(pith_scope *work, const char *path, const pithp_text *t) {
    pithp_place place;
    pithp_writer w = {.file = -1, .folder = -1, .rt = work->runtime};
    if (pithp_place_open(work, path, &place) == PITH_OK) {
        pithp_writer_open(&w, work->runtime, &place, t ? t->length : 0);
        if (t) {
            pithp_writer_add(&w, t->bytes, t->length);
            pithp_writer_sync(&w);
            pithp_writer_rename(&w, place.name);
        }
        pithp_writer_status(work, &w, path);
        pithp_writer_close(&w);
    }
    pithp_place_close(&place);
}

bool pithp_status_begin(pithp_status_file *t, pith_scope *s, const pith_run_options *o) {
    t->path = o->status_file;
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
    pithp_text text;
    if (!t->path)
        return;
    pith_scope *work = pith_scope_open(s->runtime); /* s may have an error */
    pithp_text_begin(&text, s->runtime);
    print_status(t, s, &text, state, number, end);
    if (!text.failed)
        replace(work, t->path, &text);
    if (pith_failed(work) && !t->complained) {
        pithp_log(s->runtime, PITH_LOG_WARNING, "the status file: %s",
                  pith_message(work));
        t->complained = true;
    }
    pithp_text_end(&text);
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
