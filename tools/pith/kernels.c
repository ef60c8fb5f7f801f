/* pith kernels: compiles kernel files to an archive, for builds without CMake. Passes and
 * options are those of pith_add_kernels: CMake generates kernel_passes.def from its list,
 * and defines the options of all host passes as KERNEL_*. */
#include "command.h"
#include "tool.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Requirement of a pass. */
typedef enum needs { NEEDS_NONE, NEEDS_X86, NEEDS_CUDA, NEEDS_COUNT } needs;

/* A pass over a kernel file. The first has no requirements, and its source states which
 * others are linked. */
typedef struct pass {
    const char *name, *extension;
    needs needs;
    const char *builds; /* "checked": all builds, or "unchecked" */
    const char *options;
} pass;
static const pass passes[] = {
#define PASS(...) {__VA_ARGS__},
#include "kernel_passes.def"
#undef PASS
};
enum { PASSES = sizeof passes / sizeof *passes };
static const char *const with[NEEDS_COUNT] =
    {[NEEDS_X86] = "PITH_KERNEL_WITH_X86", [NEEDS_CUDA] = "PITH_KERNEL_WITH_CUDA"};

/* State of one run. Texts are owned. */
typedef struct build {
    const command *c;
    char *folder;                   /* temporary, for sources and objects */
    char *objects;                  /* space-separated */
    char *include;                  /* -I of the installed headers, or "" */
    const char *cc, *cflags, *nvcc; /* nvcc NULL: no CUDA pass */
    const char *reals[2];
    int real_count, object_count;
    bool checked, clang;
    bool has[NEEDS_COUNT];
} build;

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* Quote a text for the shell. */
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

/* Run a command; returns its exit code. Its messages go to the user. */
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

/* Find the user's compilers, and the headers installed with this program. */
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
    b->has[NEEDS_NONE] = true;
    b->has[NEEDS_CUDA] = b->nvcc != NULL;
    b->has[NEEDS_X86] = succeeds(b->cc, "-dumpmachine 2>/dev/null | grep -q '^x86_64'");
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

static bool takes_part(const build *b, const pass *p) {
    return b->has[p->needs] && !(b->checked && strcmp(p->builds, "unchecked") == 0);
}

/* Write which other passes are linked, for the source of the first pass. */
static void write_linked(const build *b, FILE *out, int real) {
    int reals = 0;
    for (int i = 0; i < b->real_count; i++)
        reals |= strcmp(b->reals[i], "f32") == 0 ? 1 : 2;
    for (needs n = NEEDS_NONE + 1; n < NEEDS_COUNT; n++) {
        bool linked = false;
        for (int i = 0; i < PASSES; i++)
            linked |= passes[i].needs == n && takes_part(b, &passes[i]);
        if (linked)
            fprintf(out, "#define %s 1\n", with[n]);
    }
    if (real == 0)
        fprintf(out, "#define PITH_KERNEL_REALS %d\n", reals);
}

/* Write the source of a pass: definitions and an include of the file. */
static bool write_source(const build *b,
                         const char *source,
                         const char *file,
                         const pass *p,
                         int real) {
    FILE *out = fopen(source, "w");
    if (!out)
        return false;
    fprintf(out, "#define PITH_KERNEL_PASS PITH_PASS_%s\n", p->name);
    if (b->checked)
        fputs("#define PITH_KERNEL_CHECKED 1\n", out);
    if (b->real_count)
        fprintf(out, "#define PITH_KERNEL_REAL %s\n", b->reals[real]);
    if (p->needs == NEEDS_NONE)
        write_linked(b, out, real);
    fprintf(out, "#include \"%s\"\n", file);
    return fclose(out) == 0;
}

/* The compiler and its options; owned. */
static char *compiler_of(const build *b, const pass *p) {
    if (p->needs == NEEDS_CUDA)
        return text_of("%s %s %s", b->nvcc, p->options,
                       variable("NVCCFLAGS", "-arch=all-major"));
    return text_of("%s -std=c17 -fPIC %s %s %s %s %s", b->cc, b->cflags,
                   b->checked ? KERNEL_CHECKED_FLAGS " " KERNEL_CHECKED_CALL_FLAGS
                              : KERNEL_FLAGS,
                   b->clang ? KERNEL_CLANG_FLAGS : "",
                   b->clang && b->checked ? KERNEL_CHECKED_CLANG_FLAGS : "", p->options);
}

static bool compile(build *b, const char *file, const pass *p, int real) {
    char *source = text_of("%s/%d.%s", b->folder, b->object_count, p->extension);
    char *object = text_of("%s/%d.o", b->folder, b->object_count++);
    char *from = word_of(source), *to = word_of(object), *compiler = compiler_of(b, p);
    char *line = text_of("%s %s -c %s -o %s", compiler, b->include, from, to);
    bool ok = write_source(b, source, file, p, real);
    if (!ok)
        complain("kernels", "%s: %s", source, strerror(errno));
    else if (execute(line) != 0) {
        complain("kernels", "%s: the compiler failed (pass %s%s%s)", file, p->name,
                 b->real_count ? ", real " : "", b->real_count ? b->reals[real] : "");
        ok = false;
    }
    char *objects = text_of("%s %s", b->objects, to);
    free(b->objects);
    b->objects = objects;
    char *const own[] = {line, compiler, to, from, object, source};
    for (int i = 0; i < (int)(sizeof own / sizeof *own); i++)
        free(own[i]);
    return ok;
}

static bool compile_file(build *b, const char *name) {
    char *file = realpath(name, NULL);
    if (!file) {
        complain("kernels", "%s: %s", name, strerror(errno));
        return false;
    }
    bool ok = true;
    for (int real = 0; ok && real < (b->real_count ? b->real_count : 1); real++)
        for (int i = 0; ok && i < PASSES; i++)
            if (takes_part(b, &passes[i]))
                ok = compile(b, file, &passes[i], real);
    free(file);
    return ok;
}

/* ---- The archive ---- */

/* Build the archive beside the objects, so that an older archive survives a failure. */
static bool archive(const build *b) {
    const char *output = given_value(b->c, "--output");
    char *made = text_of("%s/kernels.a", b->folder);
    char *from = word_of(made), *to = word_of(output);
    char *line = text_of("%s rcs %s %s && cat %s >%s", variable("AR", "ar"), from,
                         b->objects, from, to);
    const bool ok = execute(line) == 0;
    if (!ok)
        complain("kernels", "%s could not be made", output);
    free(line);
    free(to);
    free(from);
    free(made);
    return ok;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static bool build_all(build *b) {
    b->folder = text_of("%s/pith-kernels-XXXXXX", variable("TMPDIR", "/tmp"));
    if (!mkdtemp(b->folder)) {
        complain("kernels", "TMPDIR: no folder %s: %s", b->folder, strerror(errno));
        return false;
    }
    bool ok = true;
    for (int i = 0; ok && i < b->c->word_count; i++)
        ok = compile_file(b, b->c->words[i]);
    ok = ok && archive(b);
    nftw(b->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return ok;
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
    b.objects = text_of("%s", "");
    const bool ok = find_tools(&b) && build_all(&b);
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
        "CC, CFLAGS and AR name the C compiler, its options and the archiver. If NVCC\n"
        "is set, the kernels are compiled for CUDA too, with the options NVCCFLAGS.\n"
        "share/pith/pith.mk has a rule for make.",
    .options = options,
    .run = run};
