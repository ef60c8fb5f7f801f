/* Distinct fused kernels of schedules, and their compilation by NVRTC. */
#include "kernels.h"

#include "gpu/compile/toolchain.h"
#include "program/emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *memory) {
    if (!memory) {
        fputs("no memory\n", stderr);
        abort();
    }
    return memory;
}

void kernels_begin(kernels *k, pith_runtime *rt) {
    *k = (kernels){.rt = rt};
}

void kernels_end(kernels *k) {
    for (int64_t n = 0; n < k->count; n++)
        free((void *)k->list[n].work.step);
    free(k->list);
    *k = (kernels){.rt = NULL};
}

static bool has(const kernels *k, const pithp_kernel_work *work, uint64_t hash) {
    for (int64_t n = 0; n < k->count; n++)
        if (k->list[n].hash == hash && pithp_kernel_alike(&k->list[n].work, work))
            return true;
    return false;
}

/* Copy a step: its plan is released before the kernels are compiled. */
static pithp_fused_step *copy_of(const pithp_fused_step *step) {
    pithp_fused_step *to = need(malloc(pithp_fused_bytes(step)));
    pithp_fused_copy(step, to, to); /* without sites: the plan owns them */
    return to;
}

void kernels_add(kernels *k, const pithp_schedule *schedule, const char *label) {
    k->decides |= schedule->control_count > 0;
    k->reduces |= schedule->reduces;
    for (int64_t f = 0; f < schedule->fused_count; f++) {
        const pithp_kernel_work *work = &schedule->fused[f];
        const uint64_t hash = pithp_fused_hash(work->step);
        if (has(k, work, hash))
            continue;
        if (k->count == k->room) {
            k->room = k->room ? 2 * k->room : 64;
            k->list = need(realloc(k->list, (size_t)k->room * sizeof *k->list));
        }
        kernels_one *to = &k->list[k->count++];
        to->hash = hash;
        to->work = *work;
        to->work.step = copy_of(work->step);
        snprintf(to->label, sizeof to->label, "%s", label);
    }
}

/* The text of a schedule with this work. */
static bool text_of(const kernels *k,
                    int64_t first,
                    int64_t count,
                    pith_runtime *rt,
                    pithp_string *t) {
    pithp_kernel_work *work = need(calloc((size_t)count + 1, sizeof *work));
    for (int64_t n = 0; n < count; n++)
        work[n] = k->list[first + n].work;
    const pithp_schedule schedule = {.runtime = rt,
                                     .prefix = "pith_step",
                                     .fused = work,
                                     .reduces = k->reduces,
                                     .fused_count = count,
                                     .control_count = k->decides};
    const bool made = pithp_schedule_cuda_text(t, &schedule, true);
    free(work);
    return made;
}

bool kernels_compile(const kernels *k,
                     int64_t first,
                     int64_t count,
                     int arch,
                     bool resources,
                     pithp_string *log) {
    pithp_string text, image;
    pithp_error e = {.code = PITH_OK};
    const pithp_compile_options options = {.name = "schedule", .resources = resources};
    pithp_string_begin(&text, k->rt);
    pithp_string_begin(&image, k->rt);
    bool done = text_of(k, first, count, k->rt, &text);
    if (!done) {
        pithp_string_add(log, "there is no text");
    } else if (pithp_rtc_compile(arch, text.bytes, &options, &image, log, &e)) {
        pithp_string_add(log, e.text);
        done = false;
    } else {
        done = resources ? !strstr(log->bytes, "warning") : log->length == 0;
    }
    if (k->image)
        pithp_string_add_n(k->image, image.bytes, image.length);
    pithp_string_end(&image);
    pithp_string_end(&text);
    return done;
}
