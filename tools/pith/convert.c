/* pith convert: converts checkpoints to and from files of other programs. */
#include "bundle.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const format *const formats[] = {&npz_format, &safetensors_format, &h5_format,
                                        NULL};

typedef enum kind { UNKNOWN, CHECKPOINT, LOG, FOREIGN } kind;

static kind kind_of(const char *path, const format **found) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    *found = NULL;
    if (!dot)
        return UNKNOWN;
    if (strcmp(dot, ".json") == 0)
        return CHECKPOINT;
    if (strcmp(dot, ".jsonl") == 0)
        return LOG;
    for (const format *const *f = formats; *f; f++)
        for (const char *const *e = (*f)->extensions; *e; e++)
            if (strcmp(dot + 1, *e) == 0)
                *found = *f;
    return *found ? FOREIGN : UNKNOWN;
}

static bool known(const char *path, kind k, const format *f, bool writes) {
    if (f && f->needs)
        become_formats();
    if (f && f->needs)
        complain("convert", "\"%s\": this pith was built without %s", path, f->needs);
    else if (k == UNKNOWN)
        complain(
            "convert",
            "\"%s\": expected a name that ends with .json, .npz, .safetensors or .h5",
            path);
    else if (k == LOG && writes)
        complain("convert", "\"%s\": logs can only be read", path);
    else
        return true;
    return false;
}

/* ---- Writing ---- */

static bool sync_path(pith_scope *s, const char *path, int flags) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | flags);
    const bool good = file >= 0 && fsync(file) == 0;
    if (!good)
        fail_io(s, path, "write");
    if (file >= 0)
        close(file);
    return good;
}

/* The final path of a written file: links are followed, and other files than regular ones
 * are refused, as by pith_save. *mode: permissions of the existing file, 0: none. NULL:
 * the scope has the error. */
static char *target_of(pith_scope *s, const char *path, mode_t *mode) {
    struct stat st;
    *mode = 0;
    if (lstat(path, &st) != 0 && errno == ENOENT)
        return text_of("%s", path);
    char *real = realpath(path, NULL);
    if (!real || stat(real, &st) != 0)
        fail_io(s, path, "write");
    else if (!S_ISREG(st.st_mode))
        pith_fail(s, PITH_E_IO, NULL, "cannot write \"%s\": it is not a regular file",
                  path);
    else
        *mode = st.st_mode & 07777;
    char *target = pith_failed(s) ? NULL : text_of("%s", real);
    free(real);
    return target;
}

/* Write under a temporary name, then sync and rename. */
static bool write_at(bundle *b, const format *f, const char *path, mode_t mode) {
    const char *slash = strrchr(path, '/');
    const int folder_length = slash ? (int)(slash - path) + 1 : 0;
    char *temporary =
        text_of("%.*s.pith-convert-%ld.tmp", folder_length, path, (long)getpid());
    char *folder = folder_length ? text_of("%.*s", folder_length, path) : text_of(".");
    bool good = access(folder, W_OK) == 0;
    if (!good)
        fail_io(b->s, path, "write");
    unlink(temporary); /* left by a dead process with this number */
    good = good && f->write(b, temporary);
    if (good && ((mode && chmod(temporary, mode) != 0) ||
                 !sync_path(b->s, temporary, 0) || rename(temporary, path) != 0)) {
        if (!pith_failed(b->s))
            fail_io(b->s, path, "write");
        good = false;
    }
    if (!good)
        unlink(temporary);
    good = good && sync_path(b->s, folder, O_DIRECTORY);
    free(folder);
    free(temporary);
    return good;
}

static bool write_foreign(bundle *b, const format *f, const char *path) {
    mode_t mode;
    char *target = target_of(b->s, path, &mode);
    if (!target)
        return false;
    bundle_rename(b, f->name_of);
    const bool good = write_at(b, f, target, mode);
    free(target);
    return good;
}

/* ---- The verb ---- */

static int convert(pith_scope *s, const command *c) {
    const char *from = c->words[0], *to = c->words[1];
    const format *source, *target;
    const kind from_kind = kind_of(from, &source), to_kind = kind_of(to, &target);
    bundle b = {.s = s};
    const bool read = from_kind == CHECKPOINT ? bundle_open_checkpoint(&b, from)
                      : from_kind == LOG      ? bundle_open_log(&b, from)
                                              : source->read(&b, from);
    const bool good = read && bundle_check_bools(&b, from) &&
                      (to_kind == CHECKPOINT ? bundle_save(&b, to, given(c, "--sidecar"))
                                             : write_foreign(&b, target, to));
    const bool damaged = pith_code(s) == PITH_E_FORMAT; /* also found during the copy */
    if (!good)
        complain("convert", "%s", pith_message(s));
    bundle_end(&b);
    return good ? SAME : damaged ? DIFFERENT : TROUBLE;
}

/* Run in a separate process, so that a crash of the library, on a bad file or after a
 * failed write, is a plain error. */
static int convert_apart(pith_scope *s, const command *c, bool reads) {
    fflush(stdout);
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
        const int code = convert(s, c);
        fflush(stdout);
        _exit(code);
    }
    if (child < 0)
        return complain("convert", "cannot start a process: %s", strerror(errno)),
               TROUBLE;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    complain("convert", "\"%s\": the library that %s it crashed (%s)",
             c->words[reads ? 0 : 1], reads ? "reads" : "writes",
             strsignal(WTERMSIG(status)));
    return reads ? DIFFERENT : TROUBLE;
}

static int run(pith_scope *s, const command *c) {
    const format *source, *target;
    const kind from = kind_of(c->words[0], &source), to = kind_of(c->words[1], &target);
    if (!known(c->words[0], from, source, false) || !known(c->words[1], to, target, true))
        return TROUBLE;
    if (given(c, "--sidecar") && to != CHECKPOINT)
        return complain("convert", "--sidecar is for checkpoints, .json"), TROUBLE;
    if (given(c, "--shard") && !given(c, "--mesh"))
        return complain("convert", "--shard is for a mesh: --mesh x=4"), TROUBLE;
    if (given(c, "--mesh") && (from != CHECKPOINT || to != CHECKPOINT))
        return complain("convert", "--mesh is from one checkpoint, .json, to another"),
               TROUBLE;
    if (given(c, "--mesh"))
        return convert_to_mesh(s, c);
    const bool reads = source && source->isolated, writes = target && target->isolated;
    return reads || writes ? convert_apart(s, c, reads) : convert(s, c);
}

static const option options[] = {
    {"--sidecar", NULL,
     "to .json: leave large leaves to a sidecar, as a saving program does", NULL, 0},
    {"--mesh", "X=N,...",
     "to .json: parts of N ranks along each axis, as a sharded tree is saved", NULL, 0},
    {"--shard", "PATH=AXES[:ROWS]",
     "with --mesh, several times: how the leaves at a path are sharded, and the leaf "
     "that counts their rows",
     NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

const verb convert_verb = {
    .name = "convert",
    .words = "FROM TO",
    .takes = "two files",
    .least = 2,
    .most = 2,
    .extensions = "json npz safetensors h5 jsonl",
    .summary = "to and from .npz, .safetensors, .h5 and .json in a single file",
    .more =
        "The ends of the names select the formats. Other formats carry the structure\n"
        "of a checkpoint beside its arrays, so that converting back gives the same\n"
        "checkpoint; dtypes and shapes may have changed in between. Without a\n"
        "structure, the arrays become a dict by their names, nested at slashes. The\n"
        "log of a run (.jsonl) gives its columns. The target is replaced when the new\n"
        "file is complete.",
    .options = options,
    .run = run};
