/* Serial execution of a command buffer: task by task, decisions are read by the host. */
#include "program/command/command.h"

typedef struct driving {
    char *memory;
    void *gemm;  /* memory of products */
    char *moves; /* memory of moves between ranks */
    const pithp_driver *driver;
} driving;

static pith_status read_word(const driving *d, int32_t word, int64_t *value) {
    return d->driver->read(d->driver->closure,
                           d->memory + (size_t)word * sizeof(uint64_t), value);
}

static pith_status drive_list(const driving *d, const pithp_tasks *tasks);

static pith_status drive_while(const driving *d, const pithp_task *task) {
    int64_t decision;
    pith_status rc = read_word(d, task->decision, &decision);
    while (rc == PITH_OK && decision) {
        rc = drive_list(d, &task->bodies[0]);
        if (rc == PITH_OK)
            rc = read_word(d, task->decision, &decision);
    }
    return rc;
}

static pith_status drive_switch(const driving *d, const pithp_task *task) {
    int64_t decision;
    const pith_status rc = read_word(d, task->decision, &decision);
    return rc != PITH_OK ? rc : drive_list(d, &task->bodies[decision]);
}

static pith_status drive_list(const driving *d, const pithp_tasks *tasks) {
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < tasks->count && rc == PITH_OK; k++) {
        const pithp_task *task = &tasks->list[k];
        if (task->segment && d->driver->segment) {
            rc = d->driver->segment(d->driver->closure, task);
            k += task->segment_count - 1;
            continue;
        }
        if (pithp_task_controls(task) && d->driver->enter)
            d->driver->enter(d->driver->closure, task);
        switch (task->kind) {
            case PITHP_TASK_KERNEL:
                if (task->threads)
                    rc = d->driver->launch(d->driver->closure, task,
                                           d->memory +
                                               (size_t)task->args * sizeof(uint64_t));
                break;
            case PITHP_TASK_GEMM:
                rc = d->driver->gemm(d->driver->closure, task, d->gemm);
                break;
            case PITHP_TASK_TRANSFER:
                rc = d->driver->transfer(d->driver->closure, task, d->moves);
                break;
            case PITHP_TASK_HOST:
                rc = d->driver->host(d->driver->closure, task,
                                     d->memory + (size_t)task->args * sizeof(uint64_t));
                break;
            case PITHP_TASK_SWITCH:
                rc = drive_switch(d, task);
                break;
            case PITHP_TASK_WHILE:
                rc = drive_while(d, task);
                break;
        }
    }
    return rc;
}

pith_status pithp_schedule_drive(const pithp_schedule *schedule,
                                 char *memory,
                                 const pithp_driver *driver) {
    const driving d = {.memory = memory,
                       .gemm = pithp_schedule_gemm(schedule, memory),
                       .moves = pithp_schedule_moves(schedule, memory),
                       .driver = driver};
    return drive_list(&d, &schedule->tasks);
}
