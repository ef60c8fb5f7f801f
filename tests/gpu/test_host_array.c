/* Arrays in the host's memory, and how much of it there is. */
#include "fail_allocator.h"
#include "gpu/memory/available.h"
#include "gpu_test.h"

#include <dirent.h>
#include <pith/memory.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int files_in(const char *folder) {
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *f; (f = readdir(d));)
        count += f->d_name[0] != '.';
    closedir(d);
    return count;
}

static void check(const pith_host_array *a, pith_host_kind kind, const int32_t *like) {
    cr_assert(a->kind == kind && a->bytes == 4000 && (uintptr_t)a->data % 256 == 0);
    for (int i = 0; i < 1000; i++)
        cr_assert(((int32_t *)a->data)[i] == (like ? like[i] : 0));
    memset(a->data, 7, a->bytes);
}

Test(host_array, is_of_the_first_kind_that_there_is_room_for) {
    char folder[256];
    int32_t like[1000];
    for (int i = 0; i < 1000; i++)
        like[i] = i;
    pt_folder(folder);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open_in(s);
    const pith_shape shape = PITH_SHAPE(10, 100);
    pt_ok(s, pith_memory_set_pinned_budget(s, 10000));
    check(pith_host_make(t, PITH_I32, shape, NULL), PITH_HOST_PINNED, NULL);
    check(pith_host_make(t, PITH_I32, shape, &(pith_host_options){.like = like}),
          PITH_HOST_PINNED, like);
    cr_assert(pith_memory_pinned(rt) == 8000);
    check(pith_host_make(t, PITH_I32, shape, &(pith_host_options){.like = like}),
          PITH_HOST_PLAIN, like);
    pt_fails(PITH_E_MEMORY, t,
             pith_host_make(t, PITH_I32, shape, &(pith_host_options){.only = true}));
    pt_says("8000 of the budget of 10000");
    check(
        pith_host_make(t, PITH_I32, shape, &(pith_host_options){.kind = PITH_HOST_PLAIN}),
        PITH_HOST_PLAIN, NULL);
    for (int k = 0; k < 2; k++)
        check(pith_host_make(t, PITH_I32, shape,
                             &(pith_host_options){.kind = PITH_HOST_SPILLED,
                                                  .spill = folder,
                                                  .like = k ? like : NULL}),
              PITH_HOST_SPILLED, k ? like : NULL);
    cr_assert(files_in(folder) == 0, "the file has no name");
    pith_scope_close(t);
    cr_assert(pith_memory_pinned(rt) == 0);
    check(pith_host_make(s, PITH_I32, shape, NULL), PITH_HOST_PINNED, NULL);
    pith_scope_close(s);
    pt_close(rt);
    rmdir(folder);
}

Test(host_array, more_than_there_is_is_spilled_or_refused_with_numbers) {
    char folder[256];
    pt_folder(folder);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_shape shape = PITH_SHAPE(1 << 20, 1 << 24); /* 128 TiB */
    pt_fails(PITH_E_MEMORY, s, pith_host_make(s, PITH_F64, shape, NULL));
    pt_says("140737488355328 bytes of host memory requested");
    pt_fails(PITH_E_IO, s,
             pith_host_make(s, PITH_F64, shape, &(pith_host_options){.spill = folder}));
    pt_says(folder);
    pt_fails(PITH_E_IO, s,
             pith_host_make(s, PITH_F64, PITH_SHAPE(4),
                            &(pith_host_options){.kind = PITH_HOST_SPILLED,
                                                 .spill = "/nowhere/at/all"}));
    pt_says("/nowhere/at/all");
    pt_fails(PITH_E_ARG, s,
             pith_host_make(s, PITH_F64, PITH_SHAPE(4),
                            &(pith_host_options){.kind = PITH_HOST_SPILLED}));
    pt_fails(PITH_E_ARG, s,
             pith_host_make(s, PITH_F64, PITH_SHAPE(4),
                            &(pith_host_options){.kind = (pith_host_kind)8}));
    pt_fails(PITH_E_DTYPE, s, pith_host_make(s, (pith_dtype)99, PITH_SHAPE(4), NULL));
    pt_fails(PITH_E_SHAPE, s, pith_host_make(s, PITH_F64, PITH_SHAPE(-4), NULL));
    pt_fails(PITH_E_OVERFLOW, s,
             pith_host_make(s, PITH_F64, PITH_SHAPE(INT64_MAX, 8), NULL));
    const pith_host_array *none = pith_host_make(s, PITH_F64, PITH_SHAPE(0), NULL);
    pt_ok(s, none && none->bytes == 0 && none->data);
    cr_assert(files_in(folder) == 0);
    pith_scope_close(s);
    pt_close(rt);
    rmdir(folder);
}

/* ---- Spilling ---- */

static void write_all(const pith_host_array *a) {
    memset(a->data, 0x5a, a->bytes);
    for (size_t k = 0; k < a->bytes; k += 4093)
        cr_assert(((unsigned char *)a->data)[k] == 0x5a);
}

static void *refuse_large(void *closure, size_t bytes, size_t alignment) {
    (void)closure;
    return bytes > 1 << 20 ? NULL
                           : aligned_alloc(alignment, (bytes + alignment - 1) /
                                                          alignment * alignment);
}
static void release_any(void *closure, void *memory, size_t bytes, size_t alignment) {
    (void)closure, (void)bytes, (void)alignment;
    free(memory);
}

Test(host_array, spills_where_the_allocator_has_nothing) {
    char folder[256];
    pt_folder(folder);
    const pith_allocator allocator = {.allocate = refuse_large, .release = release_any};
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .allocator = &allocator});
    pith_scope *s = pith_scope_open(rt);
    const pith_shape shape = PITH_SHAPE(2 << 20);
    for (int kind = PITH_HOST_PINNED; kind <= PITH_HOST_PLAIN; kind++) {
        pith_host_options o = {.kind = (pith_host_kind)kind, .spill = folder};
        const pith_host_array *a = pith_host_make(s, PITH_U8, shape, &o);
        pt_ok(s, a && a->kind == PITH_HOST_SPILLED);
        write_all(a);
        o.only = true;
        pt_fails(PITH_E_MEMORY, s, pith_host_make(s, PITH_U8, shape, &o));
        o = (pith_host_options){.kind = (pith_host_kind)kind};
        pt_fails(PITH_E_MEMORY, s, pith_host_make(s, PITH_U8, shape, &o));
    }
    pith_scope_close(s);
    pith_close(rt);
    rmdir(folder);
}

/* More than the system has: in a file, or, where the disk is full too, an error; never in
 * memory, pinned or not. */
Test(host_array, spills_what_the_system_has_no_memory_for) {
    char folder[256];
    pt_folder(folder);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_shape shape = PITH_SHAPE((int64_t)pith_host_available() + (1 << 30));
    pt_ok(s, pith_memory_set_pinned_budget(s, SIZE_MAX));
    for (int kind = PITH_HOST_PINNED; kind <= PITH_HOST_PLAIN; kind++) {
        pith_scope *t = pith_scope_open_in(s);
        const pith_host_options o = {.kind = (pith_host_kind)kind, .spill = folder};
        const pith_host_array *a = pith_host_make(t, PITH_U8, shape, &o);
        if (a) {
            cr_assert_eq(a->kind, PITH_HOST_SPILLED);
            ((char *)a->data)[a->bytes - 1] = 1;
        } else {
            cr_assert(pith_code(t) == PITH_E_IO && strstr(pith_message(t), folder));
            pith_clear(t);
        }
        pith_scope_close(t);
        pt_fails(PITH_E_MEMORY, s,
                 pith_host_make(s, PITH_U8, shape,
                                &(pith_host_options){.kind = (pith_host_kind)kind}));
        pt_says("available");
    }
    cr_assert_eq(pith_memory_pinned(rt), 0);
    pith_scope_close(s);
    pt_close(rt);
    rmdir(folder);
}

/* Fills a disk of a MiB, if the user may mount one; an array that was made can be
 * written. */
Test(host_array, a_full_disk_is_an_error_at_once) {
    char folder[256];
    pt_folder(folder);
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=1m") != 0) {
        rmdir(folder);
        cr_skip_test("no file system of its own");
    }
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_host_options o = {.kind = PITH_HOST_SPILLED, .spill = folder};
    for (int round = 0; round < 5; round++) { /* nothing is left of those refused */
        pith_scope *t = pith_scope_open_in(s);
        const pith_host_array *a = pith_host_make(t, PITH_U8, PITH_SHAPE(700000), &o);
        pt_ok(t, a);
        write_all(a);
        pt_fails(PITH_E_IO, t, pith_host_make(t, PITH_U8, PITH_SHAPE(700000), &o));
        pt_says(folder);
        pt_says("700000 bytes");
        write_all(a);
        pith_scope_close(t);
    }
    pith_scope_close(s);
    pt_close(rt);
    umount(folder);
    rmdir(folder);
}

Test(host_array, a_folder_that_takes_no_files_is_an_error_that_names_it) {
    char folder[256];
    pt_folder(folder);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_host_options o = {.kind = PITH_HOST_SPILLED, .spill = folder};
    const pith_host_array *a = pith_host_make(s, PITH_U8, PITH_SHAPE(100000), &o);
    pt_ok(s, a);
    rmdir(folder); /* the file has no name: nothing is in it */
    write_all(a);
    pt_fails(PITH_E_IO, s, pith_host_make(s, PITH_U8, PITH_SHAPE(10), &o));
    pt_says(folder);
    o.spill = "/proc"; /* even root cannot write there */
    pt_fails(PITH_E_IO, s, pith_host_make(s, PITH_U8, PITH_SHAPE(10), &o));
    pt_says("/proc");
    o.spill = "/dev/null"; /* no folder */
    pt_fails(PITH_E_IO, s, pith_host_make(s, PITH_U8, PITH_SHAPE(10), &o));
    pt_says("/dev/null");
    write_all(a);
    pith_scope_close(s);
    pt_close(rt);
}

/* Lists of host arrays of every kind go to the device and come back. */
Test(host_array, of_every_kind_is_copied_on_the_stream_of_an_instance) {
    char folder[256];
    pt_folder(folder);
    enum { COUNT = 3000000 }; /* more than what is staged at a time */
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i = pith_instance_open(s, "part", NULL);
    const pith_host_array *in[3], *out[3];
    const pith_allocation *there[3];
    const void *from[3];
    void *to[3];
    for (int k = 0; k < 3; k++) {
        const pith_host_options o = {.kind = (pith_host_kind)k, .spill = folder};
        in[k] = pith_host_make(s, PITH_I32, PITH_SHAPE(COUNT), &o);
        out[k] = pith_host_make(s, PITH_I32, PITH_SHAPE(COUNT), &o);
        char label[2] = {(char)('a' + k), 0};
        there[k] = pith_instance_allocate(s, i,
                                          &(pith_request){.label = label,
                                                          .dtype = PITH_I32,
                                                          .shape = PITH_SHAPE(COUNT)});
        pt_ok(s, in[k] && out[k] && there[k]);
        for (int n = 0; n < COUNT; n++)
            ((int32_t *)in[k]->data)[n] = n * 3 + k;
        from[k] = in[k]->data;
        to[k] = out[k]->data;
    }
    pt_ok(s, pith_instance_to_device(s, i, 3, there, from));
    pt_ok(s, pith_instance_from_device(s, i, 3, there, to));
    for (int k = 0; k < 3; k++)
        cr_assert(memcmp(from[k], to[k], in[k]->bytes) == 0);
    pith_scope_close(s);
    pt_close(rt);
    rmdir(folder);
}

/* The block of a freed array is the next one of its size, and all zero; until it is
 * trimmed. */
Test(host_array, memory_of_a_freed_one_is_reused_and_cleared) {
    enum { COUNT = 1000000 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int kind = PITH_HOST_PINNED; kind <= PITH_HOST_PLAIN; kind++) {
        const pith_host_options o = {.kind = (pith_host_kind)kind, .only = true};
        pith_memory_trim(rt);
        const size_t before = pithp_bytes_allocated(rt);
        const void *first = NULL;
        for (int round = 0; round < 3; round++) {
            pith_scope *t = pith_scope_open_in(s);
            const pith_host_array *a = pith_host_make(t, PITH_I32, PITH_SHAPE(COUNT), &o);
            pt_ok(t, a && (!first || a->data == first));
            first = a->data;
            for (int n = 0; n < COUNT; n++)
                cr_assert(((int32_t *)a->data)[n] == 0);
            memset(a->data, 7, a->bytes);
            pith_scope_close(t);
        }
        cr_assert(pith_memory_pinned(rt) == 0);
        cr_assert(pithp_bytes_allocated(rt) >= before + COUNT * sizeof(int32_t));
        cr_assert(pith_memory_trim(rt) >= COUNT * sizeof(int32_t));
        cr_assert(pithp_bytes_allocated(rt) < before + COUNT * sizeof(int32_t));
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(host_array, memory_of_a_freed_one_is_not_kept_by_the_plain_allocator) {
    enum { BYTES = 4 << 20 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_memory_set_allocator(
                 s, &(pith_memory_allocator){.kind = PITH_ALLOCATOR_PLAIN}));
    const size_t before = pithp_bytes_allocated(rt);
    pith_scope *t = pith_scope_open_in(s);
    pt_ok(t, pith_host_make(t, PITH_U8, PITH_SHAPE(BYTES), NULL));
    pith_scope_close(t);
    cr_assert(pithp_bytes_allocated(rt) < before + BYTES);
    pith_scope_close(s);
    pt_close(rt);
}

/* What is kept of freed arrays has a limit. */
Test(host_array, little_memory_of_freed_ones_is_kept) {
    const size_t mib = (size_t)1 << 20, kept = 64 * mib;
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open_in(s);
    const size_t before = pithp_bytes_allocated(rt);
    for (size_t all = 0; all < 4 * kept; all += 18 * mib) {
        pt_ok(t, pith_host_make(t, PITH_U8, PITH_SHAPE(1 << 20), NULL));
        pt_ok(t, pith_host_make(t, PITH_U8, PITH_SHAPE(17 << 20), NULL));
    }
    cr_assert(pithp_bytes_allocated(rt) > before + 3 * kept);
    pith_scope_close(t);
    cr_assert(pithp_bytes_allocated(rt) < before + kept + mib);
    pith_scope_close(s);
    pt_close(rt);
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    for (int k = 0; k < 3; k++)
        pith_host_make(s, PITH_F64, PITH_SHAPE(10),
                       &(pith_host_options){
                           .kind = (pith_host_kind)k, .spill = P_tmpdir, .only = true});
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}
Test(host_array, every_allocation_may_fail) {
    cr_assert(pt_fail_each(scenario).errors > 0);
}

/* ---- What is available ---- */

static void put(const char *root, const char *path, const char *text) {
    char full[600];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *out = fopen(full, "w");
    cr_assert(out, "%s", full);
    fputs(text, out);
    fclose(out);
}

static void clear(const char *root) {
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    cr_assert(system(command) == 0);
}

#define MEMINFO                                                                          \
    "MemTotal:       1000000 kB\nMemFree:          10000 kB\n"                           \
    "MemAvailable:    900000 kB\nBuffers:          20000 kB\nCached:          500000 kB\n"

Test(available, caches_count_as_free) {
    char root[256];
    pt_folder(root);
    cr_assert(pithp_available_read(root) == 0, "not known");
    put(root, "/proc/meminfo", MEMINFO);
    cr_assert(pithp_available_read(root) == (size_t)900000 * 1024);
    put(root, "/proc/meminfo", "MemFree: 10 kB\nBuffers: 20 kB\nCached: 30 kB\n");
    cr_assert(pithp_available_read(root) == (size_t)60 * 1024, "an old kernel");
    clear(root);
    cr_assert(pith_host_available() > 0);
}

/* Unless so much was granted, which tests count on. */
Test(available, is_what_the_host_has_free_as_a_device) {
    unsetenv("PITH_HOST_MEMORY");
    pith_runtime *rt = pt_open();
    const size_t slack = (size_t)256 << 20;
    size_t free = 0, now = 0;
    bool same = false;
    for (int k = 0; k < 600 && !same; k++, usleep(100000)) { /* others take memory */
        free = pith_memory_about(rt).free;
        now = pith_host_available();
        same = free <= now + slack && now <= free + slack;
    }
    cr_assert(same, "%zu, %zu", free, now);
    cr_assert_eq(pith_memory_about(rt).total, pithp_installed_read(""));
    pt_close(rt);
    setenv("PITH_HOST_MEMORY", "3GiB", 1);
    rt = pt_open();
    cr_assert_eq(pith_memory_about(rt).free, (size_t)3 << 30);
    pt_close(rt);
    unsetenv("PITH_HOST_MEMORY");
}

Test(available, is_at_most_what_control_groups_allow) {
    char root[256];
    pt_folder(root);
    put(root, "/proc/meminfo", MEMINFO);
    cr_assert_eq(pithp_installed_read(root), (size_t)1000000 * 1024);
    put(root, "/proc/self/cgroup", "0::/a/b\n");
    put(root, "/sys/fs/cgroup/a/b/memory.max", "max\n");
    cr_assert_eq(pithp_installed_read(root), (size_t)1000000 * 1024);
    put(root, "/sys/fs/cgroup/a/memory.max", "100000\n");
    put(root, "/sys/fs/cgroup/a/memory.current", "60000\n");
    cr_assert_eq(pithp_installed_read(root), 100000);
    clear(root);
}

Test(available, keeps_to_what_control_groups_leave) {
    char root[256];
    pt_folder(root);
    put(root, "/proc/meminfo", MEMINFO);
    put(root, "/proc/self/cgroup", "0::/a/b\n");
    put(root, "/sys/fs/cgroup/a/b/memory.max", "max\n");
    put(root, "/sys/fs/cgroup/a/b/memory.current", "5000\n");
    cr_assert(pithp_available_read(root) == (size_t)900000 * 1024);
    put(root, "/sys/fs/cgroup/a/memory.max", "100000\n");
    put(root, "/sys/fs/cgroup/a/memory.current", "60000\n");
    cr_assert(pithp_available_read(root) == 40000, "of the group around it");
    put(root, "/sys/fs/cgroup/a/memory.stat",
        "anon 20000\nfile 40000\nactive_file 10000\ninactive_file 30000\n");
    cr_assert(pithp_available_read(root) == 70000, "caches of the group count as free");
    put(root, "/sys/fs/cgroup/a/b/memory.max", "6000\n");
    cr_assert(pithp_available_read(root) == 1000);
    put(root, "/sys/fs/cgroup/a/b/memory.current", "7000\n");
    cr_assert(pithp_available_read(root) == 0);
    /* the older kind */
    put(root, "/proc/self/cgroup", "7:cpu:/x\n4:hugetlb,memory:/c\n0::/nothing\n");
    put(root, "/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "50000\n");
    put(root, "/sys/fs/cgroup/memory/c/memory.usage_in_bytes", "20000\n");
    put(root, "/sys/fs/cgroup/memory/c/memory.stat", "total_inactive_file 5000\n");
    cr_assert(pithp_available_read(root) == 35000);
    /* inside a container the group is the root of what is seen */
    put(root, "/proc/self/cgroup", "0::/\n");
    put(root, "/sys/fs/cgroup/memory.max", "30000\n");
    put(root, "/sys/fs/cgroup/memory.current", "10000\n");
    cr_assert(pithp_available_read(root) == 20000);
    clear(root);
}
