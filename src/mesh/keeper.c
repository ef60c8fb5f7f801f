/* The keeper of a rank under Hydra, MPICH's launcher.
 *
 * When the connection of a process to Hydra closes, Hydra kills the others and forgets
 * their exit codes: after _exit(0) of a rank the job would return 0. A small process
 * keeps the connection open for as long as the watch threads of the other ranks need to
 * end the job with their own code. It ends with the mesh. */
#include "base/environment.h"
#include "mesh/world.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* At the end of the input, which is that of the rank; after a line the rank has closed
 * its mesh. Not a child of the rank, which may wait for all of its own. */
static char command[] = "{ read line || sleep 2; } <&0 >/dev/null 2>&1 &";

static bool spawn_with_input(int input) {
    char shell[] = "/bin/sh", option[] = "-c";
    char *const arguments[] = {shell, option, command, NULL};
    char *const none[] = {NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    const bool made = posix_spawn_file_actions_adddup2(&actions, input, 0) == 0 &&
                      posix_spawn(&child, shell, &actions, NULL, arguments, none) == 0;
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    return made && waitpid(child, &status, 0) == child && status == 0;
}

/* Without a keeper the job ends, too. */
void pithp_keeper_start(pithp_world *w) {
    int ends[2];
    w->keeper = -1;
    if (!w->transport->process || !pithp_environment("PMI_FD") ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    if (spawn_with_input(ends[0]))
        w->keeper = ends[1];
    else
        close(ends[1]);
    close(ends[0]);
}

void pithp_keeper_stop(pithp_world *w) {
    if (w->keeper < 0)
        return;
    send(w->keeper, "\n", 1, MSG_NOSIGNAL); /* unless it has ended */
    close(w->keeper);
    w->keeper = -1;
}
