/* Launchers of parallel jobs, one row each. The first row whose rank is set applies: an
 * inner launcher (mpirun in a job of Slurm) comes first. */
#include "base/launcher.h"

#include "base/environment.h"
#include "base/macros.h"

#include <stddef.h>
#include <stdlib.h>

typedef struct launcher {
    const char *name, *mpi;
    const char *size, *rank, *local_rank, *local_size; /* variables; NULL: none */
} launcher;

/* srun sets the size of its step; a batch script, which is one process, has none. */
static const launcher launchers[] = {
    {"mpirun of Open MPI", "openmpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpiexec of PALS", NULL, "PMI_SIZE", "PALS_RANKID", "PALS_LOCAL_RANKID",
     "PALS_LOCAL_SIZE"},
    {"mpiexec of MPICH", "mpich", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS"},
    {"flux", NULL, "FLUX_JOB_SIZE", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", NULL},
    {"srun of Slurm", NULL, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID",
     NULL},
    {"a launcher with PMIx", NULL, NULL, "PMIX_RANK", NULL, NULL},
};

/* The number in a variable; -1: not set, or no number. */
static int64_t number_in(const char *variable) {
    const char *text = variable ? pithp_environment(variable) : NULL;
    char *end = NULL;
    const long long number = text && text[0] ? strtoll(text, &end, 10) : -1;
    return end && *end == 0 && number >= 0 ? number : -1;
}

pithp_job pithp_job_about(void) {
    for (int i = 0; i < PITHP_COUNT(launchers); i++) {
        const launcher *l = &launchers[i];
        const int64_t rank = number_in(l->rank), size = number_in(l->size);
        if (rank >= 0 && (size > 0 || !l->size))
            return (pithp_job){l->name,
                               l->size,
                               l->mpi,
                               size,
                               rank,
                               number_in(l->local_rank),
                               number_in(l->local_size)};
    }
    return (pithp_job){.size = -1, .rank = -1, .local_rank = -1, .local_size = -1};
}

int pithp_job_threads(const pithp_job *job, int cores, int online) {
    if (!job->launcher || job->local_size < 2 || online < 1)
        return cores;
    const int64_t sharing = job->local_size * cores / online;
    const int64_t threads = sharing > 1 ? cores / sharing : cores;
    return threads < 1 ? 1 : (int)threads;
}
