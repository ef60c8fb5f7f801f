/* Kernel reports: error messages for failed checks of a kernel body and faults of checked
 * kernels. */
#include "pith/kernel.h"

#include "gpu/collect.h"
#include "gpu/kernel/kernel_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* List the output arrays that use a size in their extents: " (of neighbour)". */
static void
describe_users(const pith_kernel_variant *k, const char *size, char *text, size_t room) {
    const size_t length = strlen(size);
    text[0] = 0;
    for (int i = 0; i < k->arg_count; i++) {
        const pith_kernel_arg *arg = &k->args[i];
        if (!pithp_kernel_is_made(arg->role))
            continue;
        for (const char *p = arg->extents; (p = strstr(p, size)); p += length)
            if (strchr("[,* ", p[-1]) && strchr("],+- ", p[length])) {
                const size_t at = strlen(text);
                snprintf(text + at, room - at, "%s%s%s", at ? ", " : " of ", arg->name,
                         arg->extents);
                break;
            }
    }
}

static int64_t number_of(uint64_t word) {
    const uint64_t low = ((uint64_t)1 << PITH_REPORT_BITS_) - 1;
    return (int64_t)(word & low) - ((int64_t)1 << (PITH_REPORT_BITS_ - 1));
}

/* The size that a report is about, or NULL. */
static const char *size_of(const pith_kernel_variant *k, const pith_report *report) {
    const uint64_t low = ((uint64_t)1 << PITH_REPORT_BITS_) - 1;
    const int32_t what = (int32_t)(report->what & low);
    for (int i = 0; what && i < k->arg_count; i++)
        if (k->args[i].offset == what - 1)
            return k->args[i].name;
    return NULL;
}

/* ---- Faults of checked kernels ---- */

/* "index 7", "several indices" */
static const char *index_text(int64_t index, char text[40]) {
    snprintf(text, 40, index < 0 ? "several indices" : "index %" PRId64, index);
    return text;
}

/* Describe the fault of an element of an argument. */
static void describe_fault(pithp_kernel_fault fault,
                           int64_t index,
                           int64_t at,
                           int64_t have,
                           char *t,
                           size_t room) {
    char other[40], expected[40];
    switch (fault) {
        case PITHP_FAULT_READ_RANGE:
        case PITHP_FAULT_WRITE_RANGE:
            snprintf(expected, sizeof expected,
                     have ? "expected 0 to %" PRId64 : "the array is empty", have - 1);
            snprintf(t, room,
                     "element %" PRId64 " is out of range, %s (%s at index %" PRId64 ")",
                     at, expected, fault == PITHP_FAULT_READ_RANGE ? "read" : "written",
                     index);
            return;
        case PITHP_FAULT_UNSET:
            snprintf(t, room,
                     "element %" PRId64 " of %" PRId64 " was not written by any index",
                     at, have);
            return;
        case PITHP_FAULT_READ_UNSET:
            snprintf(t, room,
                     "element %" PRId64 " is read before it is written (at index %" PRId64
                     "); an out with a fill starts with a value",
                     at, index);
            return;
        case PITHP_FAULT_WRITE_TWICE:
            snprintf(t, room,
                     "element %" PRId64 " is written by index %" PRId64 " and by %s", at,
                     index, index_text(have, other));
            return;
        case PITHP_FAULT_READ_OTHER:
            snprintf(t, room,
                     "element %" PRId64 " is read by index %" PRId64 " and written by %s",
                     at, index, index_text(have, other));
            return;
        case PITHP_FAULT_WRITE_READ:
            snprintf(t, room,
                     "element %" PRId64 " is written by index %" PRId64 " and read by %s",
                     at, index, index_text(have, other));
            return;
        case PITHP_FAULT_WRITE_IN:
            snprintf(t, room,
                     "element %" PRId64 " of an in is written (at index %" PRId64 ")", at,
                     index);
            return;
        case PITHP_FAULT_OUTSIDE:
            snprintf(t, room, "an access outside all arrays (at index %" PRId64 ")",
                     index);
            return;
        case PITHP_FAULT_NO_MEMORY:
            snprintf(t, room, "no memory for the copies of a checked kernel");
            return;
    }
}

static pith_status code_of(pithp_kernel_fault fault) {
    if (fault == PITHP_FAULT_NO_MEMORY)
        return PITH_E_MEMORY;
    return fault <= PITHP_FAULT_WRITE_RANGE || fault == PITHP_FAULT_OUTSIDE
               ? PITH_E_INDEX
               : PITH_E_CHECK;
}

static void describe_checked(const pith_kernel_variant *k,
                             const pith_report *report,
                             int64_t row,
                             int64_t index,
                             const char *site,
                             pithp_error *e) {
    const pithp_kernel_fault fault = (pithp_kernel_fault)(row / PITHP_FAULT_ARGS);
    const pith_kernel_arg *arg = &k->args[row % PITHP_FAULT_ARGS];
    const bool named = fault < PITHP_FAULT_OUTSIDE;
    char text[160];
    describe_fault(fault, index, number_of(report->need), number_of(report->have), text,
                   sizeof text);
    pithp_error_set(e, code_of(fault), NULL, site, "%s: %s%s%s%s (%s)", k->name,
                    named ? arg->name : "", named ? arg->extents : "", named ? ": " : "",
                    text, base_name(k->file));
}

/* ---- All reports ---- */

void pithp_kernel_describe(const void *subject,
                           const pith_report *report,
                           const char *site,
                           pithp_error *e) {
    const pith_kernel_variant *k = subject;
    const uint64_t low = ((uint64_t)1 << PITH_REPORT_BITS_) - 1;
    const uint64_t first = ~report->first;
    const int64_t index = (int64_t)(first & low);
    const int64_t line = (int64_t)(first >> PITH_REPORT_BITS_) - PITH_REPORT_FIRST_LINE_;
    const char *file = base_name(k->file), *size = size_of(k, report);
    if (line < 0) {
        describe_checked(k, report, line + PITH_REPORT_FIRST_LINE_, index, site, e);
        return;
    }
    if (size) {
        char users[256];
        describe_users(k, size, users, sizeof users);
        pithp_error_set(e, PITH_E_CAPACITY, NULL, site,
                        "%s: %s%s is too small: have %" PRId64 ", need %" PRId64
                        " (first at index %" PRId64 ", %s:%" PRId64 ")",
                        k->name, size, users, number_of(report->have),
                        number_of(report->need), index, file, line);
        return;
    }
    pithp_error_set(e, PITH_E_CHECK, NULL, site,
                    "%s: the check at %s:%" PRId64 " failed: first at index %" PRId64
                    ", greatest need %" PRId64,
                    k->name, file, line, index, number_of(report->need));
}

const char *pithp_kernel_lacks(const pithp_check_slot *slot, int64_t *need) {
    if (slot->describe != pithp_kernel_describe)
        return NULL;
    *need = number_of(slot->seen.need);
    return size_of(slot->subject, &slot->seen);
}
