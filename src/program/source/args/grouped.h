/* Grouped kernels: one launch does the work of several launches of another kernel. It is
 * part of generated text, so type names are those of the prologues. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_GROUPED_H
#define PITH_PROGRAM_SOURCE_ARGS_GROUPED_H

/* Threads come in blocks of M_BLOCK. Block b is block number blocks[2 b + 1] of the
 * launch whose arguments start at words[blocks[2 b]]. */
typedef struct m_many_args {
    const u64 *words;
    const u32 *blocks;
} m_many_args;

#define M_MANY(name, name_args)                                                          \
    M_KERNEL(name##_many, m_many_args) {                                                 \
        const u32 *const at = a->blocks + 2 * (t / M_BLOCK);                             \
        name##_thread((const name_args *)(const void *)(a->words + at[0]),               \
                      (i64)at[1] * M_BLOCK + t % M_BLOCK);                               \
    }

/* Grouped form of an M_BLOCK_KERNEL with a constant number of steps. */
#define M_BLOCK_MANY(name, name_args, shared_type, own_type, steps)                      \
    M_BLOCK_KERNEL(name##_many, m_many_args, shared_type, own_type, steps) {             \
        const u32 *const at = a->blocks + 2 * (t / M_BLOCK);                             \
        name##_step((const name_args *)(const void *)(a->words + at[0]),                 \
                    (i64)at[1] * M_BLOCK + t % M_BLOCK, shared, own, step);              \
    }

#endif
