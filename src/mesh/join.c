/* Joining: which transport, what all ranks must have in common, and what rank 0 decides
 * for all of them. */
#include "base/environment.h"
#include "gpu/gpu_internal.h"
#include "mesh/world.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_SECONDS = 300, SETTINGS_BYTES = 16384 };

/* ---- Options ---- */

static pith_status check_transport(pith_scope *s, const char *where, const char *name) {
    if (!name || strcmp(name, "mpi") == 0 || strcmp(name, "self") == 0)
        return PITH_OK;
    return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s is \"%.40s\", expected mpi or self",
                      s->function, where, name);
}

/* The transport that an option or PITH_MESH names; NULL: none is named. */
static pith_status named_transport(pith_scope *s, const char *option, const char **name) {
    const char *variable = pithp_environment("PITH_MESH");
    variable = variable && variable[0] ? variable : NULL;
    *name = option ? option : variable;
    const pith_status rc = check_transport(s, "PITH_MESH", variable);
    return rc == PITH_OK ? check_transport(s, "transport", option) : rc;
}

/* A name in PITH_MPI counts only if nothing else tells which MPI, but is always valid. */
static void check_wish(pith_scope *s) {
    bool valid;
    pithp_plugin_wish(&valid);
    if (!valid)
        pithp_fail(
            s, PITH_E_ARG, NULL,
            "%s: PITH_MPI is \"%.40s\", expected a name such as openmpi, or a file "
            "with a slash",
            s->function, pithp_environment("PITH_MPI"));
}

static void log_other_wish(pith_scope *s, const pithp_transport *t) {
    bool valid;
    const char *wish = pithp_plugin_wish(&valid);
    if (wish && !strchr(wish, '/') && strcmp(wish, t->mpi) != 0)
        pithp_log(s->runtime, PITH_LOG_WARNING,
                  "PITH_MPI is %.40s, but the process or its launcher uses %s", wish,
                  t->mpi);
}

/* An invalid variable is an error even if an option takes precedence. */
static pith_status read_timeout(pith_scope *s, double option, int64_t *ns) {
    const char *text = pithp_environment("PITH_MESH_TIMEOUT");
    double seconds = TIMEOUT_SECONDS;
    char *end = NULL;
    if (text && text[0]) {
        seconds = strtod(text, &end);
        if (*end || !isfinite(seconds) || seconds == 0)
            return pithp_fail(s, PITH_E_ARG, NULL,
                              "%s: PITH_MESH_TIMEOUT is \"%.40s\", expected seconds, "
                              "negative for no limit",
                              s->function, text);
    }
    seconds = option != 0 ? option : seconds;
    if (isnan(seconds))
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: timeout is NaN", s->function);
    *ns = seconds < 0 ? -1 : seconds > 9e9 ? INT64_MAX : (int64_t)(seconds * 1e9);
    return PITH_OK;
}

/* ---- The transport ---- */

static pith_status choose_transport(pith_scope *s,
                                    const pithp_join *how,
                                    const pithp_job *job,
                                    const char *option,
                                    const pithp_transport **transport) {
    const char *name = NULL;
    *transport = how->transport;
    if (how->transport)
        return PITH_OK;
    if (named_transport(s, option, &name) != PITH_OK)
        name = NULL; /* with the error, this rank joins the others where they are */
    check_wish(s);
    const bool alone = job->size == 1 || !job->launcher;
    if (!how->communicator && (name ? strcmp(name, "self") == 0 : alone))
        return PITH_OK;
    pithp_error e;
    *transport = pithp_plugin_find(job, how->library, &e);
    if (!*transport)
        return pithp_fail(s, e.code, NULL, "%s: %s", s->function, e.text);
    log_other_wish(s, *transport);
    return PITH_OK;
}

/* The engine finds as many ranks as the launcher started: a program under the launcher of
 * another MPI would else run several times alone. */
static pith_status
check_size(pith_scope *s, const pithp_job *job, const pithp_joined *j) {
    if (job->size < 1 || job->size == j->started)
        return PITH_OK;
    return pithp_fail(s, PITH_E_UNSUPPORTED, NULL,
                      "%s: %s started %" PRId64 " processes (%s), but %s finds %" PRId64
                      ": the program needs the launcher of its MPI",
                      s->function, job->launcher, job->size, job->variable, j->library,
                      j->started);
}

/* ---- What ranks have in common ---- */

static const char *byte_order(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first ? "little-endian" : "big-endian";
}

/* All take the least instruction set, so that equal work has equal bits. */
static void take_isa(pith_scope *s, pithp_device *d, uint64_t least) {
    if ((uint64_t)d->isa == least)
        return;
    if (atomic_load(&d->compiler))
        pithp_fail(s, PITH_E_UNSUPPORTED, NULL,
                   "%s: another rank has an older processor: open the mesh before "
                   "functions are compiled",
                   s->function);
    else
        pithp_host_take_isa(d, (pithp_isa)least);
}

/* The settings of rank 0 for all. */
static void take_settings(pith_scope *s, pithp_world *w, const char *own) {
    char text[SETTINGS_BYTES];
    if (!pithp_collective_begin(
            s, &(pithp_intent){.operation = s->function, .what = "settings"}))
        return;
    memcpy(text, own, SETTINGS_BYTES);
    pithp_transport_trouble t = {.code = PITH_OK};
    if (w->transport->broadcast(w->joined.all, 0, text, SETTINGS_BYTES, &t) != PITH_OK) {
        pithp_world_break(w, s, &t);
    } else if (memcmp(text, own, SETTINGS_BYTES) != 0) {
        pithp_log(s->runtime, PITH_LOG_WARNING,
                  "rank %" PRId64
                  " on %s: the settings PITH_* differ from those of rank 0, "
                  "which hold",
                  w->joined.rank, w->host);
        if (!pithp_environment_replace(text))
            pithp_fail_memory(s, SETTINGS_BYTES);
    }
    pithp_collective_end(s);
}

/* Options of rank 0 that hold on all ranks. */
typedef struct shared_options {
    int64_t timeout_ns, compares;
} shared_options;

/* Compare what must be equal, take the least of what may differ, and the settings of rank
 * 0. */
static void compare_ranks(pith_scope *s, pithp_world *w, shared_options *options) {
    char id[48], library[48], what[PITHP_WHAT_BYTES], settings[SETTINGS_BYTES];
    pithp_device *d = pithp_runtime_device(s->runtime); /* NULL: s has failed */
    if (!pithp_environment_settings(settings, SETTINGS_BYTES))
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: the variables PITH_* have more than %d bytes, which ranks cannot "
                   "compare",
                   s->function, SETTINGS_BYTES);
    pithp_program_id(id, sizeof id);
    pithp_world_library(w, library, sizeof library);
    snprintf(what, sizeof what, "pith %s, program %.40s, %s, device %s%s", pith_version(),
             id[0] ? id : "unknown", byte_order(), pith_device_kind(s->runtime), library);
    const uint64_t digest = pithp_hash(0, settings, SETTINGS_BYTES);
    pithp_ballot ballot = {.least = {d ? (uint64_t)d->isa : UINT64_MAX, digest, ~digest}};
    const pithp_intent intent = {.operation = s->function, .what = what};
    if (!pithp_agree_with(w, s, &intent, &ballot))
        return;
    pithp_transport_trouble t = {.code = PITH_OK};
    if (w->transport->broadcast(w->joined.all, 0, options, sizeof *options, &t) !=
        PITH_OK)
        pithp_world_break(w, s, &t);
    pithp_collective_end(s);
    take_isa(s, d, ballot.least[0]);
    if (ballot.least[1] != ~ballot.least[2])
        take_settings(s, w, settings);
    else
        pithp_environment_restore(); /* of an earlier job of this process */
}

/* ---- Ranks of a node ---- */

/* Two ranks with one GPU, by its UUID. */
static void refuse_one_device(pith_scope *s, const pithp_world *w) {
    const uint64_t own[2] = {atomic_load(&w->own->device[0]),
                             atomic_load(&w->own->device[1])};
    for (int64_t i = 0; (own[0] | own[1]) && i < w->joined.node_rank; i++) {
        pithp_rank_state *other = pithp_world_state(w, i);
        if (atomic_load(&other->device[0]) == own[0] &&
            atomic_load(&other->device[1]) == own[1])
            pithp_fail(s, PITH_E_UNSUPPORTED, NULL,
                       "%s: ranks %" PRId64 " and %" PRId64
                       " on %s have one GPU, %s: start "
                       "fewer ranks, or set .share_device",
                       s->function, (int64_t)atomic_load(&other->rank), w->joined.rank,
                       w->host, w->device);
    }
}

static uint64_t digest_of_cores(void) {
    cpu_set_t set;
    memset(&set, 0, sizeof set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? pithp_hash(1, &set, sizeof set)
                                                       : 0;
}

/* What pith_open could only estimate from the launcher's variables. */
static void share_cores(const pithp_world *w, pithp_device *d) {
    const uint64_t own = atomic_load(&w->own->cores);
    int ranks = 0;
    for (int64_t i = 0; i < w->joined.node_size; i++)
        ranks += atomic_load(&pithp_world_state(w, i)->cores) == own;
    if (own)
        pithp_host_share_cores(d, ranks);
}

/* Ranks of a node look at each other's device and cores. */
static void compare_node(pith_scope *s, pithp_world *w, bool may_share) {
    pithp_device *d = pithp_runtime_device(s->runtime);
    const bool looks = d && w->has_watch_memory;
    uint64_t uuid[2];
    for (int i = 0; looks && i < 2; i++) {
        memcpy(&uuid[i], d->uuid + 8 * i, sizeof *uuid);
        atomic_store(&w->own->device[i], uuid[i]);
    }
    if (looks)
        atomic_store(&w->own->cores, digest_of_cores());
    if (!pithp_collective_begin(
            s, &(pithp_intent){.operation = s->function, .what = "devices"}))
        return;
    pithp_collective_end(s);
    if (looks && !may_share)
        refuse_one_device(s, w);
    if (looks && w->transport->process)
        share_cores(w, d);
}

/* ---- One process, one rank ---- */

static _Atomic int64_t rank_process; /* with a world; 0: none */

/* Engines take calls from one thread at a time, which two worlds would not know of each
 * other. */
static pith_status claim_process(pith_scope *s, pithp_world *w) {
    if (!w->transport->process)
        return PITH_OK;
    int64_t found = 0;
    if (!atomic_compare_exchange_strong(&rank_process, &found, getpid()))
        return pithp_fail(
            s, PITH_E_UNSUPPORTED, NULL, "%s: %s", s->function,
            found == getpid()
                ? "another runtime of this process has joined the ranks: one "
                  "process is one rank, with one runtime at a time"
                : "a child of fork() is no rank of the mesh");
    w->claims = true;
    return PITH_OK;
}

static void release_process(pithp_world *w) {
    if (w->claims)
        atomic_store(&rank_process, 0);
    w->claims = false;
}

/* ---- Joining ---- */

static void runtime_closing(pith_runtime *rt) {
    pithp_world_free(pithp_world_of(rt));
    rt->room[PITHP_ROOM_MESH] = NULL;
}
static void threads_joining(pith_runtime *rt) {
    pithp_world_leave(pithp_world_of(rt));
}
static const pithp_room_hooks hooks = {.threads_joining = threads_joining,
                                       .runtime_closing = runtime_closing};

void pithp_world_free(pithp_world *w) {
    pith_runtime *rt = w->runtime;
    while (w->meshes) {
        pith_mesh *m = w->meshes;
        w->meshes = m->next;
        pithp_mesh_end(m);
        pithp_mesh_groups_free(rt, m);
        pithp_release(rt, m, sizeof *m);
    }
    pthread_mutex_destroy(&w->lock);
    if (!w->spare)
        pithp_release(rt, w, sizeof *w);
}

/* Links of groups, then the world's. Engines wait for all ranks. */
static void close_links(pithp_world *w, const char *operation) {
    pithp_deadline deadline = {.transport = w->transport,
                               .operation = operation,
                               .rank = w->joined.rank,
                               .size = w->joined.size,
                               .timeout_ns = w->transport->process ? w->timeout_ns : -1};
    pithp_deadline_begin(&deadline);
    for (pith_mesh *m = w->meshes; m; m = m->next)
        for (pithp_mesh_group *g = m->groups; g; g = g->next) {
            if (g->link && g->link != w->joined.all)
                w->transport->drop(g->link);
            g->link = NULL;
        }
    w->transport->close(w->joined.all, w->timeout_ns);
    pithp_deadline_end(&deadline);
}

static void leave(pithp_world *w, const char *operation) {
    if (!w->transport || w->forked || w->left)
        return;
    const pithp_intent intent = {.operation = operation};
    bool all = false;
    while (w->joined.size > 1 && !w->broken && !all) {
        pithp_ballot ballot = {.level = PITHP_LEVEL_CLOSE};
        if (pithp_agree_with(w, NULL, &intent, &ballot))
            pthread_mutex_unlock(&w->lock);
        all = ballot.highest == PITHP_LEVEL_CLOSE;
    }
    pithp_mesh_watch_stop(w); /* which looks at the communicators */
    pithp_world_disconnect(w, w->broken);
    if (w->own)
        atomic_store(&w->own->phase, PITHP_PHASE_CLOSED);
    pithp_exit_forget(w);
    close_links(w, operation);
    release_process(w);
}

void pithp_world_leave(pithp_world *w) {
    leave(w, "pith_close");
}

/* MPI_Finalize of the program before pith_close: the last moment for what pith_close does
 * with the other ranks. Memory that ranks share is gone after it. */
static void engine_ends(void *world) {
    pithp_world *w = world;
    leave(w, "MPI_Finalize");
    w->left = true;
    w->own = NULL;
    w->has_watch_memory = false;
}

/* A world in memory of the runtime, or in `spare`, with the error set: this rank then
 * takes part in joining only, so that no other rank waits for it. NULL: not even that. */
static pithp_world *make_world(pith_scope *s, pithp_world *spare) {
    pithp_world *w = pithp_allocate(s->runtime, sizeof *w);
    if (!w) {
        pithp_fail_memory(s, sizeof *w);
        w = spare;
    }
    *w = (pithp_world){.runtime = s->runtime,
                       .spare = w == spare,
                       .joined = {.size = 1, .node_size = 1, .nodes = 1}};
    if (pthread_mutex_init(&w->lock, NULL) != 0) {
        if (w != spare)
            pithp_release(s->runtime, w, sizeof *w);
        pithp_fail_memory(s, sizeof w->lock);
        return NULL;
    }
    const pithp_device *d = pithp_runtime_device(s->runtime);
    if (d && strcmp(d->backend->kind, "host") != 0)
        snprintf(w->device, sizeof w->device, "%s:%d", d->backend->kind, d->ordinal);
    else
        snprintf(w->device, sizeof w->device, "%s", d ? "host" : "none");
    if (gethostname(w->host, sizeof w->host - 1) != 0)
        snprintf(w->host, sizeof w->host, "unknown");
    return w;
}

/* Connect to the other ranks. */
static pith_status connect_world(pith_scope *s,
                                 pithp_world *w,
                                 const pithp_join *how,
                                 const pithp_job *job) {
    pithp_transport_trouble t = {.code = PITH_OK};
    const bool is_all = w->transport->process && !how->communicator;
    const pithp_joining joining = {.communicator = how->communicator,
                                   .communicator_bytes = how->communicator_bytes,
                                   .shared_bytes = sizeof(pithp_rank_state),
                                   .hydra = pithp_environment("PMI_FD"),
                                   .closure = how->closure,
                                   .engine_ends = engine_ends,
                                   .world = w};
    pithp_deadline deadline = {.transport = w->transport,
                               .operation = s->function,
                               .site = s->site,
                               .rank = job->rank,
                               .size = job->size,
                               .timeout_ns = w->transport->process ? w->timeout_ns : -1,
                               .job = is_all ? job : NULL};
    pithp_deadline_begin(&deadline);
    const pith_status rc = w->transport->open(&joining, &w->joined, &t);
    pithp_deadline_end(&deadline);
    if (rc != PITH_OK)
        return pithp_fail(s, t.code, NULL, "%s: %s", s->function, t.text);
    w->own = w->transport->shared(w->joined.all, w->joined.node_rank);
    w->has_watch_memory = w->own != NULL;
    if (w->own)
        pithp_state_begin(w->own, w->joined.rank);
    return how->transport ? PITH_OK : check_size(s, job, &w->joined);
}

/* Join a connected world; its ranks fail together. */
static void unite(pith_scope *s, pithp_world *w, const pith_mesh_options *options) {
    pith_runtime *rt = s->runtime;
    __atomic_store_n((pithp_world **)&rt->room[PITHP_ROOM_MESH], w, __ATOMIC_RELEASE);
    shared_options shared = {.timeout_ns = w->timeout_ns, .compares = options->compare};
    if (!w->transport || w->joined.size == 1)
        return;
    if (pithp_mesh_watch_start(s, w) == PITH_OK)
        pithp_exit_watch(w);
    compare_ranks(s, w, &shared);
    w->compares = shared.compares != 0;
    __atomic_store_n(&w->timeout_ns, shared.timeout_ns, __ATOMIC_RELAXED);
    compare_node(s, w, options->share_device);
    if (pithp_collective_begin(
            s, &(pithp_intent){.operation = s->function, .what = "joined"}))
        pithp_collective_end(s);
}

/* Leave again after joining has failed, on all ranks that were reached. */
static void give_up(pith_scope *s, pithp_world *w) {
    s->runtime->room[PITHP_ROOM_MESH] = NULL;
    if (w->joined.all) {
        if (w->own)
            atomic_store(&w->own->phase, PITHP_PHASE_CLOSED);
        pithp_mesh_watch_stop(w);
        pithp_exit_forget(w);
        w->transport->close(w->joined.all, w->timeout_ns);
    }
    release_process(w);
    pithp_world_free(w);
}

pithp_world *
pithp_world_join(pith_scope *s, const pithp_join *how, const pith_mesh_options *options) {
    const pithp_job job = pithp_job_about();
    pithp_world spare, *w = make_world(s, &spare);
    if (!w)
        return NULL;
    const pithp_error before = s->error;
    s->error.code = PITH_OK; /* a failed scope joins too, so that no rank waits for it */
    w->timeout_ns = (int64_t)TIMEOUT_SECONDS * 1000000000;
    read_timeout(s, options->timeout, &w->timeout_ns); /* a rank with an error joins */
    const bool reached =
        choose_transport(s, how, &job, options->transport, &w->transport) == PITH_OK &&
        (!w->transport ||
         (claim_process(s, w) == PITH_OK && connect_world(s, w, how, &job) == PITH_OK));
    if (before.code != PITH_OK)
        s->error = before;
    if (reached)
        unite(s, w, options);
    if (s->error.code != PITH_OK) {
        give_up(s, w);
        return NULL;
    }
    pithp_room_hook(s->runtime, PITHP_ROOM_MESH, &hooks);
    return pithp_world_of(s->runtime);
}
