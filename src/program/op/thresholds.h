/* Thresholds: the tuning constants of passes, planning, fusion, threading, emission,
 * command buffers and tier-up.
 *
 * Bits of results do not depend on them, but for PITHP_GEMM_*, for a library adds in an
 * order of its own. Each has its unit and the measurement that it rests on. "bench" names
 * rows of bench/. "Estimate" means that no measurement is recorded.
 *
 * Other places hold the block sizes of one kernel (next to its loops, in host/ and
 * source/), the orders of sums, and the thresholds of the device: PITHP_GRAIN, the
 * elements that are worth a thread, in gpu_internal.h, and the times to wake threads in
 * gpu/host/threads.c. */
#ifndef PITH_PROGRAM_OP_THRESHOLDS_H
#define PITH_PROGRAM_OP_THRESHOLDS_H

/* ---- Tier-up ---- */

enum {
    /* Runs, the last of which asks for compiled code or a command buffer. Estimate: a
     * compiler takes longer than most programs that run once. */
    PITHP_RUNS_WORTH_COMPILING = 2,
    /* Runs from one attempt to the next while memory is short: each pause is twice the
     * one before, up to this. Estimate. */
    PITHP_LONGEST_PAUSE = 1024,
};

/* ---- Passes ---- */

enum {
    /* Instructions of an unrolled body. Estimate. Unrolling by 4: 31 ns an
     * iteration instead of 97 (1 element, interpreted). */
    PITHP_UNROLL_INSTRUCTIONS = 512,
    /* Times that dead code of control flow is looked for. Estimate. */
    PITHP_REWRITE_ROUNDS = 3,
    /* Bytes of a literal that is copied into the programs of control flow. Estimate. */
    PITHP_SINK_BYTES = 64,
};

/* ---- Planning: fusion ---- */

enum {
    /* Elements of small work: it joins a fused step that it shares nothing with.
     * Estimate. */
    PITHP_FUSE_SMALL_ELEMENTS = 8192,
    /* Instructions and memory accesses of a step that small work joins: with more, one
     * more step costs less than shorter blocks. Estimate. */
    PITHP_FUSE_PACKED_OPS = 40,
    PITHP_FUSE_PACKED_READS = 42,
    /* Steps before the last in which such work looks for room. Estimate. */
    PITHP_FUSE_LOOK_BACK = 16,
    /* Instructions of small work in a program; with more of it each cluster has its own
     * steps, and equal ones run as one batch. Adam over 1,000 leaves: 118 us instead of
     * 248. */
    PITHP_FUSE_MOST_PACKED = 24,
    /* Elements of work that waits for its reader in a command buffer, so that sums
     * follow one another and share a launch. Estimate. */
    PITHP_FUSE_WAITING_ELEMENTS = 64,
    /* Elements of a block of a fused step, and bytes of all its temporaries, which stay
     * in the first cache. Estimate. */
    PITHP_FUSED_BLOCK = 512,
    PITHP_FUSED_BYTES = 43008,
    /* Elements to which a block is cut down where there are many temporaries: it is a
     * multiple of this. Estimate. */
    PITHP_FUSED_LEAST_BLOCK = 64,
    /* The same where the buffers of many operands leave less room. Estimate. */
    PITHP_FUSED_SHORTEST_BLOCK = 8,
    /* Elements of a row from which on a block ends where a row does. Estimate. */
    PITHP_FUSED_SHORTEST_ROW = 64,
    /* Elements of an operand that repeats, which is laid out once for all blocks.
     * Estimate. */
    PITHP_FUSED_LONGEST_PERIOD = 64,
    /* Elements side by side of a concatenation or padding from which on it is read piece
     * by piece, and elements of one that is, however short they are: its pieces are in
     * cache. Estimates. Without pieces a periodic stencil of 2048^2 took 20 ns an
     * element. */
    PITHP_PIECE_SHORTEST_RUN = 64,
    PITHP_PIECE_SMALL_ELEMENTS = 4096,
    /* Outputs that are tried for a donated input. Estimate. It bounds the time of
       planning. */
    PITHP_DONATE_LOOKED_AT = 64,
};

/* ---- Planning: input fusion and row-wise fusion ---- */

enum {
    /* Elements up to which a step of a loop is laid out in line; see emission. */
    PITHP_INLINE_ELEMENTS = 4096,
    /* Elements of a reduction or gather from which on it is fused with what it reads, or
     * with what reads it: compiled loops take smaller steps as they are. A sum after a
     * chain: 1.0 ns an element instead of 2.5; bench steps/softmax: 3.6 instead of
     * 5.2. */
    PITHP_INPUT_LEAST_ELEMENTS = PITHP_INLINE_ELEMENTS + 1,
    /* Elements of a row that a fused step gathers. Estimate. */
    PITHP_TAKEN_LONGEST_ROW = 64,
    /* Elements gathered at a time, by the interpreter and by compiled loops, which look
     * at that many indices before they take: 1.45 ns an element instead of 1.9. */
    PITHP_TAKEN_AT_ONCE = 512,
    /* A band: elements at a time, or one row; rows at a time are a multiple of that many;
     * values that have no other memory. bench steps/softmax. */
    PITHP_BAND_AT_ONCE = 2048,
    PITHP_BAND_ALIGNED = 64,
    PITHP_BAND_BUFFERS = 8,
    /* Bytes of results and temporaries of reductions that run at the same time on a
     * device. Estimate: one large reduction
     * fills the device. */
    PITHP_CONCURRENT_BYTES = 16 << 20,
};

/* ---- Planning: command buffers ---- */

enum {
    /* Touches of memory in a frame of tasks; beyond, a step waits for all before it, so
     * that the time of planning stays bounded. Estimate. */
    PITHP_HAZARD_TOUCHES = 16384,
    /* Equal neighbouring steps from which on they run as one launch, compiled for the
     * host or in a command buffer. Estimate; see PITHP_FUSE_MOST_PACKED. */
    PITHP_BATCH_LEAST_STEPS = 4,
    /* A product is a call of a library on CUDA from that many multiplications, or terms
     * of an element, on. Estimate: a call and the kernel before it take about as long as
     * 2^21 multiplications do. */
    PITHP_GEMM_LEAST_WORK = 1 << 21,
    PITHP_GEMM_LEAST_TERMS = 2048,
};

/* ---- Emission ---- */

enum {
    /* A loop that is one function: steps of all frames, and addresses of its table.
     * Estimate. */
    PITHP_INLINE_STEPS = 256,
    PITHP_INLINE_ADDRESSES = 1024,
    /* Iterations from which on a loop is vectorised. Estimate. */
    PITHP_INLINE_SHORTEST_VECTOR = 4,
    /* Bytes of an array of the function, and of the workspace before the last of them:
     * they stay in the first cache, and the stack small. Estimate. */
    PITHP_INLINE_LOCAL_BYTES = 1024,
    PITHP_INLINE_LOCAL_END = 4096,
    /* A product laid out in line: multiplications, beyond which the library's tiles are
     * faster, and elements of a row or column of its result. 16 x 16 by a vector: 80 ns
     * instead of 430. */
    PITHP_INLINE_DOT_WORK = 4096,
    PITHP_INLINE_DOT_SUMS = 512,
    /* Inner dimensions that are laid out: elements, and instructions of all of them.
     * bench steps/small_rows: 1.1 ns an element instead of 1.9. */
    PITHP_CELL_ELEMENTS = 16,
    PITHP_CELL_OPS = 256,
    /* Instructions of one loop of a fused step, and elements between its loops. Estimate.
     */
    PITHP_SEGMENT_OPS = 24,
    PITHP_SEGMENT_BLOCK = 512,
    /* Temporaries between the loops of a step, beyond which its blocks are shorter, so
     * that they stay in cache. Estimate. */
    PITHP_SEGMENT_KEPT = 40,
    /* On CUDA all elements of a thread are loaded before the first store if a step has up
     * to this many operands, and instructions. Read from machine code for sm_75 and
     * sm_90. */
    PITHP_AHEAD_READS = 4,
    PITHP_AHEAD_OPS = 16,
};

/* ---- Threading: work of an index range that is worth a thread ---- */

enum {
    /* Elements of a fused step of many instructions, at least; PITHP_GRAIN are shared by
     * its instructions. Estimate. */
    PITHP_FUSED_LEAST_GRAIN = 512,
    /* Elements that launches of many small copies or gathers move. Estimate. */
    PITHP_COPY_MANY_GRAIN = 16384,
    PITHP_GATHER_MANY_GRAIN = 16384,
    /* Chunks of copies: elements, as powers of two, and pieces of one move; a move of
     * more pieces runs on its own. Estimate. */
    PITHP_COPY_MANY_LEAST_SHIFT = 5,
    PITHP_COPY_MANY_MOST_SHIFT = 16,
    PITHP_COPY_MANY_PIECES = 64,
    /* Pairs of random bits, with keys of their own and with counts that are given.
     * Estimate. */
    PITHP_RANDOM_GRAIN = 1024,
    PITHP_THREEFRY_GRAIN = 512,
    /* Elements that a reduction reads. Estimate. */
    PITHP_REDUCE_GRAIN = 16384,
    /* Multiplications of a product. Estimate. */
    PITHP_DOT_GRAIN = 65536,
    /* Positions of a scatter whose indices do not repeat: a part of that many runs
     * apart. Estimate. */
    PITHP_SCATTER_PART = 1 << 14,
};

#endif
