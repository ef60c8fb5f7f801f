/* pith convert --mesh: a checkpoint as the ranks of a mesh would have saved it. */
#include "bundle.h"
#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 8 };

typedef struct request {
    char *text[MOST_GIVEN + 1]; /* owned copies, taken apart */
    pith_mesh_axis axes[MOST_AXES + 1];
    pith_shard_spec specs[MOST_GIVEN + 1];
    int count, spec_count;
} request;

static char *copy_of(request *q, const char *text) {
    return q->text[q->count++] = text_of("%s", text);
}

/* "x=4,y=2" */
static bool read_mesh(request *q, const char *given_text) {
    char *at = copy_of(q, given_text);
    for (int i = 0; i < MOST_AXES; i++) {
        char *equals = strchr(at, '='), *end = NULL;
        if (!equals || equals == at)
            break;
        *equals = 0;
        errno = 0;
        q->axes[i] = (pith_mesh_axis){at, strtoll(equals + 1, &end, 10)};
        if (end == equals + 1 || errno || (*end && *end != ','))
            break;
        if (!*end)
            return true;
        at = end + 1;
    }
    complain("convert", "--mesh takes sizes of up to %d axes, \"x=4,y=2\", got \"%s\"",
             MOST_AXES, given_text);
    return false;
}

/* ".position=x:count": a path, axes, and the leaf that counts its rows. */
static bool read_spec(request *q, const char *given_text) {
    char *path = copy_of(q, given_text), *equals = strrchr(path, '=');
    if (!equals) {
        complain("convert",
                 "--shard takes a path and its axes, \".field=x;y\", got \"%s\"",
                 given_text);
        return false;
    }
    *equals = 0;
    char *counter = strchr(equals + 1, ':');
    if (counter)
        *counter++ = 0;
    q->specs[q->spec_count++] =
        (pith_shard_spec){.path = path, .axes = equals + 1, .rows = counter};
    return true;
}

static bool read_request(request *q, const command *c) {
    if (!read_mesh(q, given_value(c, "--mesh")))
        return false;
    for (int i = 0; i < c->option_count; i++)
        if (strcmp(c->options[i].name, "--shard") == 0 &&
            !read_spec(q, c->options[i].value))
            return false;
    return true;
}

int convert_to_mesh(pith_scope *s, const command *c) {
    request q = {.count = 0};
    int code = TROUBLE;
    rows from = {0};
    if (read_request(&q, c)) {
        if (rows_open(s, c->words[0], &from) &&
            pith_checkpoint_shard(s, from.c, q.axes, q.spec_count ? q.specs : NULL,
                                  c->words[1], NULL))
            code = SAME;
        else
            complain("convert", "%s", pith_message(s));
        if (pith_code(s) == PITH_E_FORMAT)
            code = DIFFERENT;
        rows_end(&from);
    }
    for (int i = 0; i < q.count; i++)
        free(q.text[i]);
    return code;
}
