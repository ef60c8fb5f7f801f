/* pith verify: verifies every byte of checkpoints against its checksum. */
#include "command.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *file, colour c, const char *verdict, const char *text) {
    char *name = clean(file), *harmless = clean(text);
    printf("%s: ", name);
    colour_to(stdout, c);
    printf("%s", verdict);
    colour_to(stdout, PLAIN);
    printf("%s%s\n", *text ? "  " : "", harmless);
    free(name);
    free(harmless);
}

static void say_damaged(pith_scope *s, const char *file, bool json) {
    if (!json) {
        say(file, RED, "damaged", pith_message(s));
        return;
    }
    json_open('{');
    json_name("path"), json_text(pith_error_path(s));
    json_name("message"), json_text(pith_message(s));
    json_close('}');
}

static int64_t count_damaged(pith_scope *s, const char *file, const rows *r, bool json) {
    enum { MOST_LINES = 20 };
    int64_t damaged = 0;
    char *last = NULL; /* of a file that is the trouble of several leaves */
    bool *told = room_for((size_t)r->info->sidecar_count + 1, sizeof *told);
    for (int64_t i = 0; i < r->info->leaf_count; i++) {
        pith_checkpoint_leaf leaf;
        pith_checkpoint_get_leaf(r->c, i, &leaf);
        if ((leaf.sidecar >= 0 && told[leaf.sidecar]) ||
            pith_checkpoint_verify(s, r->c, i))
            continue;
        if (!*pith_error_path(s) && leaf.sidecar >= 0) /* the sidecar itself */
            told[leaf.sidecar] = true;
        const bool again =
            last && !*pith_error_path(s) && strcmp(last, pith_message(s)) == 0;
        if (!again && (damaged++ < MOST_LINES || json))
            say_damaged(s, file, json);
        free(last);
        last = text_of("%s", pith_message(s));
        pith_clear(s);
    }
    free(told);
    free(last);
    if (damaged > MOST_LINES && !json)
        printf("... and %" PRId64 " more leaves\n", damaged - MOST_LINES);
    return damaged;
}

/* Exit code for a file that could not be opened. */
static int not_open(pith_scope *s, const char *file, bool json) {
    const bool damaged = pith_code(s) == PITH_E_FORMAT;
    if (damaged)
        say_damaged(s, file, json);
    if (!damaged)
        complain("verify", "%s", pith_message(s));
    pith_clear(s);
    return damaged ? DIFFERENT : TROUBLE;
}

static void say_intact(const char *file, const rows *r) {
    char *size = bytes_text(r->info->leaf_bytes);
    char *text =
        text_of("step %" PRId64 ", %" PRId64 " %s, %s", r->info->step,
                r->info->leaf_count, plural(r->info->leaf_count, "leaf", "leaves"), size);
    say(file, GREEN, "intact", text);
    free(text);
    free(size);
}

static int verify_file(pith_scope *s, const char *file, bool json) {
    rows r = {0};
    int code;
    if (json) {
        json_open('{');
        json_name("file"), json_text(file);
        json_name("damage"), json_open('[');
    }
    if (rows_open(s, file, &r)) {
        code = count_damaged(s, file, &r, json) ? DIFFERENT : SAME;
        if (code == SAME && !json)
            say_intact(file, &r);
    } else {
        code = not_open(s, file, json);
    }
    if (json) {
        json_close(']');
        json_name("verdict");
        json_text(code == SAME ? "intact" : code == DIFFERENT ? "damaged" : "unreadable");
        if (r.info)
            json_name("step"), json_i64(r.info->step);
        json_close('}');
    }
    rows_end(&r);
    return code;
}

static int verify(pith_scope *s, const command *c) {
    const bool json = given(c, "--json");
    int code = SAME;
    if (json)
        json_open('[');
    char **files = series_expand(c->words, c->word_count);
    for (char **file = files; *file; file++) {
        pith_scope *inner = pith_scope_open_in(s);
        const int one = verify_file(inner, *file, json);
        pith_scope_close(inner);
        code = one > code ? one : code;
    }
    series_end(files);
    if (json)
        json_close(']');
    return code;
}

static const option options[] = {
    {"--json", NULL, "for programs: a list of verdicts and damages", NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

const verb verify_verb = {
    .name = "verify",
    .words = "FILE...",
    .takes = "files",
    .least = 1,
    .most = -1,
    .extensions = "json",
    .summary = "whether checkpoints are intact",
    .more = "Every byte of documents and sidecars is read and verified against its\n"
            "checksum. Damaged leaves are named. The name of a series stands for its\n"
            "members.",
    .options = options,
    .run = verify};
