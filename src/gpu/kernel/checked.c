/* Checked kernels: a launch runs on copies of its arrays, each in the middle of a
 * reserved address range. So the address of any access identifies the argument and the
 * element, even far out of range. A shadow map of each written array records the writing
 * and the reading index of each element. */
#include "pith/kernel.h"

#include "gpu/kernel/kernel_internal.h"

#include <link.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

/* Unmapped bytes on each side of a copy: the range of a 32-bit index times 64 bytes.
 * ThreadSanitizer leaves 1.5 TiB for all mappings: 16 bytes there. If the system refuses
 * that much, less is mapped. */
#ifdef __SANITIZE_THREAD__
#    define GUARD ((size_t)1 << 35)
#else
#    define GUARD ((size_t)1 << 37)
#endif
#define LEAST_GUARD ((size_t)1 << 20)

/* Shadow values: 1 + index, with ATOMIC if all its writes were atomic operations, or one
 * of these. */
#define UNTOUCHED ((uint64_t)0)
#define ATOMIC    ((uint64_t)1 << 63)
#define SEVERAL   (~(uint64_t)0) /* several indices; for writers: by atomic operations */
#define FREE      (~(uint64_t)0 - 1) /* initialised before the kernel runs */

typedef struct shadow {
    uint64_t writer, reader;
} shadow;

typedef struct window {
    const pith_kernel_arg *arg;
    int number;       /* index of the argument */
    char *low, *high; /* the range of addresses */
    char *copy;       /* copy of the array */
    void *array;      /* the original array */
    size_t bytes, width;
    shadow *shadow; /* one per element; NULL for an input */
} window;

/* The launch that the thread runs. */
typedef struct checking {
    const pith_kernel_variant *kernel;
    pith_report *report;
    int64_t index;                 /* current index of the body */
    const char *stack;             /* frames of the body are below */
    const char *known, *known_end; /* range of the constants read last */
    int count;
    window windows[PITH_KERNEL_MAX_ARGS];
    _Alignas(16) unsigned char args[PITHP_KERNEL_ARGS_BYTES];
    jmp_buf leave;
} checking;

static _Thread_local checking *current;

/* ---- Memory ---- */

/* Zeroed memory, or NULL. Not from the runtime's allocator, because a loop has no
 * runtime. */
static void *map(size_t bytes, int protection) {
    void *p =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static size_t whole_pages(size_t bytes) {
    const size_t page = 4096 * 16; /* the largest pages in use are 64 KiB */
    return (bytes + page) / page * page;
}

static size_t elements(const window *w) {
    return w->bytes / w->width;
}

static bool open_window(window *w) {
    const size_t inside = whole_pages(w->bytes);
    size_t guard = GUARD;
    while (!(w->low = map(2 * guard + inside, PROT_NONE)) && guard > LEAST_GUARD)
        guard /= 2;
    if (!w->low)
        return false;
    w->high = w->low + 2 * guard + inside;
    w->copy = w->low + guard;
    if (mprotect(w->copy, inside, PROT_READ | PROT_WRITE) != 0)
        return false;
    return w->arg->role == PITH_ROLE_IN ||
           (w->shadow = map(whole_pages(elements(w) * sizeof *w->shadow),
                            PROT_READ | PROT_WRITE));
}

static void close_window(window *w) {
    if (w->low)
        munmap(w->low, (size_t)(w->high - w->low));
    if (w->shadow)
        munmap(w->shadow, whole_pages(elements(w) * sizeof *w->shadow));
}

/* ---- Faults ---- */

/* Only the first fault of a launch is reported, because later ones may follow from it. */
static void report(const checking *c,
                   pithp_kernel_fault fault,
                   int argument,
                   int64_t at,
                   int64_t other) {
    const uint64_t row = (uint64_t)fault * PITHP_FAULT_ARGS + (uint64_t)argument;
    pith_report_raise_(c->report, row, c->index, at, other, 0);
}

static _Noreturn void
leave(checking *c, pithp_kernel_fault fault, int argument, int64_t at, int64_t other) {
    report(c, fault, argument, at, other);
    longjmp(c->leave, 1);
}

static int64_t index_of(uint64_t mark) {
    return mark == SEVERAL ? -1 : (int64_t)((mark & ~ATOMIC) - 1);
}

static bool is_other(uint64_t mark, uint64_t me) {
    return mark != UNTOUCHED && mark != FREE && mark != me && mark != (me | ATOMIC);
}

/* ---- Accesses ---- */

static void read_element(checking *c, const window *w, int64_t at) {
    const uint64_t me = (uint64_t)c->index + 1;
    shadow *x = &w->shadow[at];
    if (x->writer == UNTOUCHED)
        leave(c, PITHP_FAULT_READ_UNSET, w->number, at, 0);
    if (is_other(x->writer, me))
        leave(c, PITHP_FAULT_READ_OTHER, w->number, at, index_of(x->writer));
    if (!is_other(x->reader, me)) /* otherwise a write by this index fails as well */
        x->reader = me;
}

static void write_element(checking *c, const window *w, int64_t at) {
    const uint64_t me = (uint64_t)c->index + 1;
    shadow *x = &w->shadow[at];
    if (is_other(x->writer, me))
        leave(c, PITHP_FAULT_WRITE_TWICE, w->number, at, index_of(x->writer));
    if (is_other(x->reader, me))
        leave(c, PITHP_FAULT_WRITE_READ, w->number, at, index_of(x->reader));
    x->writer = me;
}

static void update_element(checking *c, const window *w, int64_t at) {
    const uint64_t me = (uint64_t)c->index + 1;
    shadow *x = &w->shadow[at];
    if (x->writer == UNTOUCHED)
        leave(c, PITHP_FAULT_READ_UNSET, w->number, at, 0);
    if (is_other(x->writer, me) && !(x->writer & ATOMIC))
        leave(c, PITHP_FAULT_WRITE_TWICE, w->number, at, index_of(x->writer));
    if (is_other(x->reader, me))
        leave(c, PITHP_FAULT_WRITE_READ, w->number, at, index_of(x->reader));
    if (is_other(x->writer, me))
        x->writer = SEVERAL;
    else if (x->writer != me)
        x->writer = me | ATOMIC;
}

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static void access_window(checking *c,
                          const window *w,
                          const char *p,
                          size_t bytes,
                          pith_access access) {
    const int64_t width = (int64_t)w->width, count = (int64_t)elements(w);
    const int64_t first = floor_divide(p - w->copy, width);
    const int64_t last = floor_divide(p + bytes - 1 - w->copy, width);
    const bool reads = access == PITH_ACCESS_READ || access == PITH_ACCESS_ATOMIC_READ;
    if (first < 0 || last >= count)
        leave(c, reads ? PITHP_FAULT_READ_RANGE : PITHP_FAULT_WRITE_RANGE, w->number,
              first < 0 || first >= count ? first : count, count);
    if (!w->shadow && !reads)
        leave(c, PITHP_FAULT_WRITE_IN, w->number, first, 0);
    for (int64_t at = first; w->shadow && at <= last; at++)
        if (access == PITH_ACCESS_READ)
            read_element(c, w, at);
        else if (access == PITH_ACCESS_WRITE)
            write_element(c, w, at);
        else if (access == PITH_ACCESS_ATOMIC_UPDATE)
            update_element(c, w, at);
}

/* Whether an address is in a segment of a loaded program or library, that is, a
 * constant. */
static int find_segment(struct dl_phdr_info *info, size_t bytes, void *closure) {
    checking *c = closure;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const char *begin = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        if (info->dlpi_phdr[i].p_type == PT_LOAD && c->known >= begin &&
            c->known < begin + info->dlpi_phdr[i].p_memsz) {
            c->known = begin;
            c->known_end = begin + info->dlpi_phdr[i].p_memsz;
            return 1;
        }
    }
    return 0;
}

static bool is_constant(checking *c, const char *p) {
    if (p >= c->known && p < c->known_end)
        return true;
    c->known = p;
    c->known_end = NULL;
    return dl_iterate_phdr(find_segment, c) != 0;
}

static bool is_within(const char *p, const void *object, size_t bytes) {
    return p >= (const char *)object && p < (const char *)object + bytes;
}

void pith_kernel_access(const void *address, size_t bytes, pith_access access) {
    checking *c = current;
    const char *p = address;
    if (!c || bytes == 0)
        return;
    if (p < c->stack && p > (const char *)__builtin_frame_address(0))
        return;
    for (int i = 0; i < c->count; i++)
        if (p >= c->windows[i].low && p < c->windows[i].high) {
            access_window(c, &c->windows[i], p, bytes, access);
            return;
        }
    if (!is_within(p, c->args, sizeof c->args) &&
        !is_within(p, c->report, sizeof *c->report) && !is_constant(c, p))
        leave(c, PITHP_FAULT_OUTSIDE, 0, 0, 0);
}

/* ---- The launch ---- */

static bool has_values(const pith_kernel_arg *arg) {
    return arg->role != PITH_ROLE_OUT || arg->filled;
}

/* Make the copy of an array, and pass its address in the arguments. */
static bool open_array(checking *c, int argument) {
    const pith_kernel_arg *arg = &c->kernel->args[argument];
    window *w = &c->windows[c->count++];
    int64_t count;
    memcpy(&count, c->args + c->kernel->counts + argument * (int)sizeof count,
           sizeof count);
    *w = (window){.arg = arg, .number = argument, .width = pith_dtype_size(arg->dtype)};
    w->bytes = (size_t)count * w->width;
    memcpy(&w->array, c->args + arg->offset, sizeof w->array);
    if (!open_window(w))
        return false;
    memcpy(c->args + arg->offset, &w->copy, sizeof w->copy);
    if (has_values(arg) && w->bytes)
        memcpy(w->copy, w->array, w->bytes);
    for (size_t i = 0; w->shadow && has_values(arg) && i < elements(w); i++)
        w->shadow[i].writer = FREE;
    return true;
}

static bool open_arrays(checking *c) {
    for (int i = 0; i < c->kernel->arg_count; i++)
        if (c->kernel->args[i].extents && !open_array(c, i))
            return false;
    return true;
}

static void close_arrays(checking *c) {
    for (int i = 0; i < c->count; i++) {
        window *w = &c->windows[i];
        if (w->shadow && w->bytes)
            memcpy(w->array, w->copy, w->bytes);
        close_window(w);
    }
}

static void run(checking *c, int64_t count, pith_kernel_body body) {
    current = c;
    if (setjmp(c->leave) == 0)
        for (c->index = 0; c->index < count; c->index++)
            body(c->args, c->index);
    current = NULL;
}

/* Check that every element of an output was written, unless a check failed. */
static void check_outs(checking *c) {
    c->index = 0;
    for (int i = 0; i < c->count && c->report->first == 0; i++) {
        const window *w = &c->windows[i];
        for (size_t at = 0; w->shadow && at < elements(w); at++)
            if (w->shadow[at].writer == UNTOUCHED) {
                report(c, PITHP_FAULT_UNSET, w->number, (int64_t)at,
                       (int64_t)elements(w));
                break;
            }
    }
}

void pith_kernel_run_checked(const pith_kernel_variant *kernel,
                             const void *args,
                             pith_kernel_body body) {
    checking c = {.kernel = kernel, .stack = __builtin_frame_address(0)};
    pith_kernel_frame frame;
    if (!kernel || !args || !body)
        return;
    memcpy(&frame, args, sizeof frame);
    memcpy(c.args, args, (size_t)kernel->args_bytes);
    c.report = frame.report;
    if (open_arrays(&c)) {
        run(&c, frame.n * frame.m, body);
        check_outs(&c);
    } else
        report(&c, PITHP_FAULT_NO_MEMORY, 0, 0, 0);
    close_arrays(&c);
}
