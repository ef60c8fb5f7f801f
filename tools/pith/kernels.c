/* pith kernels: an archive of compiled kernel files, for builds without CMake. The passes
 * and their options are those of pith_add_kernels; CMake hands its options to this file
 * as PASS_*. */
#include "command.h"
#include "tool.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One run of the verb. Texts are owned. */
typedef struct build {
    const command *c;
    char *folder;                   /* temporary: the sources and objects */
    char *objects;                  /* by spaces */
    char *include;                  /* -I of the installed headers, or "" */
    const char *cc, *cflags, *nvcc; /* nvcc NULL: no CUDA pass */
    const char *reals[2];
    int real_count, object_count;
    bool checked, x86, clang;
} build;

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* A text as one word of a shell. */
static char *word_of(const char *text) {
    char *word = text_of("'");
    for (; *text; text++) {
        char *longer =
            *text == '\'' ? text_of("%s'\\''", word) : text_of("%s%c", word, *text);
        free(word);
        word = longer;
    }
    char *whole = text_of("%s'", word);
    free(word);
    return whole;
}

/* The exit code of a command, whose messages are the caller's to see. */
static int execute(const char *line) {
    fflush(stdout);
    const int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static bool succeeds(const char *program, const char *rest) {
    char *line = text_of("%s %s", program, rest);
    const bool ok = execute(line) == 0;
    free(line);
    return ok;
}

static bool read_reals(build *b) {
    const char *list = given_value(b->c, "--real");
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        const char *real = length == 3 && strncmp(list, "f32", 3) == 0   ? "f32"
                           : length == 3 && strncmp(list, "f64", 3) == 0 ? "f64"
                                                                         : NULL;
        if (!real || b->real_count == 2 || (b->real_count && b->reals[0] == real)) {
            complain("kernels", "--real takes f32, f64 or f32,f64, got \"%s\"",
                     given_value(b->c, "--real"));
            return false;
        }
        b->reals[b->real_count++] = real;
        list += length + (list[length] == ',');
    }
    return true;
}

/* The compilers of the caller, and the headers beside this program. */
static bool find_tools(build *b) {
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
    b->cc = variable("CC", "cc");
    b->cflags = variable("CFLAGS", "");
    b->nvcc = getenv("NVCC");
    b->include = text_of("%s", "");
    if (!succeeds(b->cc, "--version >/dev/null 2>&1")) {
        complain("kernels", "no C compiler: \"%s\" does not run; CC names another",
                 b->cc);
        return false;
    }
    if (b->nvcc && !*b->nvcc)
        b->nvcc = NULL;
    if (b->nvcc && !succeeds(b->nvcc, "--version >/dev/null 2>&1")) {
        complain("kernels", "NVCC is \"%s\", which does not run", b->nvcc);
        return false;
    }
    b->x86 = succeeds(b->cc, "-dumpmachine 2>/dev/null | grep -q '^x86_64'");
    b->clang = succeeds(b->cc, "--version 2>/dev/null | grep -q clang");
    if (slash) {
        strcpy(slash, "/../include/pith/kernel.h");
        if (access(path, R_OK) == 0) {
            strcpy(slash, "/../include");
            char *word = word_of(path);
            free(b->include);
            b->include = text_of("-I%s", word);
            free(word);
        }
    }
    return true;
}

/* ---- One pass ---- */

static const char *options_of(const build *b, const char *pass) {
    if (strcmp(pass, "CUDA") == 0)
        return PASS_CUDA;
    return b->checked ? PASS_CHECKED : PASS_ALL;
}

/* The source of a pass: definitions, and the file. */
static bool write_source(const build *b,
                         const char *source,
                         const char *file,
                         const char *pass,
                         int real) {
    FILE *out = fopen(source, "w");
    if (!out)
        return false;
    fprintf(out, "#define PITH_KERNEL_PASS PITH_PASS_%s\n", pass);
    if (b->checked)
        fputs("#define PITH_KERNEL_CHECKED 1\n", out);
    if (b->real_count)
        fprintf(out, "#define PITH_KERNEL_REAL %s\n", b->reals[real]);
    if (strcmp(pass, "BASE") == 0) {
        int reals = 0;
        for (int i = 0; i < b->real_count; i++)
            reals |= strcmp(b->reals[i], "f32") == 0 ? 1 : 2;
        if (b->x86 && !b->checked)
            fputs("#define PITH_KERNEL_WITH_X86 1\n", out);
        if (b->nvcc)
            fputs("#define PITH_KERNEL_WITH_CUDA 1\n", out);
        if (real == 0)
            fprintf(out, "#define PITH_KERNEL_REALS %d\n", reals);
    }
    fprintf(out, "#include \"%s\"\n", file);
    return fclose(out) == 0;
}

static bool compile(build *b, const char *file, const char *pass, int real) {
    const bool cuda = strcmp(pass, "CUDA") == 0;
    const char *clang = b->checked ? PASS_CLANG " " PASS_CHECKED_CLANG : PASS_CLANG;
    const char *isa = strcmp(pass, "V3") == 0   ? PASS_V3
                      : strcmp(pass, "V4") == 0 ? PASS_V4
                                                : "";
    char *source = text_of("%s/%d.%s", b->folder, b->object_count, cuda ? "cu" : "c");
    char *object = text_of("%s/%d.o", b->folder, b->object_count++);
    char *line =
        cuda ? text_of("%s %s %s %s -c '%s' -o '%s'", b->nvcc, options_of(b, pass),
                       variable("NVCCFLAGS", "-arch=all-major"), b->include, source,
                       object)
             : text_of("%s -std=c17 -fPIC %s %s %s %s %s -c '%s' -o '%s'", b->cc,
                       b->cflags, options_of(b, pass), isa, b->clang ? clang : "",
                       b->include, source, object);
    bool ok = write_source(b, source, file, pass, real);
    if (!ok)
        complain("kernels", "%s: %s", source, strerror(errno));
    else if (execute(line) != 0) {
        complain("kernels", "%s: the compiler failed (pass %s%s%s)", file, pass,
                 b->real_count ? ", real " : "", b->real_count ? b->reals[real] : "");
        ok = false;
    }
    char *objects = text_of("%s '%s'", b->objects, object);
    free(b->objects);
    b->objects = objects;
    free(line);
    free(object);
    free(source);
    return ok;
}

static bool compile_file(build *b, const char *name) {
    char *file = realpath(name, NULL);
    if (!file) {
        complain("kernels", "%s: %s", name, strerror(errno));
        return false;
    }
    bool ok = true;
    for (int real = 0; ok && real < (b->real_count ? b->real_count : 1); real++) {
        ok = compile(b, file, "BASE", real);
        if (ok && b->x86 && !b->checked)
            ok = compile(b, file, "V3", real) && compile(b, file, "V4", real);
        if (ok && b->nvcc)
            ok = compile(b, file, "CUDA", real);
    }
    free(file);
    return ok;
}

/* ---- The archive ---- */

/* Made anew: ar alone would add to an old one. */
static bool archive(const build *b) {
    const char *output = given_value(b->c, "--output");
    char *word = word_of(output);
    char *line =
        text_of("rm -f %s && %s rcs %s %s", word, variable("AR", "ar"), word, b->objects);
    const bool ok = execute(line) == 0;
    if (!ok)
        complain("kernels", "%s was not made", output);
    free(line);
    free(word);
    return ok;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int run(pith_scope *s, const command *c) {
    build b = {.c = c, .checked = given(c, "--checked")};
    (void)s;
    if (!given_value(c, "--output")) {
        complain("kernels", "--output FILE is missing");
        return TROUBLE;
    }
    if (!read_reals(&b))
        return TROUBLE;
    b.folder = text_of("%s/pith-kernels-XXXXXX", variable("TMPDIR", "/tmp"));
    b.objects = text_of("%s", "");
    bool ok = find_tools(&b) && mkdtemp(b.folder);
    for (int i = 0; ok && i < c->word_count; i++)
        ok = compile_file(&b, c->words[i]);
    ok = ok && archive(&b);
    nftw(b.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(b.folder);
    free(b.objects);
    free(b.include);
    return ok ? SAME : TROUBLE;
}

static const option options[] = {
    {"--real", "LIST",
     "the dtypes of real: f32, f64 or f32,f64; without it, there is no real",
     "f32 f64 f32,f64", 0},
    {"--output", "FILE", "the archive", NULL, 'o'},
    {"--checked", NULL, "a checked build: see <pith/kernel.h>", NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

const verb kernels_verb = {
    .name = "kernels",
    .words = "FILE...",
    .takes = "kernel files",
    .least = 1,
    .most = -1,
    .extensions = "h",
    .summary = "compile kernel files into an archive for programs",
    .more =
        "CC, CFLAGS and AR name the C compiler, its options and the archiver. If NVCC is\n"
        "set, the kernels are compiled for CUDA too, with the options NVCCFLAGS.\n"
        "share/pith/pith.mk has a rule for make.",
    .options = options,
    .run = run};
