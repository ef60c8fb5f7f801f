/* Available host memory: MemAvailable of the kernel, limited by the control groups of the
 * process. */
#include "gpu/memory/available.h"

#include "pith/memory_host.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 4096 };

/* Read the number after `key` in a file of lines "key number". Returns false if it is
 * missing. */
static bool read_field(const char *path, const char *key, uint64_t *value) {
    char line[LINE_BYTES];
    const size_t length = strlen(key);
    bool found = false;
    FILE *in = fopen(path, "re");
    while (in && !found && fgets(line, sizeof line, in)) {
        char *end;
        if (strncmp(line, key, length) != 0)
            continue;
        *value = strtoull(line + length, &end, 10);
        found = end != line + length;
    }
    if (in)
        fclose(in);
    return found;
}

/* MemAvailable includes reclaimable caches. On older kernels the sum of three fields
 * approximates it. */
static uint64_t read_system(const char *root) {
    char path[PATH_BYTES];
    uint64_t kilobytes = 0, part = 0;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (!read_field(path, "MemAvailable:", &kilobytes)) {
        static const char *const parts[] = {"MemFree:", "Buffers:", "Cached:"};
        for (int i = 0; i < 3; i++)
            kilobytes += read_field(path, parts[i], &part) ? part : 0;
    }
    return kilobytes * 1024;
}

/* File names of a version of control groups. */
typedef struct {
    const char *mount, *limit, *used, *cache;
} names;
static const names version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                "memory.usage_in_bytes", "total_inactive_file "};
static const names version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                "inactive_file "};

/* Bytes left in a group, or with `whole` its limit; UINT64_MAX without a limit. Caches
 * count as free. */
static uint64_t
read_group(const char *root, const names *n, const char *group, bool whole) {
    char path[2 * PATH_BYTES];
    uint64_t limit, used, cache = 0;
    snprintf(path, sizeof path, "%s%s%s/%s", root, n->mount, group, n->limit);
    if (!read_field(path, "", &limit)) /* "max" */
        return UINT64_MAX;
    if (whole)
        return limit;
    snprintf(path, sizeof path, "%s%s%s/%s", root, n->mount, group, n->used);
    if (!read_field(path, "", &used))
        return UINT64_MAX;
    snprintf(path, sizeof path, "%s%s%s/memory.stat", root, n->mount, group);
    if (!read_field(path, n->cache, &cache))
        cache = 0;
    used -= cache < used ? cache : used;
    return limit > used ? limit - used : 0;
}

/* The minimum over a group and its parents. */
static uint64_t read_groups(const char *root, const names *n, char *group, bool whole) {
    uint64_t least = read_group(root, n, strcmp(group, "/") == 0 ? "" : group, whole);
    for (char *slash; (slash = strrchr(group, '/'));) {
        *slash = 0;
        const uint64_t left = read_group(root, n, group, whole);
        least = left < least ? left : least;
    }
    return least;
}

/* The memory group in a line of /proc/self/cgroup, "4:cpu,memory:/path", or NULL. */
static char *group_of(char *line, const names **n) {
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return NULL;
    *controllers++ = 0;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    if (!*controllers) {
        *n = &version_2;
        return group;
    }
    *n = &version_1;
    for (char *rest = NULL, *one = strtok_r(controllers, ",", &rest); one;
         one = strtok_r(NULL, ",", &rest))
        if (strcmp(one, "memory") == 0)
            return group;
    return NULL;
}

/* The system's number, limited by the control groups. */
static size_t within_groups(const char *root, uint64_t least, bool whole) {
    char path[PATH_BYTES], line[LINE_BYTES];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in)) {
        const names *n;
        char *group = group_of(line, &n);
        const uint64_t left = group ? read_groups(root, n, group, whole) : UINT64_MAX;
        least = left < least ? left : least;
    }
    if (in)
        fclose(in);
    return least < SIZE_MAX ? (size_t)least : SIZE_MAX;
}

size_t pithp_available_read(const char *root) {
    return within_groups(root, read_system(root), false);
}

size_t pithp_installed_read(const char *root) {
    char path[PATH_BYTES];
    uint64_t kilobytes, all;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_field(path, "MemTotal:", &kilobytes)) {
        all = kilobytes * 1024;
    } else {
        const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    }
    return within_groups(root, all, true);
}

size_t pith_host_available(void) {
    return pithp_available_read("");
}
