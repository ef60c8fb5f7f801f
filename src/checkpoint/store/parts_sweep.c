/* Removal of parts that no document names. Every save has a number of its own, which the
 * names of its parts hold: melt.<number>.r0007of0016.json. */
#include "checkpoint/store/open.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS = 16 };

/* Whether a file has the name of a part of a document with that stem; where its number
 * begins. */
static const char *number_of(const char *stem, const char *file) {
    const size_t n = strlen(stem);
    if (strncmp(file, stem, n) != 0 || file[n] != '.')
        return NULL;
    const char *number = file + n + 1, *at = number + strspn(number, "0123456789abcdef");
    if (at - number != DIGITS || strncmp(at, ".r", 2) != 0)
        return NULL;
    at += 2;
    at += strspn(at, "0123456789");
    if (strncmp(at, "of", 2) != 0)
        return NULL;
    at += 2;
    at += strspn(at, "0123456789");
    return strcmp(at, ".json") == 0 ? number : NULL;
}

/* The saves whose parts are named. */
typedef struct named {
    pith_scope *s;
    char (*numbers)[DIGITS + 1];
    int64_t count, room;
} named;

/* Note the save of a document; false: it cannot be read, so that it may name any. */
static bool note(named *x, const char *stem, const pithp_location *at, const char *name) {
    pithp_location location = {.folder = at->folder, .shown = at->shown};
    snprintf(location.name, sizeof location.name, "%s", name);
    if (faccessat(at->folder, name, F_OK, 0) != 0)
        return true;
    pith_checkpoint *c = pithp_checkpoint_part_open(x->s, &location);
    if (!c)
        return false;
    const pithp_document *d = &c->document;
    const char *number = d->parts.count ? number_of(stem, d->parts.rows[0].file) : NULL;
    if (number && x->count < x->room)
        snprintf(x->numbers[x->count++], DIGITS + 1, "%s", number);
    pithp_checkpoint_part_close(x->s->runtime, c);
    return true;
}

static bool note_all(named *x, const char *stem, const pithp_location *at) {
    pithp_series members = {0};
    bool good = pithp_series_list(x->s->runtime, at->folder, at->name, &members) == 0;
    x->room = members.count + 1;
    x->numbers =
        good ? pithp_scope_allocate(x->s, (size_t)x->room * sizeof *x->numbers) : NULL;
    good = x->numbers && note(x, stem, at, at->name);
    for (int64_t i = 0; good && i < members.count; i++) {
        char name[256];
        good = pithp_series_name(at->name, members.numbers[i], name) &&
               note(x, stem, at, name);
    }
    pithp_series_end(x->s->runtime, &members);
    return good;
}

static bool is_named(const named *x, const char *number) {
    for (int64_t i = 0; i < x->count; i++)
        if (strncmp(x->numbers[i], number, DIGITS) == 0)
            return true;
    return false;
}

/* When a file was written; false: it is not there. */
static bool time_of(int folder, const char *file, struct timespec *time) {
    struct stat st;
    const bool found = fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (found)
        *time = st.st_mtim;
    return found;
}

static bool is_later(struct timespec a, struct timespec b) {
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* What a sweep looks for. */
typedef struct sweep {
    int folder;
    const char *stem;
    char own[DIGITS + 1]; /* number of the save that has ended */
    struct timespec time; /* of its first part */
    bool any, timed;      /* there are parts; there is a time */
} sweep;

/* Look for parts, and for the time of those of the save. */
static void look(sweep *w) {
    DIR *listing = pithp_folder_list(w->folder);
    for (struct dirent *e; listing && (e = readdir(listing));) {
        struct timespec time;
        const char *number = number_of(w->stem, e->d_name);
        w->any |= number != NULL;
        if (number && strncmp(number, w->own, DIGITS) == 0 &&
            time_of(w->folder, e->d_name, &time) &&
            (!w->timed || is_later(w->time, time))) {
            w->time = time;
            w->timed = true;
        }
    }
    if (listing)
        closedir(listing);
}

/* Parts that are newer than those of the save may be of another job, which has not named
 * them yet. */
static bool is_left(const sweep *w, const char *file, const char *number) {
    struct timespec time;
    if (strncmp(number, w->own, DIGITS) == 0)
        return true;
    return w->timed && time_of(w->folder, file, &time) && !is_later(time, w->time);
}

/* ---- The parts that go ---- */

typedef struct left_part {
    char file[256], stem[256];
    uid_t owner;
    bool stays;
} left_part;

/* Parts that no document names, and their sidecars. */
typedef struct left_parts {
    pith_runtime *rt;
    left_part *rows;
    int64_t count, room;
    pithp_dropped *sidecars;
    int64_t sidecar_count, sidecar_room;
} left_parts;

/* Note a part. One that cannot be read stays; so do all that follow if memory is short.
 */
static bool note_left(left_parts *x, int folder, const char *file) {
    pithp_claims claims;
    if (!pithp_folder_claims_of(folder, file, &claims))
        return true;
    left_part *row =
        pithp_table_add(x->rt, &x->rows, &x->count, &x->room, sizeof *x->rows);
    if (!row)
        return false;
    *row = (left_part){.owner = claims.owner};
    snprintf(row->file, sizeof row->file, "%s", file);
    memcpy(row->stem, claims.stem, sizeof row->stem);
    for (int i = 0; i < claims.count; i++) {
        pithp_dropped *sidecar = pithp_table_add(x->rt, &x->sidecars, &x->sidecar_count,
                                                 &x->sidecar_room, sizeof *x->sidecars);
        if (!sidecar) {
            x->sidecar_count -= i;
            x->count--;
            return false;
        }
        *sidecar = (pithp_dropped){.claim = claims.rows[i], .document = x->count - 1};
    }
    return true;
}

/* Parts go last: without them nothing would tell whose their sidecars are. */
static void remove_left(left_parts *x, int folder) {
    const size_t bytes = (size_t)x->count * sizeof(char *);
    const char **files = pithp_allocate(x->rt, bytes);
    if (!files)
        return;
    for (int64_t i = 0; i < x->count; i++)
        files[i] = x->rows[i].file;
    qsort(files, (size_t)x->count, sizeof *files, pithp_compare_names);
    for (int64_t i = 0; i < x->sidecar_count; i++) {
        x->sidecars[i].stem = x->rows[x->sidecars[i].document].stem;
        x->sidecars[i].owner = x->rows[x->sidecars[i].document].owner;
    }
    pithp_folder_drop(folder, x->sidecars, x->sidecar_count, files, x->count);
    for (int64_t i = 0; i < x->sidecar_count; i++)
        x->rows[x->sidecars[i].document].stays |= !x->sidecars[i].done;
    for (int64_t i = 0; i < x->count; i++)
        if (!x->rows[i].stays)
            unlinkat(folder, x->rows[i].file, 0);
    pithp_release(x->rt, files, bytes);
}

/* All left parts are noted first, so that one look at the other files of the folder
 * serves all of them. Requires the folder lock. */
static void remove_unnamed(pith_runtime *rt, const sweep *w, const named *all) {
    left_parts x = {.rt = rt};
    DIR *listing = pithp_folder_list(w->folder);
    bool more = true;
    for (struct dirent *e; more && listing && (e = readdir(listing));) {
        const char *number = number_of(w->stem, e->d_name);
        if (number && !is_named(all, number) && is_left(w, e->d_name, number))
            more = note_left(&x, w->folder, e->d_name);
    }
    if (listing)
        closedir(listing);
    if (x.count)
        remove_left(&x, w->folder);
    pithp_release(rt, x.rows, (size_t)x.room * sizeof *x.rows);
    pithp_release(rt, x.sidecars, (size_t)x.sidecar_room * sizeof *x.sidecars);
}

void pithp_parts_sweep(pith_scope *s, const pithp_location *location, uint64_t own) {
    char stem[256];
    pith_scope *x = pith_scope_open_in(s); /* its errors do not matter: files stay */
    named all = {.s = x};
    if (!pithp_scope_writable(x))
        return;
    pithp_part_stem(location->name, stem);
    sweep w = {.folder = location->folder, .stem = stem};
    snprintf(w.own, sizeof w.own, "%016llx", (unsigned long long)own);
    look(&w);
    if (own == 0) /* a save without parts */
        w.timed = time_of(w.folder, location->name, &w.time);
    if (w.any && pithp_folder_lock(x, location) == PITH_OK) {
        if (note_all(&all, stem, location))
            remove_unnamed(x->runtime, &w, &all);
        pithp_folder_unlock(location);
    }
    pith_clear(x);
    pith_scope_close(x);
}
