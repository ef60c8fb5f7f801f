/* Processes of a node, by numbers that they tell each other: of libpith and of the plugin
 * of an MPI, which needs no symbol of it. */
#ifndef PITH_MESH_PROCESS_H
#define PITH_MESH_PROCESS_H

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Containers number their processes each on its own; ranks of a node may be in several.
 */
typedef struct pithp_process {
    int64_t number;
    uint64_t space; /* of the numbers; 0: not known */
} pithp_process;

static inline pithp_process pithp_process_own(void) {
    struct stat space;
    const int known = stat("/proc/self/ns/pid", &space) == 0;
    return (pithp_process){getpid(), known ? (uint64_t)space.st_ino : 0};
}

/* In place of descriptors. */
enum { PITHP_PROCESS_UNSEEN = -1, PITHP_PROCESS_ENDED = -2 };

/* A descriptor that becomes readable when a process ends: as early as the launcher learns
 * it. PITHP_PROCESS_UNSEEN: it cannot be watched from here. */
static inline int pithp_process_open(pithp_process p) {
#ifdef SYS_pidfd_open
    if (p.space != pithp_process_own().space)
        return PITHP_PROCESS_UNSEEN;
    const int descriptor = (int)syscall(SYS_pidfd_open, (pid_t)p.number, 0);
    if (descriptor >= 0)
        return descriptor;
    return errno == ESRCH ? PITHP_PROCESS_ENDED : PITHP_PROCESS_UNSEEN;
#else
    (void)p;
    return PITHP_PROCESS_UNSEEN;
#endif
}

#endif
