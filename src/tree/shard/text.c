/* Texts of shard specs.
 *   spec := list { ";" list }      a list for each axis of the array, in order
 *   list := [ name { "," name } ]  axes of the mesh, the first slowest; empty: whole */
#include "tree/shard/text.h"

#include "tree/path.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t name_length(const char *at) {
    size_t n = 0;
    while (is_letter(at[n]) || (n && at[n] >= '0' && at[n] <= '9'))
        n++;
    return n;
}

/* Whether the text before `at` has that name. */
static bool is_before(const char *text, const char *at, size_t length) {
    while (text < at) {
        const size_t n = name_length(text);
        if (n == length && memcmp(text, at, n) == 0)
            return true;
        text += n + 1;
    }
    return false;
}

const char *pithp_shard_text_read(const char *text, char normal[PITHP_SHARD_TEXT]) {
    const size_t length = strlen(text);
    normal[0] = 0;
    if (length >= PITHP_SHARD_TEXT)
        return "it has more than 63 characters";
    int lists = 1;
    for (const char *at = text; *at;) {
        const size_t n = name_length(at);
        const bool empty = n == 0 && *at == ';' && (at == text || at[-1] == ';');
        if (n == 0 && !empty)
            return "expected names of axes with ',' between them, and ';' between the "
                   "axes of the array";
        if (n && is_before(text, at, n))
            return "an axis is named twice";
        at += n;
        if (*at == ';')
            lists++;
        else if (*at && (*at != ',' || !name_length(at + 1)))
            return "expected a name, ',' or ';'";
        at += *at != 0;
    }
    if (lists > PITHP_SHARD_LISTS)
        return "an array has at most 8 axes";
    memcpy(normal, text, length + 1);
    for (size_t n = length; n && normal[n - 1] == ';'; n--)
        normal[n - 1] = 0;
    return NULL;
}

int pithp_shard_text_lists(const char *normal) {
    int count = *normal != 0;
    for (; *normal; normal++)
        count += *normal == ';';
    return count;
}

void pithp_shard_text_list(const char *normal, int axis, char list[PITHP_SHARD_TEXT]) {
    for (; axis > 0 && *normal; normal++)
        axis -= *normal == ';';
    const size_t n = axis ? 0 : strcspn(normal, ";");
    memcpy(list, normal, n);
    list[n] = 0;
}

void pithp_shard_text_join(const char *normal, char list[PITHP_SHARD_TEXT]) {
    char *end = list;
    for (; *normal; normal++)
        if (*normal != ';')
            *end++ = *normal;
        else if (end > list && end[-1] != ',')
            *end++ = ',';
    *end = 0;
}

bool pithp_shard_list_has(const char *list, const char *name, size_t length) {
    for (;;) {
        const size_t n = strcspn(list, ",");
        if (n == length && memcmp(list, name, n) == 0)
            return true;
        if (!list[n])
            return false;
        list += n + 1;
    }
}

void pithp_shard_text_part(const char *normal,
                           const char *list,
                           bool in,
                           char part[PITHP_SHARD_TEXT]) {
    char *end = part;
    bool first = true; /* of its list */
    while (*normal) {
        const size_t n = name_length(normal);
        if (n && pithp_shard_list_has(list, normal, n) == in) {
            if (!first)
                *end++ = ',';
            memcpy(end, normal, n);
            end += n;
            first = false;
        }
        normal += n;
        if (*normal == ';') {
            *end++ = ';';
            first = true;
        }
        normal += *normal != 0;
    }
    while (end > part && end[-1] == ';')
        end--;
    *end = 0;
}

const pith_shard_spec *pithp_shard_spec_for(const pith_shard_spec *specs,
                                            const char *path) {
    const pith_shard_spec *best = NULL;
    for (; specs && specs->path; specs++)
        if (pithp_path_contains(specs->path, path) &&
            (!best || strlen(specs->path) > strlen(best->path)))
            best = specs;
    return best;
}
