/* Environment variables, ignored under secure execution. AT_SECURE of the auxiliary
 * vector states secure execution, as for the dynamic loader (ld.so(8)). */
#include "base/environment.h"

#include "base/macros.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

const char pithp_secure_reason[] =
    "the program has rights that its caller lacks (setuid, setgid or file capabilities): "
    "environment variables are ignored, and nothing is compiled at run time";

bool pithp_secure_execution(void) {
    return getauxval(AT_SECURE) != 0;
}

/* ---- Settings of rank 0 ---- */

/* Of this process: its device, and how it joins the others. */
static const char *const own_variables[] = {
    "PITH_DEVICE",      "PITH_THREADS", "PITH_ISA",          "PITH_HOST_ASYNC",
    "PITH_HOST_MEMORY", "PITH_LOG",     "PITH_MESH",         "PITH_MESH_TIMEOUT",
    "PITH_MPI",         "PITH_NCCL",    "PITH_NCCL_LIBRARY",
};

/* Lists stay, because callers may hold their texts; they are few. */
typedef struct replacement {
    struct replacement *before;
    char list[];
} replacement;

static _Atomic(replacement *) made;    /* all of them, the latest first */
static _Atomic(replacement *) current; /* NULL: the variables of the process hold */

static bool is_shared(const char *entry, size_t n) { /* n: of its name */
    bool shared = n > 5 && strncmp(entry, "PITH_", 5) == 0;
    for (int i = 0; shared && i < PITHP_COUNT(own_variables); i++)
        shared = strlen(own_variables[i]) != n || memcmp(entry, own_variables[i], n) != 0;
    return shared;
}

extern char **environ;

/* The least shared entry after `last` in the order of texts; NULL: none. */
static const char *next_entry(const char *last) {
    const char *next = NULL;
    for (char **e = environ; e && *e; e++)
        if (is_shared(*e, strcspn(*e, "=")) && (!last || strcmp(*e, last) > 0) &&
            (!next || strcmp(*e, next) < 0))
            next = *e;
    return next;
}

bool pithp_environment_settings(char *list, size_t bytes) {
    memset(list, 0, bytes);
    if (pithp_secure_execution())
        return true;
    for (const char *e = next_entry(NULL); e; e = next_entry(e)) {
        const size_t n = strlen(e) + 1;
        if (n >= bytes)
            return false;
        memcpy(list, e, n);
        list += n;
        bytes -= n;
    }
    return true;
}

void pithp_environment_restore(void) {
    atomic_store_explicit(&current, NULL, memory_order_release);
}

bool pithp_environment_replace(const char *list) {
    size_t n = 0;
    while (list[n])
        n += strlen(list + n) + 1;
    replacement *r = malloc(sizeof *r + n + 1);
    if (!r)
        return false;
    memcpy(r->list, list, n + 1);
    r->before = atomic_load(&made);
    atomic_store(&made, r);
    atomic_store_explicit(&current, r, memory_order_release);
    return true;
}

static const char *replaced(const replacement *r, const char *name, size_t n) {
    for (const char *e = r->list; *e; e += strlen(e) + 1)
        if (strncmp(e, name, n) == 0 && e[n] == '=')
            return e + n + 1;
    return NULL;
}

const char *pithp_environment(const char *name) {
    if (pithp_secure_execution())
        return NULL;
    const replacement *r = atomic_load_explicit(&current, memory_order_acquire);
    const size_t n = strlen(name);
    return r && is_shared(name, n) ? replaced(r, name, n) : getenv(name);
}
