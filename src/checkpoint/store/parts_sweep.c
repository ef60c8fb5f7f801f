/* Removal of parts that no document names. Every save has a number of its own, which the
 * names of its parts hold: melt.<number>.r0007of0016.json. */
#include "checkpoint/store/open.h"

#include <stdio.h>
#include <string.h>
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

void pithp_checkpoint_part_remove(int folder, const char *file) {
    pithp_claims claims;
    if (pithp_folder_claims_of(folder, file, &claims) && unlinkat(folder, file, 0) == 0)
        pithp_folder_drop_sidecars(folder, &claims, "");
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

void pithp_parts_sweep(pith_scope *s, const pithp_location *location) {
    char stem[256];
    pith_scope *x = pith_scope_open_in(s); /* its errors do not matter: files stay */
    named all = {.s = x};
    if (!pithp_scope_writable(x))
        return;
    snprintf(stem, sizeof stem, "%.*s", (int)pithp_stem(location->name), location->name);
    if (pithp_folder_lock(x, location) == PITH_OK) {
        DIR *listing =
            note_all(&all, stem, location) ? pithp_folder_list(location->folder) : NULL;
        for (struct dirent *e; listing && (e = readdir(listing));) {
            const char *number = number_of(stem, e->d_name);
            if (number && !is_named(&all, number))
                pithp_checkpoint_part_remove(location->folder, e->d_name);
        }
        if (listing)
            closedir(listing);
        pithp_folder_unlock(location);
    }
    pith_clear(x);
    pith_scope_close(x);
}
