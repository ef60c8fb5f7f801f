/* Series: checkpoints of one name with a number, melt.000017.json, of which the last ones
 * are kept. Numbers count saves: the newest member is the one that was written last, also
 * where a run went back to an earlier step. */
#include "checkpoint/checkpoint_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_DIGITS = 6, MOST_DIGITS = 18, ROUNDS = 16 };
static const int64_t MOST_NUMBER = 999999999999999999;

/* ---- Names ---- */

size_t pithp_stem(const char *name) {
    const size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0 ? n - 5 : n;
}

size_t pithp_series_stem(const char *stem) {
    const size_t n = strlen(stem);
    size_t digits = 0;
    while (digits < n && stem[n - digits - 1] >= '0' && stem[n - digits - 1] <= '9')
        digits++;
    const bool member = digits >= LEAST_DIGITS && digits <= MOST_DIGITS &&
                        n > digits + 1 && stem[n - digits - 1] == '.';
    return member ? n - digits - 1 : n;
}

bool pithp_series_name(const char *series, int64_t number, char name[256]) {
    const size_t stem = pithp_stem(series);
    const int n = snprintf(name, 256, "%.*s.%0*" PRId64 "%s", (int)stem, series,
                           LEAST_DIGITS, number, series + stem);
    return n > 0 && n < 256;
}

/* The number of a member of the series; 0: the file is none. */
static int64_t number_of(const char *series, const char *file) {
    const size_t stem = pithp_stem(series);
    char name[256];
    if (strncmp(file, series, stem) != 0 || file[stem] != '.')
        return 0;
    const size_t digits = strspn(file + stem + 1, "0123456789");
    if (digits < LEAST_DIGITS || digits > MOST_DIGITS)
        return 0;
    const int64_t number = strtoll(file + stem + 1, NULL, 10);
    return pithp_series_name(series, number, name) && strcmp(name, file) == 0 ? number
                                                                              : 0;
}

/* ---- Members ---- */

static int newest_first(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

int pithp_series_list(pith_runtime *rt,
                      int folder,
                      const char *series,
                      pithp_series *members) {
    int error = 0;
    *members = (pithp_series){.numbers = NULL};
    DIR *listing = pithp_folder_list(folder);
    if (!listing)
        return errno ? errno : EIO;
    for (struct dirent *e; !error && (errno = 0, e = readdir(listing));) {
        const int64_t number = number_of(series, e->d_name);
        int64_t *row = number ? pithp_table_add(rt, &members->numbers, &members->count,
                                                &members->room, sizeof *members->numbers)
                              : NULL;
        if (row)
            *row = number;
        else if (number)
            error = ENOMEM;
    }
    error = error ? error : errno;
    closedir(listing);
    if (error)
        pithp_series_end(rt, members);
    else if (members->count)
        qsort(members->numbers, (size_t)members->count, sizeof *members->numbers,
              newest_first);
    return error;
}

void pithp_series_end(pith_runtime *rt, pithp_series *members) {
    pithp_release(rt, members->numbers, (size_t)members->room * sizeof *members->numbers);
    *members = (pithp_series){.numbers = NULL};
}

pith_status pithp_series_no_file(pith_scope *s, const pithp_place *place) {
    pithp_series members;
    char name[256], room[128];
    const char *reason = strerror_r(ENOENT, room, sizeof room);
    const bool listed =
        pithp_series_list(s->runtime, place->folder, place->name, &members) == 0;
    const int64_t count = listed ? members.count : 0;
    const bool is_series =
        count > 0 && pithp_series_name(place->name, members.numbers[0], name);
    if (listed)
        pithp_series_end(s->runtime, &members);
    if (!is_series)
        return pithp_fail(s, PITH_E_IO, NULL, "cannot open \"%s\": %s", place->shown,
                          reason);
    return pithp_fail(s, PITH_E_IO, NULL,
                      "cannot open \"%s\": %s; it is a series, whose newest member is "
                      "\"%s\": pith_load_as with .newest loads the newest that is whole",
                      place->shown, reason, name);
}

static pith_status cannot_list(pith_scope *s, const char *shown, int error) {
    char reason[128];
    return error == ENOMEM
               ? pithp_fail_memory(s, sizeof(int64_t))
               : pithp_fail(s, PITH_E_IO, NULL, "cannot list the series \"%s\": %s",
                            shown, strerror_r(error, reason, sizeof reason));
}

pith_status pithp_series_next(pith_scope *s, pithp_place *place) {
    pithp_series members;
    char name[256], reason[128];
    const int error = pithp_series_list(s->runtime, place->folder, place->name, &members);
    if (error)
        return cannot_list(s, place->shown, error);
    const int64_t next = members.count ? members.numbers[0] + 1 : 1;
    pithp_series_end(s->runtime, &members);
    if (next > MOST_NUMBER)
        return pithp_fail(s, PITH_E_IO, NULL,
                          "cannot write \"%s\": a member has the number %" PRId64
                          ", the greatest that a series can have",
                          place->shown, MOST_NUMBER);
    if (!pithp_series_name(place->name, next, name))
        return pithp_fail(s, PITH_E_IO, NULL, "cannot write \"%s\": %s", place->shown,
                          strerror_r(ENAMETOOLONG, reason, sizeof reason));
    memcpy(place->name, name, sizeof name);
    return PITH_OK;
}

/* Remove a member. It has a temporary name until its sidecars are gone: if the process
 * dies in between, the next sweep finds them by it. */
static void retire(int folder, const char *name, const pithp_claims *claims) {
    char old[PITHP_TEMPORARY_NAME];
    pithp_temporary_name(name, old);
    if (renameat(folder, name, folder, old) == 0 &&
        pithp_folder_drop_sidecars(folder, claims, old))
        unlinkat(folder, old, 0);
}

void pithp_series_prune(pith_runtime *rt, int folder, const char *series, int64_t keep) {
    pithp_series members;
    pithp_claims claims;
    char name[256];
    int64_t kept = 0;
    if (pithp_series_list(rt, folder, series, &members) != 0)
        return; /* the next save removes what is too much */
    for (int64_t i = 0; i < members.count; i++)
        if (pithp_series_name(series, members.numbers[i], name) &&
            pithp_folder_claims_of(folder, name, &claims) && claims.is_checkpoint &&
            ++kept > keep)
            retire(folder, name, &claims);
    pithp_series_end(rt, &members);
}

/* ---- The newest that is whole ---- */

typedef struct search {
    pith_scope *s;
    pithp_place series; /* place of the members; its name is the series' */
    const char *path;
    const pith_load_options *options;
    pithp_series_visit *visit;
    void *closure;
    char reason[PITHP_MESSAGE_BYTES]; /* why the newest one was passed over */
    pith_status code;
} search;

/* "runs/melt.000017.json" of "runs/melt.json" */
static void show(pithp_text *t, const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    pithp_text_add_n(t, path, slash ? (size_t)(slash - path) + 1 : 0);
    pithp_text_add(t, name);
}

static void pass_over(search *f, const char *shown) {
    pithp_log(f->s->runtime, PITH_LOG_WARNING, "\"%s\" is passed over: %s", shown,
              pith_message(f->s));
    if (f->options->passed_over)
        f->options->passed_over(shown, pith_message(f->s), f->options->closure);
    if (!f->code) {
        snprintf(f->reason, sizeof f->reason, "%s", f->s->error.text);
        f->code = pith_code(f->s);
    }
}

/* True: the search is over, with a member that was taken or an error that stays.
 * *vanished: a writer took the member away. */
static bool try_member(search *f, int64_t number, bool *vanished) {
    pithp_place member = f->series;
    pithp_text shown;
    pithp_text_begin(&shown, f->s->runtime);
    pithp_series_name(f->series.name, number, member.name);
    show(&shown, f->path, member.name);
    member.shown = shown.failed ? member.name : shown.bytes;
    pith_checkpoint *c = pithp_checkpoint_open_at(f->s, &member);
    if (c) {
        f->visit(f->s, c, f->closure);
        pithp_checkpoint_close(f->s, c);
    }
    const pith_status code = pith_code(f->s);
    const bool over = code != PITH_E_IO && code != PITH_E_FORMAT;
    *vanished =
        !over &&
        faccessat(f->series.folder, member.name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno == ENOENT;
    if (!over && !*vanished)
        pass_over(f, member.shown);
    if (!over)
        pith_clear(f->s);
    pithp_text_end(&shown);
    return over;
}

/* One look at the members. True: the search is over. */
static bool look(search *f, bool *vanished) {
    pithp_series members;
    *vanished = false;
    f->code = PITH_OK;
    const int error =
        pithp_series_list(f->s->runtime, f->series.folder, f->series.name, &members);
    if (error) {
        cannot_list(f->s, f->path, error);
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
                       ? "; a file of that name is there: without .newest it is loaded"
                       : "");
    else
        pithp_fail(f->s, f->code, NULL,
                   "none of the %" PRId64 " checkpoints of the series \"%s\" is whole; "
                   "the newest: %s",
                   count, f->path, f->reason);
    return true;
}

/* As with single checkpoints: who loses against the writers again and again takes the
 * lock under which they commit. */
void pithp_series_newest(pith_scope *s,
                         const char *path,
                         const pith_load_options *options,
                         pithp_series_visit *visit,
                         void *closure) {
    search f = {
        .s = s, .path = path, .options = options, .visit = visit, .closure = closure};
    bool vanished = true, over = false;
    if (pithp_place_open(s, path, &f.series) == PITH_OK) {
        for (int i = 0; !over && i < ROUNDS; i++)
            over = look(&f, &vanished);
        if (!over && pithp_folder_lock(s, &f.series) == PITH_OK) {
            over = look(&f, &vanished);
            if (!over)
                pithp_fail(s, PITH_E_IO, NULL,
                           "the series \"%s\" is changed all the time", path);
            pithp_folder_unlock(&f.series);
        }
    }
    pithp_place_close(&f.series);
}
