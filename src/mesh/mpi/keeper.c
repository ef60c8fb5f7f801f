/* The keeper of a process under Hydra, MPICH's launcher.
 *
 * When the connection of a process to Hydra closes, Hydra kills the others and forgets
 * their exit codes: after _exit(0) of a rank the job would return 0. A small process
 * keeps the connection open for as long as the others need to end the job with their own
 * code. It ends after MPI_Finalize, or when the others have ended. If they did not end
 * the job, because they are stopped or have no processor, it asks Hydra to abort. */
#include "mesh/mpi/mpi_internal.h"

#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Lines of the input, which ends with the process: how long to keep the connection then,
 * in tenths of a second, while one of some processes lives; or "end". Before it knows
 * them, they are the other children of its parent, the launcher. One that ends may take
 * long to free its memory, and closes its connection afterwards, with which its code goes
 * to Hydra: it has ended when no thread is left but a zombie. Not a child of the process,
 * which may wait for all of its own. A shell gives /dev/null as input to what it runs in
 * the background: the input comes as its output. */
static char command[] =
    "lives() {\n"
    "state=; while read -r k v; do\n"
    "[ $k = State: ] && { state=$v; break; }; done </proc/$1/status\n"
    "case $state in '') return 1;; Z*) set -- /proc/$1/task/*; [ $# -gt 1 ];; esac; }\n"
    "{ limit=45 peers=\n"
    "while read -r k v; do [ $k = PPid: ] && launcher=$v; done </proc/$PPID/status\n"
    "while read -r n p; do [ \"$n\" = end ] && exit; limit=$n peers=$p; done\n"
    "[ \"$peers\" ] || { set -- $(cat /proc/$launcher/task/*/children)\n"
    "[ $# -gt 1 ] && peers=$*; }\n"
    "i=0; while [ $i -lt $limit ]; do\n"
    "[ \"$peers\" ] && live= || live=1\n"
    "for p in $peers; do lives $p && live=1; done\n"
    "[ $live ] || { sleep 0.1; exit; }\n" /* Hydra reads the codes of the others */
    "sleep 0.1; i=$((i + 1)); done\n"
    "echo cmd=abort exitcode=70 >&$hydra; } <&1 >/dev/null 2>&1 &";

static int keeper = -1; /* a socket to it; -1: none */

static bool spawn_connected(int input, const char *hydra) {
    char shell[] = "/bin/sh", option[] = "-c";
    char *const arguments[] = {shell, option, command, NULL};
    char variable[32]; /* the one that it reads */
    char *const variables[] = {variable, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    snprintf(variable, sizeof variable, "hydra=%.20s", hydra);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    const bool made =
        posix_spawn_file_actions_adddup2(&actions, input, 1) == 0 &&
        posix_spawn(&child, shell, &actions, NULL, arguments, variables) == 0;
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    return made && waitpid(child, &status, 0) == child && status == 0;
}

/* Without a keeper the job ends, too. */
void pith_mpi_keeper_start(const char *hydra) {
    int ends[2];
    if (keeper >= 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    if (spawn_connected(ends[0], hydra))
        keeper = ends[1];
    else
        close(ends[1]);
    close(ends[0]);
}

void pith_mpi_keeper_keep(int tenths, int count, const int64_t *others) {
    char text[12 + 12 * PITH_MPI_MOST_PEERS];
    if (keeper < 0)
        return;
    size_t at = (size_t)snprintf(text, sizeof text, "%d", tenths);
    for (int i = 0; i < count && at + 12 < sizeof text; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %d", (int)others[i]);
    text[at++] = '\n';
    send(keeper, text, at, MSG_NOSIGNAL); /* unless it has ended */
}

void pith_mpi_keeper_stop(void) {
    if (keeper < 0)
        return;
    send(keeper, "end\n", 4, MSG_NOSIGNAL);
    close(keeper);
    keeper = -1;
}
