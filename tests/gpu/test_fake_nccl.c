/* The stand-in for NCCL ends the program where NCCL would hang, or give wrong numbers. */
#include "fake_nccl.h"
#include "fake_queue.h"
#include "gpu/cuda/nccl.h"
#include "pith_test.h"

#include <limits.h>
#include <signal.h>

enum { RANKS = 2, COUNT = 8 };

/* Two ranks in one thread. */
typedef struct pair {
    const pithp_nccl *library;
    pithp_nccl_comm comms[RANKS];
    cudaStream_t streams[RANKS];
    double *data[RANKS];
} pair;

static pithp_nccl_config config_of(int blocking) {
    return (pithp_nccl_config){.size = sizeof(pithp_nccl_config),
                               .magic = PITHP_NCCL_MAGIC,
                               .version = PITHP_NCCL_OLDEST,
                               .blocking = blocking};
}

static void settle(const pair *p) {
    for (int r = 0; r < RANKS; r++) {
        int result = PITHP_NCCL_IN_PROGRESS;
        while (result == PITHP_NCCL_IN_PROGRESS)
            (void)p->library->CommGetAsyncError(p->comms[r], &result);
        cr_assert_eq(result, PITHP_NCCL_OK);
    }
}

static pair open_pair(int blocking) {
    pithp_error e;
    pair p = {.library = pithp_nccl_open(&e)};
    pithp_nccl_id id;
    pithp_nccl_config config = config_of(blocking);
    fake_queue_patience = 1;
    (void)p.library->GetUniqueId(&id);
    for (int r = 0; r < RANKS; r++) {
        cr_assert_eq(cudaStreamCreateWithFlags(&p.streams[r], cudaStreamNonBlocking), 0);
        cr_assert_eq(cudaMalloc((void **)&p.data[r], COUNT * sizeof(double)), 0);
        memset(p.data[r], 0, COUNT * sizeof(double));
        cr_assert_eq(p.library->CommInitRankConfig(&p.comms[r], RANKS, id, r, &config),
                     PITHP_NCCL_IN_PROGRESS);
    }
    settle(&p);
    return p;
}

static void sum(const pair *p, int rank, size_t count, int dtype) {
    (void)p->library->AllReduce(p->data[rank], p->data[rank], count, dtype,
                                PITHP_NCCL_SUM, p->comms[rank], p->streams[rank]);
}

static void wait_for_all(const pair *p) {
    settle(p);
    for (int r = 0; r < RANKS; r++)
        (void)cudaStreamSynchronize(p->streams[r]);
}

Test(fake_nccl, equal_moves_are_made) {
    const pair p = open_pair(0);
    for (int r = 0; r < RANKS; r++)
        p.data[r][COUNT - 1] = r + 1;
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    sum(&p, 1, COUNT, PITHP_NCCL_F64);
    wait_for_all(&p);
    for (int r = 0; r < RANKS; r++)
        cr_assert_eq(p.data[r][COUNT - 1], 3);
}

Test(fake_nccl, other_counts_end_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    sum(&p, 1, COUNT - 1, PITHP_NCCL_F64);
    wait_for_all(&p);
}

Test(fake_nccl, other_dtypes_end_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    sum(&p, 1, COUNT, PITHP_NCCL_I64);
    wait_for_all(&p);
}

Test(fake_nccl, another_order_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    (void)p.library->Broadcast(p.data[1], p.data[1], COUNT, PITHP_NCCL_U8, 0, p.comms[1],
                               p.streams[1]);
    wait_for_all(&p);
}

Test(fake_nccl, a_move_of_one_rank_alone_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    wait_for_all(&p);
}

Test(fake_nccl, a_capture_on_one_rank_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    cudaGraph_t child, graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    (void)cudaStreamBeginCapture(p.streams[0], cudaStreamCaptureModeRelaxed);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    settle(&p);
    (void)cudaStreamEndCapture(p.streams[0], &child);
    (void)cudaGraphCreate(&graph, 0);
    (void)cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    (void)cudaGraphLaunch(exec, p.streams[0]);
    sum(&p, 1, COUNT, PITHP_NCCL_F64);
    wait_for_all(&p);
}

Test(fake_nccl, a_graph_that_holds_moves_keeps_its_communicator, .signal = SIGABRT) {
    const pair p = open_pair(0);
    cudaGraph_t graph;
    (void)cudaStreamBeginCapture(p.streams[0], cudaStreamCaptureModeRelaxed);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    settle(&p);
    (void)cudaStreamEndCapture(p.streams[0], &graph);
    (void)p.library->CommAbort(p.comms[0]);
}

Test(fake_nccl, a_call_before_the_last_one_has_settled_ends_it, .signal = SIGABRT) {
    const pair p = open_pair(0);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
}

Test(fake_nccl, a_use_after_an_abort_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    (void)p.library->CommAbort(p.comms[0]);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
}

Test(fake_nccl, a_communicator_that_blocks_ends_the_program, .signal = SIGABRT) {
    (void)open_pair(1);
}

Test(fake_nccl, an_id_that_no_rank_made_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    const pithp_nccl_id id = {"another job's"};
    pithp_nccl_config config = config_of(0);
    pithp_nccl_comm comm;
    (void)p.library->CommInitRankConfig(&comm, RANKS, id, 0, &config);
}

Test(fake_nccl, a_message_out_of_a_group_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    (void)p.library->Send(p.data[0], COUNT, PITHP_NCCL_U8, 1, p.comms[0], p.streams[0]);
}

Test(fake_nccl, a_wait_without_polling_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    sum(&p, 1, COUNT, PITHP_NCCL_F64);
    (void)cudaStreamSynchronize(p.streams[0]);
}

Test(fake_nccl, work_behind_a_move_without_polling_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    (void)cudaMemsetAsync(p.data[0], 0, 1, p.streams[0]);
}

Test(fake_nccl, a_capture_that_ends_before_its_move_settles_ends_it, .signal = SIGABRT) {
    const pair p = open_pair(0);
    cudaGraph_t graph;
    (void)cudaStreamBeginCapture(p.streams[0], cudaStreamCaptureModeRelaxed);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    (void)cudaStreamEndCapture(p.streams[0], &graph);
}

Test(fake_nccl, moves_of_two_communicators_at_once_end_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0), q = open_pair(0);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
    sum(&q, 0, COUNT, PITHP_NCCL_F64);
    settle(&p);
    settle(&q);
    (void)cudaStreamSynchronize(q.streams[0]);
}

Test(fake_nccl, messages_of_other_lengths_end_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    for (int r = 0; r < RANKS; r++) {
        (void)p.library->GroupStart();
        if (r == 0)
            (void)p.library->Send(p.data[r], 16, PITHP_NCCL_U8, 1, p.comms[r],
                                  p.streams[r]);
        else
            (void)p.library->Recv(p.data[r], 8, PITHP_NCCL_U8, 0, p.comms[r],
                                  p.streams[r]);
        (void)p.library->GroupEnd();
    }
    wait_for_all(&p);
}

Test(fake_nccl, a_group_that_does_not_end_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    (void)p.library->GroupStart();
    (void)p.library->GroupStart();
}

Test(fake_nccl, a_stream_of_another_context_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    fake_cuda_context_set(fake_cuda_context_make(0));
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
}

Test(fake_nccl, a_capture_after_an_abort_ends_the_program, .signal = SIGABRT) {
    const pair p = open_pair(0);
    (void)p.library->CommAbort(p.comms[0]);
    (void)cudaStreamBeginCapture(p.streams[0], cudaStreamCaptureModeRelaxed);
    sum(&p, 0, COUNT, PITHP_NCCL_F64);
}
