/* Disk cache of compiled code: one file per key, written to a temporary file and renamed,
 * so that processes share a directory without locks. Because code is executed,
 * directories and files that other users can write are ignored. */
#include "base/bytes.h"
#include "base/environment.h"
#include "gpu/compile/toolchain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_LIMIT ((size_t)256 << 20)
#define LARGEST_IMAGE ((uint64_t)1 << 30)
static const uint64_t magic = 0x70697468636f6465u; /* "pithcode" */
static const char suffix[] = ".pith";
enum { NAME_BYTES = 40, KEY_DIGITS = 32, STALE_SECONDS = 3600 };

typedef struct entry_head {
    uint64_t magic;
    pithp_code_key key;
    uint64_t bytes; /* of the image that follows */
    pithp_code_key sum;
} entry_head;

static void name_of(pithp_code_key key, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "%016llx%016llx%s", (unsigned long long)key.high,
             (unsigned long long)key.low, suffix);
}

/* ---- The directory ---- */

/* "" if no variable names one. */
static void choose_directory(char *path, size_t room) {
    const char *own = pithp_environment("PITH_CACHE_DIR");
    const char *cache = pithp_environment("XDG_CACHE_HOME");
    const char *home = pithp_environment("HOME");
    int n = 0;
    path[0] = 0;
    if (own)
        n = snprintf(path, room, "%s", own);
    else if (cache &&
             cache[0] == '/') /* the specification says to ignore relative paths */
        n = snprintf(path, room, "%s/pith", cache);
    else if (home && home[0])
        n = snprintf(path, room, "%s/.cache/pith", home);
    if (n < 0 || (size_t)n >= room)
        path[0] = 0;
}

/* Create the directory and its parents. Returns errno of the first failure, or 0. */
static int make_directories(char *path) {
    int why = 0;
    for (char *p = path + 1;; p++) {
        const char c = *p;
        if (c && c != '/')
            continue;
        *p = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST && !why)
            why = errno;
        *p = c;
        if (!c)
            return why;
    }
}

static bool only_ours_to_write(const struct stat *st) {
    return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

void pithp_disk_open(pith_runtime *rt, pithp_disk *disk) {
    char path[4096];
    struct stat st;
    *disk = (pithp_disk){.directory = -1, .limit = DEFAULT_LIMIT};
    const char *limit = pithp_environment("PITH_CACHE_BYTES");
    if (limit && limit[0] && !pithp_parse_bytes(limit, &disk->limit))
        pithp_log(rt, PITH_LOG_WARNING,
                  "PITH_CACHE_BYTES is \"%.40s\", expected bytes such as 500000 or 2GiB",
                  limit);
    choose_directory(path, sizeof path);
    if (!path[0])
        return;
    const int why = make_directories(path);
    disk->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (disk->directory < 0) {
        pithp_log(rt, PITH_LOG_WARNING, "compiled code is not cached: %s: %s", path,
                  strerror(why ? why : errno));
        return;
    }
    if (fstat(disk->directory, &st) != 0 || !only_ours_to_write(&st)) {
        pithp_log(rt, PITH_LOG_WARNING,
                  "compiled code is not cached: other users can write to %s", path);
        pithp_disk_close(disk);
    }
}

void pithp_disk_close(pithp_disk *disk) {
    if (disk->directory >= 0)
        close(disk->directory);
    disk->directory = -1;
}

/* ---- Reading ---- */

static bool read_exactly(int file, void *to, size_t bytes) {
    char *p = to;
    while (bytes) {
        const ssize_t n = read(file, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool same(pithp_code_key a, pithp_code_key b) {
    return a.low == b.low && a.high == b.high;
}

/* Read and verify the entry of a key. Returns false if it is incomplete, changed or of
 * another key. */
static bool
read_entry(int file, uint64_t file_bytes, pithp_code_key key, pithp_string *image) {
    entry_head head;
    if (file_bytes < sizeof head || !read_exactly(file, &head, sizeof head) ||
        head.magic != magic || !same(head.key, key) || head.bytes > LARGEST_IMAGE ||
        file_bytes != sizeof head + head.bytes)
        return false;
    char piece[16384];
    for (uint64_t left = head.bytes; left;) {
        const size_t n = left < sizeof piece ? (size_t)left : sizeof piece;
        if (!read_exactly(file, piece, n))
            return false;
        pithp_string_add_n(image, piece, n);
        left -= n;
    }
    return image->failed || same(head.sum, pithp_code_sum(image->bytes, image->length));
}

pithp_disk_answer
pithp_disk_read(const pithp_disk *disk, pithp_code_key key, pithp_string *image) {
    char name[NAME_BYTES];
    struct stat st;
    if (disk->directory < 0)
        return PITHP_DISK_NONE;
    name_of(key, name);
    /* O_NONBLOCK: opening a FIFO without a writer would block */
    const int file =
        openat(disk->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return PITHP_DISK_NONE;
    pithp_disk_answer answer = PITHP_DISK_NONE;
    if (fstat(file, &st) == 0 && S_ISREG(st.st_mode) && only_ours_to_write(&st)) {
        if (!read_entry(file, (uint64_t)st.st_size, key, image)) {
            answer = PITHP_DISK_CORRUPTED;
            pithp_disk_remove(disk, key);
        } else if (!image->failed) {
            answer = PITHP_DISK_FOUND;
            (void)futimens(file,
                           NULL); /* mark as recently used, for the eviction order */
        }
    }
    close(file);
    return answer;
}

void pithp_disk_remove(const pithp_disk *disk, pithp_code_key key) {
    char name[NAME_BYTES];
    name_of(key, name);
    if (disk->directory >= 0)
        (void)unlinkat(disk->directory, name, 0);
}

/* ---- Writing and eviction ---- */

typedef struct aged_file {
    struct timespec used;
    size_t bytes;
    char name[NAME_BYTES];
} aged_file;

static int by_age(const void *a, const void *b) {
    const struct timespec *x = &((const aged_file *)a)->used,
                          *y = &((const aged_file *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool is_entry(const char *name) {
    return strspn(name, "0123456789abcdef") == KEY_DIGITS &&
           strcmp(name + KEY_DIGITS, suffix) == 0;
}

/* A temporary file that was never renamed. */
static bool is_stale(const char *name, const struct stat *st) {
    return strncmp(name, ".new-", 5) == 0 && st->st_mtime < time(NULL) - STALE_SECONDS;
}

/* List the entries; returns their bytes. Deletes stale temporary files. */
static size_t list_entries(DIR *all, pithp_string *files) {
    size_t total = 0;
    for (struct dirent *d = readdir(all); d; d = readdir(all)) {
        struct stat st;
        if (fstatat(dirfd(all), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if (is_stale(d->d_name, &st)) {
            (void)unlinkat(dirfd(all), d->d_name, 0);
        } else if (is_entry(d->d_name)) {
            aged_file file = {.used = st.st_mtim, .bytes = (size_t)st.st_size};
            memcpy(file.name, d->d_name, strlen(d->d_name) + 1);
            pithp_string_add_n(files, (const char *)&file, sizeof file);
            total += file.bytes;
        }
    }
    return total;
}

/* Evict the least recently used files until a quarter of the limit is free. */
static void keep_within(pith_runtime *rt, const pithp_disk *disk) {
    const int again = openat(disk->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = again < 0 ? NULL : fdopendir(again);
    if (!all) {
        if (again >= 0)
            close(again);
        return;
    }
    pithp_string files;
    pithp_string_begin(&files, rt);
    size_t total = list_entries(all, &files);
    if (total > disk->limit && !files.failed) {
        aged_file *file = (aged_file *)(void *)files.bytes;
        const size_t count = files.length / sizeof *file;
        qsort(file, count, sizeof *file, by_age);
        for (size_t i = 0; i < count && total > disk->limit / 4 * 3; i++) {
            (void)unlinkat(disk->directory, file[i].name, 0);
            total -= file[i].bytes;
        }
    }
    pithp_string_end(&files);
    closedir(all);
}

static bool write_exactly(int file, const void *from, size_t bytes) {
    const char *p = from;
    while (bytes) {
        const ssize_t n = write(file, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Write an entry to a temporary file and rename it. Returns 0 or errno. */
static int
write_entry(const pithp_disk *disk, pithp_code_key key, const char *image, size_t bytes) {
    static atomic_uint number;
    char aside[96], name[NAME_BYTES];
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(aside, sizeof aside, ".new-%ld-%u-%lx", (long)getpid(),
             atomic_fetch_add(&number, 1), now.tv_nsec);
    name_of(key, name);
    const int file = openat(disk->directory, aside,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    const entry_head head = {magic, key, bytes, pithp_code_sum(image, bytes)};
    int why = write_exactly(file, &head, sizeof head) && write_exactly(file, image, bytes)
                  ? 0
                  : errno;
    if (close(file) != 0 && !why)
        why = errno;
    if (!why && renameat(disk->directory, aside, disk->directory, name) != 0)
        why = errno;
    if (why)
        (void)unlinkat(disk->directory, aside, 0);
    return why;
}

void pithp_disk_write(pith_runtime *rt,
                      pithp_disk *disk,
                      pithp_code_key key,
                      const char *image,
                      size_t bytes) {
    if (disk->directory < 0 || bytes > disk->limit)
        return;
    const int why = write_entry(disk, key, image, bytes);
    if (!why) {
        keep_within(rt, disk);
    } else if (!atomic_exchange(&disk->told, true)) {
        char path[4096];
        choose_directory(path, sizeof path);
        pithp_log(rt, PITH_LOG_WARNING, "compiled code is not cached: %s: %s", path,
                  strerror(why));
    }
}
