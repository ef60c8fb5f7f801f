/* Series: numbered checkpoints of one name, such as melt.000017.json, of which the newest
 * are kept. Numbers count saves: the newest member was written last, even if the run had
 * returned to an earlier step. */
#include "checkpoint/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t MOST_NUMBER = 999999999999999999;

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
        const int64_t number = pithp_series_number(series, e->d_name);
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

pith_status pithp_series_no_file(pith_scope *s, const pithp_location *location) {
    pithp_series members;
    char name[256], room[128];
    const char *reason = strerror_r(ENOENT, room, sizeof room);
    const bool listed =
        pithp_series_list(s->runtime, location->folder, location->name, &members) == 0;
    const int64_t count = listed ? members.count : 0;
    const bool is_series =
        count > 0 && pithp_series_name(location->name, members.numbers[0], name);
    if (listed)
        pithp_series_end(s->runtime, &members);
    if (!is_series)
        return pithp_fail(s, PITH_E_IO, NULL, "cannot open \"%s\": %s", location->shown,
                          reason);
    return pithp_fail(s, PITH_E_IO, NULL,
                      "cannot open \"%s\": %s; it is a series, whose newest member is "
                      "\"%s\": pith_load_any with .newest loads the newest undamaged one",
                      location->shown, reason, name);
}

pith_status pithp_series_list_fail(pith_scope *s, const char *shown, int error) {
    char reason[128];
    return error == ENOMEM
               ? pithp_fail_memory(s, sizeof(int64_t))
               : pithp_fail(s, PITH_E_IO, NULL, "cannot list the series \"%s\": %s",
                            shown, strerror_r(error, reason, sizeof reason));
}

pith_status pithp_series_next(pith_scope *s, pithp_location *location) {
    pithp_series members;
    char name[256], reason[128];
    const int error =
        pithp_series_list(s->runtime, location->folder, location->name, &members);
    if (error)
        return pithp_series_list_fail(s, location->shown, error);
    const int64_t next = members.count ? members.numbers[0] + 1 : 1;
    pithp_series_end(s->runtime, &members);
    if (next > MOST_NUMBER)
        return pithp_fail(s, PITH_E_IO, NULL,
                          "cannot write \"%s\": a member has the number %" PRId64
                          ", the greatest that a series can have",
                          location->shown, MOST_NUMBER);
    if (!pithp_series_name(location->name, next, name))
        return pithp_fail(s, PITH_E_IO, NULL, "cannot write \"%s\": %s", location->shown,
                          strerror_r(ENAMETOOLONG, reason, sizeof reason));
    memcpy(location->name, name, sizeof name);
    return PITH_OK;
}

/* Remove a member. It keeps a temporary name until its sidecars are removed: if the
 * process dies in between, the next sweep finds them by it. */
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
        return; /* the next save prunes again */
    for (int64_t i = 0; i < members.count; i++)
        if (pithp_series_name(series, members.numbers[i], name) &&
            pithp_folder_claims_of(folder, name, &claims) && claims.is_checkpoint &&
            ++kept > keep)
            retire(folder, name, &claims);
    pithp_series_end(rt, &members);
}
