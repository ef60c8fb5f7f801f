/* Host settings: threads, instruction set, memory limit and deferred execution. */
#include "base/bytes.h"
#include "base/environment.h"
#include "base/launcher.h"
#include "gpu/host/host.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#    include <cpuid.h>
#endif

enum { MOST_THREADS = 1024 };

#if defined(__x86_64__)
#    define ARCHITECTURE "x86-64"
#elif defined(__aarch64__)
#    define ARCHITECTURE "aarch64"
#else
#    define ARCHITECTURE "host"
#endif

static const struct {
    const char *option, *name;
} isas[PITHP_ISA_COUNT] = {
    [PITHP_ISA_BASE] = {"base", ARCHITECTURE},
    [PITHP_ISA_V3] = {"v3", ARCHITECTURE "-v3"},
    [PITHP_ISA_V4] = {"v4", ARCHITECTURE "-v4"},
};

const char *pithp_host_isa_name(pithp_isa isa) {
    return isas[isa].name;
}

#if defined(__x86_64__)
/* Features of a level that __builtin_cpu_supports cannot test. */
static bool has_movbe_f16c_lzcnt(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    const unsigned movbe = 1u << 22, f16c = 1u << 29, lzcnt = 1u << 5;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (movbe | f16c)) != (movbe | f16c))
        return false;
    return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c & lzcnt);
}

static pithp_isa isa_of_cpu(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
        !has_movbe_f16c_lzcnt())
        return PITHP_ISA_BASE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return PITHP_ISA_V3;
    return PITHP_ISA_V4;
}
#else
static pithp_isa isa_of_cpu(void) {
    return PITHP_ISA_BASE;
}
#endif

static pith_status read_isa(pithp_isa *isa, pithp_error *e) {
    const char *wish = pithp_environment("PITH_ISA");
    *isa = isa_of_cpu();
    if (!wish || !wish[0])
        return PITH_OK;
    for (int i = 0; i < PITHP_ISA_COUNT; i++) {
        if (strcmp(wish, isas[i].option) != 0)
            continue;
        if (i < (int)*isa)
            *isa = (pithp_isa)i;
        return PITH_OK;
    }
    pithp_error_set(e, PITH_E_ARG, NULL, NULL,
                    "PITH_ISA is \"%.40s\", expected base, v3 or v4", wish);
    return PITH_E_ARG;
}

/* Cores that this process may run on. */
static int cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (int)online;
}

/* Those of them that are due to this rank of a job. */
static int cores_of_rank(int all) {
    const pithp_job job = pithp_job_about();
    return pithp_job_threads(&job, all, (int)sysconf(_SC_NPROCESSORS_ONLN));
}

static int at_most(int most, int number) {
    return number < most ? number : most;
}

/* An invalid variable is an error even if an option takes precedence. */
static pith_status
read_threads(pithp_host_settings *settings, int asked, pithp_error *e) {
    const char *wish = pithp_environment("PITH_THREADS");
    const bool set = wish && wish[0];
    char *end = NULL;
    const long number = set ? strtol(wish, &end, 10) : 0;
    if (set && (*end || number < 1 || number > MOST_THREADS)) {
        pithp_error_set(e, PITH_E_ARG, NULL, NULL,
                        "PITH_THREADS is \"%.40s\", expected a number from 1 to %d", wish,
                        MOST_THREADS);
        return PITH_E_ARG;
    }
    settings->cores = asked || set ? 0 : at_most(MOST_THREADS, cores());
    settings->threads = asked ? at_most(MOST_THREADS, asked)
                        : set ? (int)number
                              : cores_of_rank(settings->cores);
    return PITH_OK;
}

static pith_status read_asynchronous(bool *asynchronous, pithp_error *e) {
    const char *wish = pithp_environment("PITH_HOST_ASYNC");
    *asynchronous = wish && strcmp(wish, "1") == 0;
    if (!wish || !wish[0] || *asynchronous || strcmp(wish, "0") == 0)
        return PITH_OK;
    pithp_error_set(e, PITH_E_ARG, NULL, NULL,
                    "PITH_HOST_ASYNC is \"%.40s\", expected 0 or 1", wish);
    return PITH_E_ARG;
}

static pith_status read_memory(size_t *memory, pithp_error *e) {
    const char *wish = pithp_environment("PITH_HOST_MEMORY");
    *memory = 0;
    if (!wish || !wish[0] || (wish[0] != '0' && pithp_parse_bytes(wish, memory)))
        return PITH_OK;
    pithp_error_set(
        e, PITH_E_ARG, NULL, NULL,
        "PITH_HOST_MEMORY is \"%.40s\", expected bytes such as 500000 or 2GiB", wish);
    return PITH_E_ARG;
}

pith_status
pithp_host_settings_read(pithp_host_settings *settings, int threads, pithp_error *e) {
    pith_status rc = PITH_OK;
    PITH_TRY(read_threads(settings, threads, e));
    PITH_TRY(read_isa(&settings->isa, e));
    PITH_TRY(read_memory(&settings->memory, e));
    PITH_TRY(read_asynchronous(&settings->asynchronous, e));
out:
    return rc;
}
