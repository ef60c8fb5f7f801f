/* Asymmetric fence by membarrier(2). */
#include "base/membarrier.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool possible;

static void prepare(void) {
    possible =
        syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool pithp_membarrier_possible(void) {
    pthread_once(&once, prepare);
    return possible;
}

void pithp_membarrier_all(void) {
    if (pithp_membarrier_possible())
        syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    atomic_thread_fence(memory_order_seq_cst);
}
