/* pith verify: whether checkpoints are whole, every byte against its checksum. */
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

static int64_t count_damaged(pith_scope *s, const char *file, const rows *r) {
    enum { MOST_LINES = 20 };
    int64_t damaged = 0;
    bool *told = room_for((size_t)r->info->sidecar_count + 1, sizeof *told);
    for (int64_t i = 0; i < r->info->leaf_count; i++) {
        pith_checkpoint_leaf leaf;
        pith_checkpoint_get_leaf(r->c, i, &leaf);
        if ((leaf.sidecar >= 0 && told[leaf.sidecar]) ||
            pith_checkpoint_check(s, r->c, i))
            continue;
        if (!*pith_error_path(s) && leaf.sidecar >= 0) /* the sidecar as a whole */
            told[leaf.sidecar] = true;
        if (damaged++ < MOST_LINES)
            say(file, RED, "damaged", pith_message(s));
        pith_clear(s);
    }
    free(told);
    if (damaged > MOST_LINES)
        printf("... and %" PRId64 " more leaves\n", damaged - MOST_LINES);
    return damaged;
}

static int verify(pith_scope *s, const char *file) {
    rows r;
    if (!rows_open(s, file, &r)) {
        const bool damaged = pith_code(s) == PITH_E_FORMAT;
        if (damaged)
            say(file, RED, "damaged", pith_message(s));
        else
            complain("verify", "%s", pith_message(s));
        pith_clear(s);
        return damaged ? DIFFERENT : TROUBLE;
    }
    const int64_t damaged = count_damaged(s, file, &r);
    if (!damaged) {
        char *size = bytes_text(r.info->leaf_bytes);
        char *text = text_of("step %" PRId64 ", %" PRId64 " %s, %s", r.info->step,
                             r.info->leaf_count,
                             plural(r.info->leaf_count, "leaf", "leaves"), size);
        say(file, GREEN, "intact", text);
        free(text);
        free(size);
    }
    rows_end(&r);
    return damaged ? DIFFERENT : SAME;
}

int verb_verify(pith_scope *s, char **arguments) {
    int code = SAME, files = 0;
    bool options = true;
    for (char **a = arguments; *a; a++) {
        if (options && strcmp(*a, "--") == 0) {
            options = false;
            continue;
        }
        if (options && **a == '-' && (*a)[1])
            return complain("verify", "unknown option \"%s\"", *a), TROUBLE;
        pith_scope *inner = pith_scope_open_in(s);
        const int one = verify(inner, *a);
        pith_scope_close(inner);
        code = one > code ? one : code;
        files++;
    }
    if (!files)
        return complain("verify", "takes files: pith verify FILE..."), TROUBLE;
    return code;
}
