/* Launchers of parallel jobs, recognised by the variables that they set. */
#ifndef PITH_BASE_LAUNCHER_H
#define PITH_BASE_LAUNCHER_H

#include <stdint.h>

/* The job that this process is a rank of. Numbers that the launcher does not tell are
 * -1. */
typedef struct pithp_job {
    const char *launcher; /* "mpirun of Open MPI"; NULL: the process was started alone */
    const char *variable; /* the variable that tells the size; NULL: none does */
    const char *mpi;      /* the MPI that the launcher belongs to: "openmpi", "mpich";
                             NULL: it starts any */
    int64_t size, rank, local_rank, local_size;
} pithp_job;

pithp_job pithp_job_about(void);

/* Host threads of a rank whose affinity mask has `cores` of the `online` cores. The masks
 * of the local ranks are taken to be spread evenly over the cores. */
int pithp_job_threads(const pithp_job *job, int cores, int online);

#endif
