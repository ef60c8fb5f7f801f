/* In the place of NVRTC: the text for CUDA behind the host's prologue, compiled by the
 * system's compiler. An image is 'A' or 'V' (arguments by address or by value), 'D' where
 * it decides, a digit for the version of NVRTC ('2' for 12), the bytes of a shared
 * library, and those. */
#include "gpu/compile/toolchain.h"
#include "gpu/compile/toolkit.h"
#include "program/cuda/cuda.h"
#include "program/host/math/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fake_rtc_link(void (*link)(const void *args, int64_t begin, int64_t end));

static int major; /* the version that was opened */

pith_status
pithp_rtc_open_for(int driver, char identity[PITHP_IDENTITY_BYTES], pithp_error *e) {
    (void)e;
    char name[64];
    if (!pithp_toolkit_name("nvrtc", driver, 0, name, sizeof name))
        return PITH_E_UNSUPPORTED;
    major = atoi(strrchr(name, '.') + 1);
    const pithp_code_key sum = pithp_code_sum(pithp_text_host, strlen(pithp_text_host));
    snprintf(identity, PITHP_IDENTITY_BYTES, "a fake of NVRTC %d, %llx", major,
             (unsigned long long)sum.low);
    return PITH_OK;
}

bool pithp_rtc_target_for(int arch,
                          const int *known,
                          int count,
                          pithp_rtc_target *target) {
    (void)known, (void)count;
    snprintf(target->name, sizeof target->name, "sm_%d", arch);
    target->ptx = false;
    return true;
}

/* The same text for the host. */
static void translate(pithp_string *to, const char *text, bool *decides) {
    const char *prologue = strstr(text, pithp_text_cuda);
    const char *rest = prologue + strlen(pithp_text_cuda);
    const size_t length = strlen(rest), graph = strlen(pithp_text_graph);
    *decides = length >= graph && strcmp(rest + length - graph, pithp_text_graph) == 0;
    pithp_string_add(to, pithp_text_host);
    pithp_math_text(to);
    pithp_string_add_n(to, rest, length - (*decides ? graph : 0));
}

pith_status pithp_rtc_compile(int arch,
                              const char *text,
                              const pithp_compile_options *options,
                              pithp_string *image,
                              pithp_string *log,
                              pithp_error *e) {
    (void)arch, (void)log;
    pithp_cc cc;
    pithp_string host, library;
    bool decides;
    if (!strstr(text, pithp_text_cuda)) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "the fake compiles what follows pith's prologue");
        return PITH_E_UNSUPPORTED;
    }
    pith_status rc = pithp_cc_open(image->rt, &cc, e);
    if (rc != PITH_OK)
        return rc;
    pithp_string_begin(&host, image->rt);
    pithp_string_begin(&library, image->rt);
    translate(&host, text, &decides);
    if (!host.failed)
        rc = pithp_cc_compile(image->rt, &cc, (pithp_isa)0, host.bytes, options, &library,
                              e);
    if (rc == PITH_OK && library.length) {
        const uint64_t bytes = library.length;
        const char kinds[3] = {strstr(text, "#define M_INDIRECT") ? 'A' : 'V',
                               decides ? 'D' : '-', (char)('0' + major - 10)};
        pithp_string_add_n(image, kinds, sizeof kinds);
        pithp_string_add_n(image, (const char *)&bytes, sizeof bytes);
        pithp_string_add_n(image, library.bytes, library.length);
    }
    if (rc == PITH_OK && (host.failed || library.failed || image->failed)) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory: no room for code");
        rc = PITH_E_MEMORY;
    }
    pithp_string_end(&host);
    pithp_string_end(&library);
    return rc;
}

void fake_rtc_link(void (*link)(const void *args, int64_t begin, int64_t end)) {
    pithp_function function = {.name = "pithp_math_link", .loops = {link}};
    pithp_module module = {.functions = &function};
    pithp_error e;
    pthread_mutex_init(&module.lock, NULL);
    pithp_math_link(&module, &e);
    pthread_mutex_destroy(&module.lock);
}
