/* Arguments of a kernel that does the work of many: of equal fused steps. Part of texts,
 * so the names of types are those of the prologues. */
#ifndef PITHP_MANY_ARGS_H
#define PITHP_MANY_ARGS_H

/* Threads come in blocks of M_BLOCK. Block b is number blocks[2 b + 1] of the launch
 * whose arguments are number blocks[2 b]. */
typedef struct m_many_args {
    const char *first; /* arguments of the first; each `stride` bytes behind the last */
    const u32 *blocks;
    i64 stride;
} m_many_args;

#endif
