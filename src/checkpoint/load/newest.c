/* Series fallback: loads the newest undamaged member of a series. */
#include "checkpoint/load/load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 16 }; /* attempts before the folder is locked */

typedef struct search {
    pith_scope *s;
    pithp_location series; /* folder of the members, and the name of the series */
    const char *path;
    const pith_load_options *options;
    pithp_series_visit *visit;
    void *closure;
    char reason[PITHP_MESSAGE_BYTES]; /* why the newest member was skipped */
    pith_status code;
} search;

/* Show "runs/melt.000017.json" for a member of "runs/melt.json". */
static void show(pithp_string *t, const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    pithp_string_add_n(t, path, slash ? (size_t)(slash - path) + 1 : 0);
    pithp_string_add(t, name);
}

static void pass_over(search *f, const char *shown) {
    pithp_log(f->s->runtime, PITH_LOG_WARNING, "\"%s\" is skipped: %s", shown,
              pith_message(f->s));
    if (f->options->passed_over)
        f->options->passed_over(shown, pith_message(f->s), f->options->closure);
    if (!f->code) {
        snprintf(f->reason, sizeof f->reason, "%s", f->s->error.text);
        f->code = pith_code(f->s);
    }
}

/* True: the search ends, with a loaded member or a final error. *vanished: a writer
 * removed the member. */
static bool try_member(search *f, int64_t number, bool *vanished) {
    pithp_location member = f->series;
    pithp_string shown;
    pithp_string_begin(&shown, f->s->runtime);
    pithp_series_name(f->series.name, number, member.name);
    show(&shown, f->path, member.name);
    member.shown = shown.failed ? member.name : shown.bytes;
    pith_checkpoint *c = pithp_checkpoint_open_at(f->s, &member);
    const bool over =
        c ? !f->visit(f->s, c, f->closure) : !pithp_is_damage(pith_code(f->s));
    if (c)
        pithp_checkpoint_close(f->s, c);
    *vanished =
        !over &&
        faccessat(f->series.folder, member.name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno == ENOENT;
    if (!over && !*vanished)
        pass_over(f, member.shown);
    if (!over)
        pith_clear(f->s);
    pithp_string_end(&shown);
    return over;
}

/* One pass over the members. True: the search ends. */
static bool look(search *f, bool *vanished) {
    pithp_series members;
    *vanished = false;
    f->code = PITH_OK;
    const int error =
        pithp_series_list(f->s->runtime, f->series.folder, f->series.name, &members);
    if (error) {
        pithp_series_list_fail(f->s, f->path, error);
        return true;
    }
    bool over = false;
    for (int64_t i = 0; !over && !*vanished && i < members.count; i++)
        over = try_member(f, members.numbers[i], vanished);
    const int64_t count = members.count;
    pithp_series_end(f->s->runtime, &members);
    if (over || *vanished)
        return over;
    if (count == 0)
        pithp_fail(f->s, PITH_E_IO, NULL, "there is no checkpoint of the series \"%s\"%s",
                   f->path,
                   faccessat(f->series.folder, f->series.name, F_OK, 0) == 0
                       ? "; a file of that name exists: load it without .newest"
                       : "");
    else
        pithp_fail(f->s, f->code, NULL,
                   "none of the %" PRId64
                   " checkpoints of the series \"%s\" is undamaged; "
                   "the newest: %s",
                   count, f->path, f->reason);
    return true;
}

/* As for single checkpoints: after repeated races with writers, take the commit lock. */
void pithp_series_newest(pith_scope *s,
                         const char *path,
                         const pith_load_options *options,
                         pithp_series_visit *visit,
                         void *closure) {
    search f = {
        .s = s, .path = path, .options = options, .visit = visit, .closure = closure};
    bool vanished = true, over = false;
    if (pithp_location_open(s, path, &f.series) == PITH_OK) {
        for (int i = 0; !over && i < ROUNDS; i++)
            over = look(&f, &vanished);
        if (!over && pithp_folder_lock(s, &f.series) == PITH_OK) {
            over = look(&f, &vanished);
            if (!over)
                pithp_fail(s, PITH_E_IO, NULL,
                           "other processes keep changing the series \"%s\"", path);
            pithp_folder_unlock(&f.series);
        }
    }
    pithp_location_close(&f.series);
}

pith_status
pithp_checkpoint_present(pith_scope *s, const char *path, pithp_present *present) {
    pithp_location location;
    pithp_series members;
    pith_status rc = pithp_location_open(s, path, &location);
    if (rc == PITH_OK) {
        const int error =
            pithp_series_list(s->runtime, location.folder, location.name, &members);
        if (error)
            rc = pithp_series_list_fail(s, path, error);
        else {
            present->series = members.count > 0;
            pithp_series_end(s->runtime, &members);
        }
        present->single =
            faccessat(location.folder, location.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    pithp_location_close(&location);
    return rc;
}
