/* Random programs in files: those that failed once are kept in `kept`, shrunk, and the
 * tests that make random programs run them again.
 *
 * A file has a line for each value, in order, the bodies of control flow before the line
 * they belong to, each between `body` and `end`:
 *     KIND ROW DTYPE RANK extents... OPERANDS numbers... picks sibling length flags
 * bodies and below it, where the row has parameters, `params` and their bytes, of a
 * checked row `of` and its name, where it is given from outside, `data` and its bytes;
 * `outputs` ends a list. Rows have names, because their numbers change. */
#ifndef PITH_TESTS_RANDOM_FILE_H
#define PITH_TESTS_RANDOM_FILE_H

#include "random_program.h"

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

#define RECIPE_KEPT PITH_TEST_SOURCE "/../program/kept"

static const char *const recipe_kinds[] = {"input", "literal", "call", "control", "many"};

/* ---- Writing ---- */

static inline void
recipe_write_bytes(FILE *f, const char *what, const void *data, size_t n) {
    fprintf(f, "%s %zu ", what, n);
    for (size_t k = 0; k < n; k++)
        fprintf(f, "%02x", ((const unsigned char *)data)[k]);
    fprintf(f, "\n");
}

/* A kernel's parameters without the address, which recipe_bind_kernel knows. */
static inline size_t recipe_params_bytes(const ingredient *x) {
    return x->kind == RECIPE_CALL || x->kind == RECIPE_MANY
               ? pithp_params_bytes(x->primitive)
               : 0;
}

static inline bool recipe_is_checked(const ingredient *x) {
    return x->kind == RECIPE_MANY && x->primitive == PITHP_OP_CHECKED;
}

static inline void recipe_write_list(FILE *f, const recipe *r) {
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        const bool control = x->kind == RECIPE_CONTROL, own = control && !x->sibling,
                   is_checked = recipe_is_checked(x);
        char params[sizeof x->params];
        for (int b = 0; own && b < x->body_count; b++) {
            fprintf(f, "body\n");
            recipe_write_list(f, x->bodies[b]);
            fprintf(f, "end\n");
        }
        fprintf(f, "%s %s %s %d", recipe_kinds[x->kind],
                x->kind >= RECIPE_CALL ? pithp_ops[x->primitive].name : "-",
                pith_dtype_name(x->spec->dtype), x->spec->rank);
        for (int d = 0; d < x->spec->rank; d++)
            fprintf(f, " %" PRId64, x->spec->shape[d]);
        fprintf(f, " %d", x->operand_count);
        for (int o = 0; o < x->operand_count; o++)
            fprintf(f, " %d", x->operands[o]);
        fprintf(f, " %d %d %" PRId64 " %d %d\n", x->picks, x->sibling, x->length,
                x->rows | x->reverse << 1 | x->ends << 2, control ? x->body_count : 0);
        memcpy(params, x->params, sizeof params);
        if (x->kind == RECIPE_MANY && x->primitive == PITHP_OP_KERNEL)
            ((pithp_kernel_params *)(void *)params)->kernel = NULL;
        if (is_checked)
            ((pithp_checked_params *)(void *)params)->primitive = (pithp_primitive)0;
        if (recipe_params_bytes(x))
            recipe_write_bytes(f, "params", params, recipe_params_bytes(x));
        if (is_checked)
            fprintf(f, "of %s\n",
                    pithp_ops[((const pithp_checked_params *)(const void *)x->params)
                                  ->primitive]
                        .name);
        if (x->kind == RECIPE_LITERAL || (x->kind == RECIPE_INPUT && r->depth == 0))
            recipe_write_bytes(f, "data", x->data, x->spec->bytes);
    }
    fprintf(f, "outputs %d", r->output_count);
    for (int k = 0; k < r->output_count; k++)
        fprintf(f, " %d", r->outputs[k]);
    fprintf(f, "\n");
}

/* Say which program it is, keep it in $PITH_TEST_KEEP or beside the test, and fail. */
static inline void recipe_fail(const recipe *r, const char *how) {
    const char *folder = getenv("PITH_TEST_KEEP");
    char path[512];
    pithp_program *p = recipe_program(r);
    pithp_string text;
    pithp_string_begin(&text, p->runtime);
    pithp_program_text(p, &text);
    snprintf(path, sizeof path, "%s/%016" PRIx64 ".recipe", folder ? folder : ".",
             pithp_program_hash(p));
    FILE *f = fopen(path, "w");
    if (f) {
        recipe_write_list(f, r);
        fclose(f);
    }
    cr_assert(false,
              "%s, a program gives other bits than its calls; it is kept as %s\n%s", how,
              path, text.bytes);
}

/* ---- Reading ---- */

/* Fields that were added at the end since a recipe was kept are 0. */
static inline void recipe_read_bytes(FILE *f, void *data, size_t room) {
    size_t n;
    cr_assert(fscanf(f, "%zu ", &n) == 1 && n <= room, "expected %zu bytes", room);
    memset(data, 0, room);
    for (size_t k = 0; k < n; k++) {
        unsigned byte;
        cr_assert(fscanf(f, "%2x", &byte) == 1);
        ((unsigned char *)data)[k] = (unsigned char)byte;
    }
}

static inline int recipe_number(FILE *f) {
    int n;
    cr_assert(fscanf(f, "%d", &n) == 1, "expected a number");
    return n;
}

static inline const pith_spec *recipe_read_spec(recipe *r, FILE *f) {
    char name[32];
    int64_t shape[PITH_MAX_RANK];
    int dtype = 0;
    cr_assert(fscanf(f, "%31s", name) == 1);
    while (dtype < PITH_DTYPE_COUNT && strcmp(name, pith_dtype_name((pith_dtype)dtype)))
        dtype++;
    const int rank = recipe_number(f);
    cr_assert(dtype < PITH_DTYPE_COUNT && rank >= 0 && rank <= PITH_MAX_RANK);
    for (int d = 0; d < rank; d++)
        cr_assert(fscanf(f, "%" SCNd64, &shape[d]) == 1);
    return pithp_spec(r->s, (pith_dtype)dtype, rank, shape);
}

static inline pithp_primitive recipe_read_row(FILE *f) {
    char name[64];
    int p = 0;
    cr_assert(fscanf(f, "%63s", name) == 1);
    while (strcmp(name, "-") && p < PITHP_PRIMITIVE_COUNT &&
           strcmp(name, pithp_ops[p].name))
        p++;
    cr_assert(p < PITHP_PRIMITIVE_COUNT, "%s is no row", name);
    return (pithp_primitive)p;
}

static inline void recipe_read_value(recipe *r, FILE *f, int kind, recipe **bodies) {
    char name[64];
    ingredient x = recipe_blank((pithp_primitive)0, 0);
    x.kind = kind;
    x.primitive = recipe_read_row(f);
    x.spec = recipe_read_spec(r, f);
    x.operand_count = recipe_number(f);
    cr_assert(x.operand_count <= RECIPE_OPERANDS);
    for (int o = 0; o < x.operand_count; o++)
        x.operands[o] = recipe_number(f);
    x.picks = recipe_number(f);
    x.sibling = recipe_number(f);
    x.length = recipe_number(f);
    const int flags = recipe_number(f);
    x.rows = flags & 1, x.reverse = flags & 2, x.ends = flags & 4;
    x.body_count = recipe_number(f);
    for (int b = 0; b < x.body_count; b++)
        x.bodies[b] = x.sibling ? r->list[x.sibling - 1].bodies[b] : bodies[b];
    if (recipe_params_bytes(&x)) {
        cr_assert(fscanf(f, "%63s", name) == 1 && !strcmp(name, "params"));
        recipe_read_bytes(f, x.params, recipe_params_bytes(&x));
    }
    if (recipe_is_checked(&x)) {
        cr_assert(fscanf(f, "%63s", name) == 1 && !strcmp(name, "of"));
        ((pithp_checked_params *)(void *)x.params)->primitive = recipe_read_row(f);
    }
    if (kind == RECIPE_MANY && x.primitive == PITHP_OP_KERNEL)
        recipe_bind_kernel(&x);
    ingredient *made = &r->list[recipe_add(r, &x)];
    memset(made->data, 0, x.spec->bytes);
    if (kind == RECIPE_LITERAL || (kind == RECIPE_INPUT && r->depth == 0)) {
        cr_assert(fscanf(f, "%63s", name) == 1 && !strcmp(name, "data"));
        recipe_read_bytes(f, made->data, x.spec->bytes);
    } else if (r->depth == 0)
        recipe_compute(r, made);
}

static inline recipe *recipe_read_list(pith_scope *s, FILE *f, int depth) {
    recipe *r = calloc(1, sizeof *r), *bodies[3];
    int body_count = 0;
    char word[64];
    r->s = s;
    r->depth = depth;
    while (fscanf(f, "%63s", word) == 1 && strcmp(word, "outputs") != 0) {
        int kind = 0;
        if (!strcmp(word, "body")) {
            cr_assert(body_count < 3);
            bodies[body_count++] = recipe_read_list(s, f, depth + 1);
            cr_assert(fscanf(f, "%63s", word) == 1 && !strcmp(word, "end"));
            continue;
        }
        while (kind < RECIPE_MANY && strcmp(word, recipe_kinds[kind]) != 0)
            kind++;
        recipe_read_value(r, f, kind, bodies);
        body_count = 0;
    }
    r->output_count = recipe_number(f);
    for (int k = 0; k < r->output_count; k++)
        r->outputs[k] = recipe_number(f);
    return r;
}

static inline recipe *recipe_read(pith_scope *s, const char *path) {
    FILE *f = fopen(path, "r");
    cr_assert(f, "%s cannot be read", path);
    recipe *r = recipe_read_list(s, f, 0);
    fclose(f);
    return r;
}

/* ---- Those that are kept ---- */

typedef struct recipe_files {
    DIR *folder;
    char path[512];
} recipe_files;

static inline recipe_files recipe_files_open(void) {
    return (recipe_files){.folder = opendir(RECIPE_KEPT)};
}

/* False: there are no more, and the folder is closed. */
static inline bool recipe_files_next(recipe_files *files) {
    const struct dirent *entry;
    while (files->folder && (entry = readdir(files->folder))) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".recipe") != 0)
            continue;
        snprintf(files->path, sizeof files->path, "%s/%s", RECIPE_KEPT, entry->d_name);
        return true;
    }
    if (files->folder)
        closedir(files->folder);
    return false;
}

#endif
