/* Processes that a launcher has started on this node, before they know each other: one
 * that ends without joining would leave the others waiting. They are the children of the
 * launcher's process, or have wrappers that are. */
#include "mesh/world.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 64, GONE_MS = 2000 };

/* "12 (name) S 1 ...": the name may have any characters. False: there is no process. */
static bool
read_process(int64_t process, char name[TEXT_BYTES], char *state, int64_t *parent) {
    char path[TEXT_BYTES], text[512];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", process);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    char *begin = strchr(text, '('), *end = strrchr(text, ')');
    if (!begin || !end || sscanf(end, ") %c %" SCNd64, state, parent) != 2)
        return false;
    *end = 0;
    snprintf(name, TEXT_BYTES, "%.*s", TEXT_BYTES - 1, begin + 1);
    return true;
}

/* Names have at most 15 characters there. */
static bool is_launcher(const char *name) {
    static const char *const names[] = {"hydra_pmi_proxy", "orted",  "orterun",
                                        "prted",           "mpirun", "mpiexec"};
    for (int i = 0; i < PITHP_COUNT(names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The nearest ancestor that is a launcher; 0: none is seen. */
static int64_t find_launcher(void) {
    char name[TEXT_BYTES], state = 0;
    int64_t parent = 0;
    for (int64_t at = getppid(); at > 1; at = parent) {
        if (!read_process(at, name, &state, &parent))
            return 0;
        if (is_launcher(name))
            return at;
    }
    return 0;
}

/* Children of one thread of a process that have not ended. */
static int64_t count_children_of(int64_t process, const char *thread) {
    char path[320], name[TEXT_BYTES], state = 0;
    int64_t child = 0, parent = 0, count = 0;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%s/children", process, thread);
    FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%" SCNd64, &child) == 1)
        count += read_process(child, name, &state, &parent) && state != 'Z';
    if (f)
        fclose(f);
    return count;
}

/* -1: they are not seen. */
static int64_t count_children(int64_t process) {
    char path[TEXT_BYTES];
    int64_t count = 0;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/task", process);
    DIR *threads = opendir(path);
    if (!threads)
        return -1;
    for (struct dirent *e; (e = readdir(threads));)
        if (e->d_name[0] != '.')
            count += count_children_of(process, e->d_name);
    closedir(threads);
    return count;
}

void pithp_started_begin(pithp_started *p, const pithp_job *job) {
    const bool counts = job->launcher && job->local_size > 1;
    *p = (pithp_started){.size = counts ? job->local_size : 0};
    if (counts)
        p->launcher = find_launcher();
}

bool pithp_started_lost(pithp_started *p, int64_t period_ms) {
    if (!p->launcher)
        return false;
    const int64_t count = count_children(p->launcher);
    if (count < 1) /* not even this one is seen */
        return false;
    p->missing_ms = count >= p->size ? 0 : p->missing_ms + period_ms;
    return p->missing_ms >= GONE_MS;
}
