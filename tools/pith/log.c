/* pith log: one line per checkpoint with step, time, size, and changes since the previous
 * one. Changes are found by checksums; no leaf is read. Run logs also have a line. */
#include "command.h"
#include "run_log.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { NAMED = 3 }; /* number of changed paths shown */

/* Changes as growing text. */
typedef struct changes {
    bool json; /* printed immediately */
    int64_t count;
    char *paths; /* owned; NULL: none */
} changes;

static void add_change(changes *c, char *path) {
    if (c->json) {
        json_text(path);
    } else if (c->count++ < NAMED) {
        char *harmless = clean(*path ? path : "the leaf"), *before = c->paths;
        c->paths = text_of("%s%s%s", before ? before : "", before ? ", " : "", harmless);
        free(harmless);
        free(before);
    }
    free(path);
}

/* A path as ".atoms.position"; owned. */
static char *path_text(pith_scope *s, const rows *r, int64_t node, const char *field) {
    const char *path = pith_checkpoint_path(s, r->c, node);
    return text_of("%s%s%s", path ? path : "?", *field ? "." : "", field);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_place(const pith_checkpoint_node *a, const pith_checkpoint_node *b) {
    return a->kind == b->kind && a->is_static == b->is_static && a->parent == b->parent &&
           a->index == b->index && a->static_count == b->static_count &&
           a->version == b->version && same_text(a->type, b->type) &&
           same_text(a->name, b->name);
}

static bool same_structure(const rows *a, const rows *b) {
    bool same = a->info->node_count == b->info->node_count;
    for (int64_t i = 0; same && i < a->info->node_count; i++)
        same = same_place(&a->nodes[i], &b->nodes[i]);
    return same;
}

static void compare_statics(pith_scope *s,
                            const rows *before,
                            const rows *now,
                            int64_t node,
                            changes *c) {
    for (int64_t i = 0; i < now->nodes[node].static_count; i++) {
        pith_checkpoint_static x, y;
        pith_checkpoint_get_static(before->c, node, i, &x);
        pith_checkpoint_get_static(now->c, node, i, &y);
        char *a = static_text(before, &x), *b = static_text(now, &y);
        if (!same_text(x.name, y.name) || x.kind != y.kind || strcmp(a, b) != 0)
            add_change(c, path_text(s, now, node, y.name));
        free(a);
        free(b);
    }
}

static bool same_leaf(const pith_checkpoint_leaf *a, const pith_checkpoint_leaf *b) {
    bool same = a->dtype == b->dtype && a->shape.rank == b->shape.rank &&
                strcmp(a->checksum, b->checksum) == 0;
    for (int32_t k = 0; same && k < a->shape.rank; k++)
        same = a->shape.extents[k] == b->shape.extents[k];
    return same;
}

static void find_changes(pith_scope *s, const rows *before, const rows *now, changes *c) {
    for (int64_t i = 0; i < now->info->node_count; i++) {
        pith_checkpoint_leaf a, b;
        compare_statics(s, before, now, i, c);
        if (now->nodes[i].leaf < 0)
            continue;
        pith_checkpoint_get_leaf(before->c, before->nodes[i].leaf, &a);
        pith_checkpoint_get_leaf(now->c, now->nodes[i].leaf, &b);
        if (!same_leaf(&a, &b))
            add_change(c, path_text(s, now, i, ""));
    }
}

static char *changes_text(pith_scope *s, const rows *before, const rows *now) {
    changes c = {0};
    if (!same_structure(before, now))
        return text_of("another structure");
    find_changes(s, before, now, &c);
    char *text = c.count == 0 ? text_of("nothing changed")
                 : c.count <= NAMED
                     ? text_of("%s", c.paths)
                     : text_of("%s and %" PRId64 " more", c.paths, c.count - NAMED);
    free(c.paths);
    return text;
}

/* ---- Lines ---- */

/* Modification time of the document; "" if unknown. */
static char *time_text(const char *file, bool utc) {
    struct stat st;
    struct tm parts;
    char text[64] = "";
    if (stat(file, &st) == 0 &&
        (utc ? gmtime_r(&st.st_mtime, &parts) : localtime_r(&st.st_mtime, &parts)))
        strftime(text, sizeof text, utc ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M:%S",
                 &parts);
    return text_of("%s", text);
}

static bool names_file(const rows *r, const char *file) {
    pith_checkpoint_sidecar sidecar;
    for (int64_t i = 0; i < r->info->sidecar_count; i++)
        if (pith_checkpoint_get_sidecar(r->c, i, &sidecar) &&
            strcmp(sidecar.file, file) == 0)
            return true;
    return false;
}

/* Bytes of files shared with the previous checkpoint. */
static size_t shared_bytes(const rows *before, const rows *now) {
    size_t bytes = 0;
    pith_checkpoint_sidecar sidecar;
    for (int64_t i = 0; before->c && i < now->info->sidecar_count; i++)
        if (pith_checkpoint_get_sidecar(now->c, i, &sidecar) &&
            names_file(before, sidecar.file))
            bytes += sidecar.bytes;
    return bytes;
}

/* "1.2 MiB", or "1.2 MiB, 3.4 MiB shared" with files of the previous checkpoint. */
static char *size_text(const rows *before, const rows *now) {
    const size_t shared = shared_bytes(before, now);
    char *own = bytes_text(now->info->document_bytes + now->info->sidecar_bytes - shared);
    if (!shared)
        return own;
    char *others = bytes_text(shared), *text = text_of("%s, %s shared", own, others);
    free(own);
    free(others);
    return text;
}

static void add_line(pith_scope *s, table *t, const rows *before, const rows *now) {
    table_row *row = table_add(t);
    char *leaves = text_of("%" PRId64 " %s", now->info->leaf_count,
                           plural(now->info->leaf_count, "leaf", "leaves"));
    row->cells[0].text = clean(now->file);
    row->cells[1] = (cell){text_of("step %" PRId64, now->info->step), PLAIN, true};
    row->cells[2] = (cell){time_text(now->file, false), DIM, false};
    row->cells[3] = (cell){size_text(before, now), DIM, true};
    row->cells[4].text = before->c ? changes_text(s, before, now) : text_of("%s", leaves);
    free(leaves);
}

static void put_line(pith_scope *s, const rows *before, const rows *now) {
    char *time = time_text(now->file, true);
    const bool same = before->c && same_structure(before, now);
    json_open('{');
    json_name("file"), json_text(now->file);
    json_name("step"), json_i64(now->info->step);
    json_name("time"), json_text(time);
    json_name("bytes");
    json_i64((int64_t)(now->info->document_bytes + now->info->sidecar_bytes));
    json_name("shared_bytes"), json_i64((int64_t)shared_bytes(before, now));
    json_name("leaves"), json_i64(now->info->leaf_count);
    if (before->c)
        json_name("same_structure"), json_bool(same);
    if (same) {
        changes c = {.json = true};
        json_name("changed"), json_open('[');
        find_changes(s, before, now, &c);
        json_close(']');
    }
    json_close('}');
    free(time);
}

static void add_damage(table *t, const char *file, const char *text, bool json) {
    if (json) {
        json_open('{');
        json_name("file"), json_text(file);
        json_name("damaged"), json_text(text);
        json_close('}');
        return;
    }
    table_row *row = table_add(t);
    row->cells[0].text = clean(file);
    row->cells[4] = (cell){text_of("damaged: %s", text), RED, false};
}

/* ---- Logs of runs ---- */

static size_t file_bytes(const char *file) {
    struct stat st;
    return stat(file, &st) == 0 ? (size_t)st.st_size : 0;
}

static void add_run_log(table *t, const char *file, const run_log *l) {
    table_row *row = table_add(t);
    row->cells[0].text = clean(file);
    if (l->rows)
        row->cells[1] = (cell){text_of("step %" PRId64, l->last), PLAIN, true};
    row->cells[2] = (cell){time_text(file, false), DIM, false};
    row->cells[3] = (cell){bytes_text(file_bytes(file)), DIM, true};
    row->cells[4].text = run_log_text(l);
}

static void put_run_log(const char *file, const run_log *l) {
    char *time = time_text(file, true);
    json_open('{');
    json_name("file"), json_text(file);
    json_name("time"), json_text(time);
    json_name("bytes"), json_i64((int64_t)file_bytes(file));
    json_name("rows"), json_i64(l->rows);
    if (l->rows) {
        json_name("first_step"), json_i64(l->first);
        json_name("step"), json_i64(l->last);
    }
    json_name("columns"), json_open('[');
    for (int64_t i = 0; i < pith_child_count(l->columns); i++)
        json_text(pith_child_name(l->columns, i));
    json_close(']');
    json_close('}');
    free(time);
}

/* ---- The verb ---- */

/* Exit code for a file that could not be read. */
static int not_read(pith_scope *s, const char *file, table *t, bool json) {
    const bool damaged = pith_code(s) == PITH_E_FORMAT;
    if (damaged)
        add_damage(t, file, pith_message(s), json);
    else
        complain("log", "%s", pith_message(s));
    pith_clear(s);
    return damaged ? DIFFERENT : TROUBLE;
}

static int log_run(pith_scope *s, const char *file, table *t, bool json) {
    run_log l;
    if (!run_log_open(s, file, &l))
        return not_read(s, file, t, json);
    if (json)
        put_run_log(file, &l);
    else
        add_run_log(t, file, &l);
    return SAME;
}

/* The previous checkpoint, open in a scope of its own until it is compared. */
typedef struct story {
    rows before;
    pith_scope *holder;
} story;

static void story_end(story *y) {
    rows_end(&y->before);
    if (y->holder)
        pith_scope_close(y->holder);
}

/* Log a checkpoint; takes the scope. */
static int
log_checkpoint(pith_scope *s, const char *file, story *y, table *t, bool json) {
    rows now;
    if (!rows_open(s, file, &now)) {
        const int code = not_read(s, file, t, json);
        pith_scope_close(s);
        return code;
    }
    if (json)
        put_line(s, &y->before, &now);
    else
        add_line(s, t, &y->before, &now);
    story_end(y);
    *y = (story){now, s};
    return SAME;
}

static int log_files(pith_scope *s, char **files, table *t, bool json) {
    story y = {.holder = NULL};
    int code = SAME;
    for (; *files; files++) {
        pith_scope *inner = pith_scope_open_in(s);
        int one;
        if (is_run_log(*files)) {
            one = log_run(inner, *files, t, json);
            pith_scope_close(inner);
        } else {
            one = log_checkpoint(inner, *files, &y, t, json);
        }
        code = one > code ? one : code;
    }
    story_end(&y);
    return code;
}

static int log_series(pith_scope *s, const command *c) {
    const bool json = given(c, "--json");
    char **files = series_expand(c->words, c->word_count);
    table t = {0};
    if (json)
        json_open('[');
    const int code = log_files(s, files, &t, json);
    if (json)
        json_close(']');
    else
        table_print(&t, stdout, terminal_width());
    table_end(&t);
    series_end(files);
    return code;
}

static const option options[] = {
    {"--json", NULL, "for programs: a list of checkpoints", NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

const verb log_verb = {
    .name = "log",
    .words = "FILE...",
    .takes = "files",
    .least = 1,
    .most = -1,
    .extensions = "json",
    .summary = "one line each: step, time, size, changes since the previous one",
    .more =
        "The name of a series, such as melt.json if there are melt.000001.json and so\n"
        "on, stands for its members. Sizes are of the document and its sidecars;\n"
        "files shared with the previous checkpoint are counted separately. Only\n"
        "documents are read. The log of a run (.jsonl) also has a line: its last\n"
        "step, and its columns.",
    .options = options,
    .run = log_series};
