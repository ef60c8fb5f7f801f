/* Bytes that registers of kernels spill, beside the list of what they may. */
#ifndef PITH_TESTS_CUDA_SPILLS_H
#define PITH_TESTS_CUDA_SPILLS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPILLS_NAME_BYTES = 128 };

/* What the list allows. */
static inline long spills_allowed(const char *list, const char *kernel, int arch) {
    char line[256], name[SPILLS_NAME_BYTES];
    int listed_arch = 0;
    long bytes = 0, allowed = 0;
    FILE *file = fopen(list, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        if (line[0] != '#' &&
            sscanf(line, "%127s sm_%d %ld", name, &listed_arch, &bytes) == 3 &&
            listed_arch == arch && !strcmp(name, kernel))
            allowed = bytes;
    fclose(file);
    return allowed;
}

/* How many kernels of a log with resources (see pithp_compile_options) spill more than
 * they may; prints lines for the list. kernels: how many it has.
 *
 * @param name Makes the name in the list of the one in the text. */
static inline int spills_grown(const char *log,
                               const char *list,
                               int arch,
                               void (*name)(char to[SPILLS_NAME_BYTES],
                                            const char *function,
                                            const void *closure),
                               const void *closure,
                               int *kernels) {
    static const char entry[] = "Compiling entry function '";
    char function[SPILLS_NAME_BYTES], kernel[SPILLS_NAME_BYTES];
    int grown = 0;
    for (const char *at = strstr(log, entry), *next; at; at = next) {
        next = strstr(at + 1, entry);
        const char *end = strstr(at, " bytes spill stores"), *number = end;
        ++*kernels;
        if (sscanf(at + sizeof entry - 1, "%127[^']", function) != 1 || !end ||
            (next && end > next)) {
            printf("the log has no spills of a kernel: %.200s\n", at);
            grown++;
            continue;
        }
        while (number[-1] >= '0' && number[-1] <= '9')
            number--;
        const long bytes = strtol(number, NULL, 10);
        name(kernel, function, closure);
        const long allowed = spills_allowed(list, kernel, arch);
        if (bytes > allowed) {
            printf("%s sm_%d %ld (%ld are allowed)\n", kernel, arch, bytes, allowed);
            grown++;
        }
    }
    return grown;
}

#endif
