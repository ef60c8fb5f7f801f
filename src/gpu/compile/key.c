/* Cache keys of compiled code: a 128-bit hash (XXH3 by Y. Collet) of the text and
 * everything else the code depends on. Equal in all processes of a machine, and on
 * machines with equal processors. */
#include "gpu/compile/toolchain.h"

#define XXH_INLINE_ALL
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#if defined(__x86_64__)
#    include <cpuid.h>
#elif defined(__linux__)
#    include <sys/auxv.h>
#    include <sys/utsname.h>
#endif

/* Incremented when keys, compiler flags or the file format change. */
static const char generation[] = "pith code 2";

/* Hash the length too, so that different lists of strings have different bytes. */
static void add(XXH3_state_t *state, const char *text) {
    const uint64_t n = strlen(text);
    XXH3_128bits_update(state, &n, sizeof n);
    XXH3_128bits_update(state, text, n);
}

static pithp_code_key key_from(XXH128_hash_t hash) {
    return (pithp_code_key){.low = hash.low64, .high = hash.high64};
}

pithp_code_key pithp_code_key_of(const pithp_code_subject *subject) {
    XXH3_state_t state;
    const uint8_t flags = subject->options->file[0] != 0;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    add(&state, generation);
    add(&state, subject->compiler);
    add(&state, subject->target);
    XXH3_128bits_update(&state, &flags, sizeof flags);
    add(&state, subject->text);
    return key_from(XXH3_128bits_digest(&state));
}

pithp_code_key pithp_code_sum(const void *bytes, size_t n) {
    return key_from(XXH3_128bits(bytes, n));
}

#if defined(__x86_64__)

/* Family and features, without the words that identify a core of the machine. */
void pithp_processor_describe(char *text, size_t room) {
    unsigned a = 0, b = 0, c = 0, d = 0, e[8] = {0};
    if (!__get_cpuid(1, &a, &b, &c, &d))
        a = c = d = 0;
    if (!__get_cpuid_count(7, 0, &e[0], &e[1], &e[2], &e[3]))
        memset(e, 0, sizeof e);
    else if (e[0] >= 1)
        __get_cpuid_count(7, 1, &e[4], &e[5], &e[6], &e[7]);
    snprintf(text, room, "x86-64 %08x %08x %08x %08x %08x %08x %08x %08x", a, c, d, e[1],
             e[2], e[3], e[4], e[7]);
}

#elif defined(__linux__)

void pithp_processor_describe(char *text, size_t room) {
    struct utsname machine;
    if (uname(&machine) != 0)
        machine.machine[0] = 0;
    snprintf(text, room, "%s %lx %lx", machine.machine, getauxval(AT_HWCAP),
             getauxval(AT_HWCAP2));
}

#else

void pithp_processor_describe(char *text, size_t room) {
    snprintf(text, room, "unknown");
}

#endif
