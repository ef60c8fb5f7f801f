/* Series of checkpoints: "melt.json" stands for melt.000001.json and so on, if there is
 * no file of that name. */
#include "tool.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct list {
    char **names; /* owned, as are the texts */
    size_t count, room;
} list;

static void add(list *l, char *name) {
    if (l->count + 1 >= l->room) {
        l->room = l->room ? 2 * l->room : 16;
        char **grown = room_for(l->room, sizeof *grown);
        if (l->count)
            memcpy(grown, l->names, l->count * sizeof *grown);
        free(l->names);
        l->names = grown;
    }
    l->names[l->count++] = name;
}

/* The number in "<stem>.<six digits or more>.json"; -1: not a member. */
static int64_t member_number(const char *name, const char *stem, size_t n) {
    if (strncmp(name, stem, n) != 0 || name[n] != '.')
        return -1;
    const char *number = name + n + 1;
    const size_t digits = strspn(number, "0123456789");
    if (digits < 6 || digits > 18 || strcmp(number + digits, ".json") != 0)
        return -1;
    return strtoll(number, NULL, 10);
}

typedef struct member {
    int64_t number;
    char *path;
} member;

static int by_number(const void *a, const void *b) {
    const int64_t x = ((const member *)a)->number, y = ((const member *)b)->number;
    return (x > y) - (x < y);
}

/* Add the members of a series to a list. False: none. */
static bool add_members(list *l, const char *series) {
    const char *slash = strrchr(series, '/'), *name = slash ? slash + 1 : series;
    const size_t length = strlen(name);
    const size_t stem =
        length > 5 && strcmp(name + length - 5, ".json") == 0 ? length - 5 : length;
    char *folder =
        slash ? text_of("%.*s", (int)(slash - series + 1), series) : text_of("%s", "");
    DIR *d = opendir(*folder ? folder : ".");
    member *members = NULL;
    size_t count = 0, room = 0;
    for (const struct dirent *e; d && (e = readdir(d));) {
        const int64_t number = member_number(e->d_name, name, stem);
        if (number < 0)
            continue;
        if (count == room) {
            room = room ? 2 * room : 16;
            member *grown = room_for(room, sizeof *grown);
            if (count)
                memcpy(grown, members, count * sizeof *grown);
            free(members);
            members = grown;
        }
        members[count++] = (member){number, text_of("%s%s", folder, e->d_name)};
    }
    if (d)
        closedir(d);
    if (count)
        qsort(members, count, sizeof *members, by_number);
    for (size_t i = 0; i < count; i++)
        add(l, members[i].path);
    free(members);
    free(folder);
    return count > 0;
}

char **series_expand(const char *const *files, int count) {
    list l = {0};
    for (int i = 0; i < count; i++)
        if (access(files[i], F_OK) == 0 || !add_members(&l, files[i]))
            add(&l, text_of("%s", files[i]));
    if (!l.names)
        l.names = room_for(1, sizeof *l.names);
    l.names[l.count] = NULL;
    return l.names;
}

char *series_newest(const char *file) {
    list l = {0};
    char *newest = NULL;
    if (access(file, F_OK) == 0 || !add_members(&l, file))
        return NULL;
    newest = text_of("%s", l.names[l.count - 1]);
    l.names[l.count] = NULL;
    series_end(l.names);
    return newest;
}

void series_end(char **files) {
    for (char **f = files; *f; f++)
        free(*f);
    free(files);
}
