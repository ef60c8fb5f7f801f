/* File names: members of series, sidecars, temporary files. */
#include "checkpoint/store/file.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Members of a series: melt.000017.json ---- */

enum { LEAST_DIGITS = 6, MOST_DIGITS = 18 };

size_t pithp_stem(const char *name) {
    const size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0 ? n - 5 : n;
}

/* Length of a stem without the number of a member: "melt" of "melt.000017". */
static size_t series_stem(const char *stem) {
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

int64_t pithp_series_number(const char *series, const char *file) {
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

/* ---- Sidecars: melt.<hash>.safetensors ---- */

static const char extension[] = ".safetensors";

enum {
    HASH_DIGITS = 16,
    MOST_STEM = 200,     /* bytes, in a sidecar's name */
    MOST_PART_STEM = 160 /* in a part's name, which is the stem of its sidecar's */
};

/* The stem in the names of a document's sidecars: "checkpoint" if its own is
 * unsuitable. */
static const char *usable_stem(const char *stem, size_t most, size_t *length) {
    if (*length && *length <= most && *stem != '.' && pithp_is_utf8(stem, *length))
        return stem;
    *length = strlen("checkpoint");
    return "checkpoint";
}

void pithp_part_stem(const char *document, char stem[256]) {
    size_t length = pithp_stem(document);
    const char *usable = usable_stem(document, MOST_PART_STEM, &length);
    if (usable == document) {
        snprintf(stem, 256, "%.*s", (int)length, usable);
        return;
    }
    /* the hash tells the documents of a folder apart, whose left parts are removed */
    snprintf(stem, 256, "%s-%016llx", usable,
             (unsigned long long)pithp_hash(0, document, pithp_stem(document)));
}

void pithp_sidecar_name(const char *document, pithp_digest content, char name[256]) {
    char digest[PITHP_DIGEST_TEXT];
    size_t length = pithp_stem(document);
    const char *stem = usable_stem(document, MOST_STEM, &length);
    pithp_digest_print(content, digest);
    snprintf(name, 256, "%.*s.%.*s%s", (int)length, stem, HASH_DIGITS, digest, extension);
}

/* Whether a name consists of the stem, a dot, the hash and the extension. */
static bool has_form(const char *file, const char *document, size_t length) {
    const char *stem = usable_stem(document, MOST_STEM, &length);
    if (strncmp(file, stem, length) != 0 || file[length] != '.')
        return false;
    const char *hash = file + length + 1;
    return strspn(hash, "0123456789abcdef") == HASH_DIGITS &&
           strcmp(hash + HASH_DIGITS, extension) == 0;
}

bool pithp_is_own_sidecar_name(const char *stem, const char *file) {
    return has_form(file, stem, strlen(stem)) || has_form(file, stem, series_stem(stem));
}

/* ---- Temporary files ---- */

void pithp_temporary_name(const char *document, char name[PITHP_TEMPORARY_NAME]) {
    enum { LONGEST_STEM = 219 };
    static atomic_uint counter;
    const size_t stem = pithp_stem(document);
    const int n = stem <= LONGEST_STEM ? (int)stem : 0;
    snprintf(name, PITHP_TEMPORARY_NAME, ".pith-%ld-%u%s%.*s.tmp", (long)getpid(),
             atomic_fetch_add(&counter, 1), n ? "." : "", n, document);
}
