/* Removal of parts that no document names. Every save has a number of its own, which the
 * names of its parts hold: melt.<number>.r0007of0016.json. */
#include "checkpoint/store/open.h"

#include <fcntl.h>
#include <stdio.h>
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

/* The part goes last: without it nothing would tell whose its sidecars are. */
void pithp_checkpoint_part_remove(int folder, const char *file) {
    pithp_claims claims;
    if (pithp_folder_claims_of(folder, file, &claims) &&
        pithp_folder_drop_sidecars(folder, &claims, file))
        unlinkat(folder, file, 0);
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
        DIR *listing =
            note_all(&all, stem, location) ? pithp_folder_list(location->folder) : NULL;
        for (struct dirent *e; listing && (e = readdir(listing));) {
            const char *number = number_of(stem, e->d_name);
            if (number && !is_named(&all, number) && is_left(&w, e->d_name, number))
                pithp_checkpoint_part_remove(location->folder, e->d_name);
        }
        if (listing)
            closedir(listing);
        pithp_folder_unlock(location);
    }
    pith_clear(x);
    pith_scope_close(x);
}
