/* Tuning constants of passes, planning, fusion, threading, emission, command buffers and
 * tier-up.
 *
 * Bits of results do not depend on them. PITHP_GEMM_* is the exception, because a library
 * adds in an order of its own.
 *
 * Each has its unit and the measurement behind it. "bench" names rows of bench/.
 * "Estimate" means that no measurement is recorded. Other places hold the block sizes of
 * one kernel (next to its loops, in host/ and source/) and the orders of sums. Thresholds
 * of the device are elsewhere too: PITHP_GRAIN, the elements that are worth a thread, in
 * gpu_internal.h, and the delays of waking threads in gpu/host/threads.c. */
#ifndef PITH_PROGRAM_OP_THRESHOLDS_H
#define PITH_PROGRAM_OP_THRESHOLDS_H

/* ---- Tier-up ---- */

enum {
    /* Run that requests compiled code or a command buffer. Estimate: a compiler takes
     * longer than most programs that run once. */
    PITHP_RUNS_WORTH_COMPILING = 2,
    /* Kernels of one operation that a run on CUDA would have to compile, from which on it
     * makes the command buffer instead, in one compilation. Estimate. */
    PITHP_ONES_WORTH_CAPTURE = 4,
    /* Runs between attempts while memory is short: each pause is twice the one before, up
     * to this. Estimate. */
    PITHP_LONGEST_PAUSE = 1024,
};

/* ---- Passes ---- */

enum {
    /* Instructions of an unrolled body. Estimate. Unrolling by 4: 31 ns an iteration
     * instead of 97 (1 element, interpreted). */
    PITHP_UNROLL_INSTRUCTIONS = 512,
    /* Rounds of dead code elimination in control flow. Estimate. */
    PITHP_REWRITE_ROUNDS = 3,
    /* Bytes of a literal that is copied into nested programs. Estimate. */
    PITHP_SINK_BYTES = 64,
};

/* ---- Planning: fusion ---- */

enum {
    /* Elements of small work: it may join an unrelated fused step. Estimate. */
    PITHP_FUSE_SMALL_ELEMENTS = 8192,
    /* Instructions and memory accesses of a step that small work joins. Beyond, a further
     * step costs less than shorter blocks. Estimate. */
    PITHP_FUSE_PACKED_OPS = 40,
    PITHP_FUSE_PACKED_READS = 42,
    /* Previous steps in which such work looks for room. Estimate. */
    PITHP_FUSE_LOOK_BACK = 16,
    /* Instructions of small work in a program. Beyond, each cluster has its own steps,
     * and equal steps run as one launch. Adam over 1,000 leaves: 118 us instead of 248.
     */
    PITHP_FUSE_MOST_PACKED = 24,
    /* Elements of work that is deferred: to its reader in a command buffer, so that
     * consecutive sums share a launch, and past row-wise steps. Estimate. */
    PITHP_FUSE_WAITING_ELEMENTS = 64,
    /* Elements of a block of a fused step, and bytes of all its temporaries, which stay
     * in the L1 cache. Estimate. */
    PITHP_FUSED_BLOCK = 512,
    PITHP_FUSED_BYTES = 43008,
    /* Minimum block length with many temporaries; block lengths are multiples of it.
     * Estimate. */
    PITHP_FUSED_LEAST_BLOCK = 64,
    /* Minimum block length if the buffers of many operands leave less space. Estimate. */
    PITHP_FUSED_SHORTEST_BLOCK = 8,
    /* Minimum row length at which blocks end at row ends. Estimate. */
    PITHP_FUSED_SHORTEST_ROW = 64,
    /* Elements of a periodic operand that is laid out once for all blocks. Estimate. */
    PITHP_FUSED_LONGEST_PERIOD = 64,
    /* Minimum contiguous elements at which a concatenation or padding is read in
     * segments, and elements of one that is always read so, because its segments are in
     * cache. Estimates. Without segments a periodic stencil of 2048^2 took 20 ns an
     * element. */
    PITHP_PIECE_SHORTEST_RUN = 64,
    PITHP_PIECE_SMALL_ELEMENTS = 4096,
    /* Outputs that are tried for a donated input. Estimate. It bounds planning time. */
    PITHP_DONATE_LOOKED_AT = 64,
};

/* ---- Batches on the host ---- */

enum {
    /* Elements of the largest value of a block of entries; larger entries run one by one.
     * A block's loops end with its own last entry, and its values stay in the first
     * cache: bench vmap/while 0.2 to 0.3 ms instead of 0.69 with 8,192, vmap/oscillators
     * 230 instead of 280. */
    PITHP_BLOCK_ELEMENTS = 512,
};

/* ---- Planning: input fusion and row-wise fusion ---- */

enum {
    /* Elements of a step of an inlined loop; see emission. */
    PITHP_INLINE_ELEMENTS = 4096,
    /* Minimum elements of a reduction or gather that is fused with its producer or
     * reader. Compiled loops inline smaller steps anyway. A sum after a chain: 1.0 ns an
     * element instead of 2.5; bench steps/softmax: 3.6 instead of 5.2. */
    PITHP_INPUT_LEAST_ELEMENTS = PITHP_INLINE_ELEMENTS + 1,
    /* Elements of a row that a fused step gathers. Estimate. */
    PITHP_GATHER_LONGEST_ROW = 64,
    /* Elements gathered at a time, by the interpreter and by compiled loops. Compiled
     * loops check as many indices before they gather: 1.45 ns an element instead of 1.9.
     */
    PITHP_GATHER_AT_ONCE = 512,
    /* Row-wise fusion (bands): elements at a time, or one row; bytes of all buffers, so
     * that these stay near the L1 cache; the multiple of rows at a time; values without
     * other memory. bench steps/softmax; derive/gradient/lj: 3.2 ms instead of 3.3 for
     * 72 KiB. */
    PITHP_BAND_AT_ONCE = 2048,
    PITHP_BAND_BYTES = 40960,
    PITHP_BAND_ALIGNED = 64,
    PITHP_BAND_BUFFERS = 16,
    /* Bytes of updates that a band makes before they are scattered, so that they stay in
     * the L2 cache. */
    PITHP_BAND_BLOCK_BYTES = 1 << 18,
    /* Bytes of results and temporaries of reductions that run concurrently on a device.
     * Estimate: one large reduction fills the device. */
    PITHP_CONCURRENT_BYTES = 16 << 20,
};

/* ---- Planning: command buffers ---- */

enum {
    /* Tasks that a step waits for; beyond, it waits for all before it, so that the number
     * of edges stays bounded where many steps read what many steps write. Estimate. */
    PITHP_HAZARD_WAITS = 1024,
    /* Minimum number of equal neighbouring steps that run as one launch, compiled for the
     * host or in a command buffer. Estimate; see PITHP_FUSE_MOST_PACKED. */
    PITHP_HORIZONTAL_LEAST_STEPS = 4,
    /* Minimum multiplications, or terms of an element, of a product that is a library
     * call on CUDA. Estimate: a call and the kernel before it take about as long as 2^21
     * multiplications. */
    PITHP_GEMM_LEAST_WORK = 1 << 21,
    PITHP_GEMM_LEAST_TERMS = 2048,
};

/* ---- Emission ---- */

enum {
    /* A loop compiled to one function: steps of all frames, and addresses of its table.
     * Estimate. */
    PITHP_INLINE_STEPS = 256,
    PITHP_INLINE_ADDRESSES = 1024,
    /* Minimum iterations of a vectorised loop. Estimate. */
    PITHP_INLINE_SHORTEST_VECTOR = 4,
    /* Bytes of an array of the function, and of the workspace before the last of them.
     * They stay in the L1 cache, and the stack stays small. Estimate. */
    PITHP_INLINE_LOCAL_BYTES = 1024,
    PITHP_INLINE_LOCAL_END = 4096,
    /* An inlined product: multiplications, beyond which the library's tiles are faster,
     * and elements of a row or column of its result. 16 x 16 by a vector: 80 ns instead
     * of 430. */
    PITHP_INLINE_DOT_WORK = 4096,
    PITHP_INLINE_DOT_SUMS = 512,
    /* Unrolled inner dimensions: elements, and their instructions in total. bench
     * steps/small_rows: 1.1 ns an element instead of 1.9. */
    PITHP_CELL_ELEMENTS = 16,
    PITHP_CELL_OPS = 256,
    /* Work of one loop of a fused step: that of an instruction is 1, or
     * PITHP_SEGMENT_CALL if it is a mathematical function or converts from and to 16
     * bits. Values in registers or on the stack are faster than arrays between two loops:
     * bench derive/hessian/polynomial, 51 instructions, 0.6 ms in one loop, 2.4 in three.
     */
    PITHP_SEGMENT_WORK = 72,
    PITHP_SEGMENT_CALL = 3,
    /* Elements at a time of a step with several loops, and the number of arrays between
     * them beyond which blocks are shorter, to stay in the L1 cache: that bench in three
     * loops, 0.9 ms instead of 2.4. */
    PITHP_SEGMENT_BLOCK = 512,
    PITHP_SEGMENT_KEPT = 8,
    /* On CUDA a thread loads all its elements before the first store if a step has at
     * most this number of operands and of instructions. From machine code for sm_75 and
     * sm_90. */
    PITHP_AHEAD_READS = 4,
    PITHP_AHEAD_OPS = 16,
};

/* ---- Threading: minimum work of an index range for one thread ---- */

enum {
    /* Minimum elements of a fused step with many instructions; PITHP_GRAIN is divided by
     * their number. Estimate. */
    PITHP_FUSED_LEAST_GRAIN = 512,
    /* Minimum elementwise operations of a loop whose iterations threads share. Estimate:
     * waking a thread takes as long as 2^14 of them. */
    PITHP_RANGE_LEAST_WORK = 1 << 15,
    /* Ranges of such a loop, at most. */
    PITHP_RANGES = 64,
    /* Elements moved by launches of many small copies or gathers. Estimate. */
    PITHP_COPY_MANY_GRAIN = 16384,
    PITHP_GATHER_MANY_GRAIN = 16384,
    /* Chunks of copies: log2 of their elements, and chunks of one move; a larger move has
     * its own launch. Estimate. */
    PITHP_COPY_MANY_LEAST_SHIFT = 5,
    PITHP_COPY_MANY_MOST_SHIFT = 16,
    PITHP_COPY_MANY_COPIES = 64,
    /* Pairs of random words, with keys of their own and with given counts. Estimate. */
    PITHP_RANDOM_GRAIN = 1024,
    PITHP_THREEFRY_GRAIN = 512,
    /* Elements read by a reduction. Estimate. */
    PITHP_REDUCE_GRAIN = 16384,
    /* Multiplications of a product. Estimate. */
    PITHP_DOT_GRAIN = 65536,
    /* Minimum positions of a subrange of a scatter with unique indices. Estimate. */
    PITHP_SCATTER_RANGE = 1 << 14,
};

#endif
