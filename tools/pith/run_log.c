/* Run logs in the list of pith log. */
#include "run_log.h"

#include "tool.h"

#include <inttypes.h>
#include <pith/run_log.h>
#include <stdlib.h>
#include <string.h>

bool is_run_log(const char *file) {
    static const char first[] = "{\"step\":";
    char begin[sizeof first] = "";
    const size_t n = strlen(file);
    FILE *in = fopen(file, "re");
    const size_t count = in ? fread(begin, 1, sizeof begin - 1, in) : 0;
    if (in)
        fclose(in);
    return (count == sizeof begin - 1 && strcmp(begin, first) == 0) ||
           (in && n > 6 && strcmp(file + n - 6, ".jsonl") == 0);
}

static int64_t step_at(pith_scope *s, const pith_dict *log, int64_t row) {
    const pith_array *steps = pith_dict_get(log, "step");
    return pith_read_i64(s, pith_slice_at(s, steps, 0, row));
}

bool run_log_open(pith_scope *s, const char *file, run_log *l) {
    *l = (run_log){.columns = pith_run_log_read(s, file)};
    if (!l->columns)
        return false;
    l->rows = pith_array_spec(pith_dict_get(l->columns, "step"))->count;
    if (l->rows) {
        l->first = step_at(s, l->columns, 0);
        l->last = step_at(s, l->columns, l->rows - 1);
    }
    return !pith_failed(s);
}

char *run_log_text(const run_log *l) {
    enum { NAMED = 5 }; /* columns named in the line */
    const int64_t count = pith_child_count(l->columns);
    char *text = text_of("the log of a run: %" PRId64 " %s", l->rows,
                         plural(l->rows, "row", "rows"));
    int64_t told = 0;
    for (int64_t i = 0; i < count && told < NAMED; i++) {
        const char *name = pith_child_name(l->columns, i);
        if (strcmp(name, "step") == 0)
            continue;
        char *harmless = clean(name), *before = text;
        text = text_of("%s%s%s", before, told++ ? ", " : " of ", harmless);
        free(harmless);
        free(before);
    }
    if (count - 1 > told) {
        char *before = text;
        text = text_of("%s and %" PRId64 " more", before, count - 1 - told);
        free(before);
    }
    return text;
}
