/* Removal of the sidecars of documents that go, unless a document that stays names them.
 * One listing of the folder serves all of them: its cost is one open for each file,
 * however many documents go. */
#include "checkpoint/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tables in the order of names ---- */

static int compare_rows(const void *a, const void *b) {
    return strcmp(((const pithp_dropped *)a)->claim.file,
                  ((const pithp_dropped *)b)->claim.file);
}

/* The first row of a sidecar; -1: it is not claimed. */
static int64_t find_row(const pithp_dropped *rows, int64_t count, const char *file) {
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (strcmp(rows[middle].claim.file, file) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(rows[low].claim.file, file) == 0 ? low : -1;
}

int pithp_compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_leaving(const char *const *leaving, int64_t count, const char *file) {
    return count &&
           bsearch(&file, leaving, (size_t)count, sizeof *leaving, pithp_compare_names);
}

/* ---- Documents that stay ---- */

/* Mark the sidecars that a document names. False: it cannot be read and may name any. */
static bool mark_named(int folder, const char *file, pithp_dropped *rows, int64_t count) {
    struct stat st;
    pithp_claims its;
    if (fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    if (!S_ISREG(st.st_mode))
        return true;
    if (!pithp_folder_claims_read(folder, file, &its))
        return false;
    for (int i = 0; i < its.count; i++)
        for (int64_t k = find_row(rows, count, its.rows[i].file);
             k >= 0 && k < count && strcmp(rows[k].claim.file, its.rows[i].file) == 0;
             k++)
            rows[k].named = true;
    return true;
}

/* False: a document could not be read. */
static bool mark_all(int folder,
                     pithp_dropped *rows,
                     int64_t count,
                     const char *const *leaving,
                     int64_t leaving_count) {
    DIR *listing = pithp_folder_list(folder);
    bool sure = listing != NULL;
    for (struct dirent *e; listing && (errno = 0, e = readdir(listing));)
        if ((e->d_type == DT_REG || e->d_type == DT_UNKNOWN) &&
            find_row(rows, count, e->d_name) < 0 &&
            !is_leaving(leaving, leaving_count, e->d_name))
            sure &= mark_named(folder, e->d_name, rows, count);
    sure &= errno == 0;
    if (listing)
        closedir(listing);
    return sure;
}

void pithp_folder_drop(int folder,
                       pithp_dropped *rows,
                       int64_t count,
                       const char *const *leaving,
                       int64_t leaving_count) {
    if (count == 0)
        return;
    qsort(rows, (size_t)count, sizeof *rows, compare_rows);
    const bool sure = mark_all(folder, rows, count, leaving, leaving_count);
    for (int64_t i = 0; i < count; i++)
        rows[i].done =
            rows[i].named || (sure && pithp_own_sidecar_remove(folder, &rows[i]));
}

bool pithp_folder_drop_sidecars(int folder,
                                const pithp_claims *claims,
                                const char *except) {
    pithp_dropped rows[PITHP_SIDECARS];
    for (int i = 0; i < claims->count; i++)
        rows[i] = (pithp_dropped){
            .claim = claims->rows[i], .stem = claims->stem, .owner = claims->owner};
    pithp_folder_drop(folder, rows, claims->count, &except, 1);
    bool all = true;
    for (int i = 0; i < claims->count; i++)
        all &= rows[i].done;
    return all;
}
