/* Log writer: each row is appended by one write call. After a kill the file has whole
 * rows and at most one partial row, which the next opening truncates. Of several ranks
 * rank 0 has the file; the logs of the others count steps. */
#include "mesh/mesh_internal.h"
#include "run/attempt.h"
#include "run/log_internal.h"
#include "run/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct pith_run_log {
    int file;
    size_t bytes;      /* of whole rows */
    bool torn;         /* a failed write may have left bytes after them */
    bool new_file;     /* its folder entry is not synced yet */
    bool resumes;      /* opened with `resume` */
    bool waits;        /* the first use truncates the file to `bytes` */
    bool silent;       /* another rank has the file */
    int64_t last_step; /* -1: none */
    pithp_location location;
    char shown[PITHP_PATH_BYTES];
};

static const char tag[] = "run log"; /* the shape of these objects: its address */

static bool is_log(const pith_run_log *log) {
    pithp_block *block = NULL;
    return pithp_pointer_check(log, &block) == PITHP_POINTER_OK &&
           pithp_header_of(log)->kind == PITHP_KIND_OTHER &&
           pithp_header_of(log)->descriptor == tag;
}

static void release(pith_scope *s, void *thing) {
    (void)s;
    pith_run_log *log = thing;
    if (log->file >= 0) {
        flock(log->file, LOCK_UN); /* a forked child may share the file */
        close(log->file);
    }
    pithp_location_close(&log->location);
    pithp_header_of(log)->kind = PITHP_KIND_FREE;
}

static pith_status trouble(pith_scope *s, const pith_run_log *log, const char *call) {
    char reason[128];
    return pithp_fail(s, PITH_E_IO, NULL, "the log \"%s\": %s: %s", log->shown, call,
                      strerror_r(errno, reason, sizeof reason));
}

/* ---- Opening ---- */

static int open_at(const pithp_location *location, int flags) {
    int file;
    do
        file = openat(location->folder, location->name,
                      O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666);
    while (file < 0 && errno == EINTR);
    return file;
}

static pith_status open_file(pith_scope *s, pith_run_log *log) {
    struct stat st;
    log->file = open_at(&log->location, 0);
    if (log->file < 0 && errno == ENOENT) {
        log->file = open_at(&log->location, O_CREAT);
        log->new_file = true;
    }
    if (log->file < 0 || fstat(log->file, &st) != 0)
        return trouble(s, log, "open");
    if (!S_ISREG(st.st_mode))
        return pithp_fail(s, PITH_E_IO, NULL, "the log \"%s\": it is not a regular file",
                          log->shown);
    if (flock(log->file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return pithp_fail(s, PITH_E_IO, NULL,
                          "the log \"%s\": another process or log writes to it",
                          log->shown);
    return PITH_OK;
}

/* Whether every value of a row is valid. */
static bool row_is_sound(const pithp_log_lines *l, pithp_log_row *row) {
    char name[PITHP_LOG_NAME];
    pith_run_log_value value;
    pithp_log_found found = PITHP_LOG_FOUND;
    while (found == PITHP_LOG_FOUND)
        found = pithp_log_value(l, row, name, &value);
    return found == PITHP_LOG_END;
}

/* Find the end of the rows to keep. A file to be replaced must start with a valid row. */
static pith_status
find_end(pith_scope *s, pith_run_log *log, const pith_run_log_options *o) {
    pithp_log_lines l;
    pithp_log_row row;
    pithp_log_found found = PITHP_LOG_END;
    pith_status rc = pithp_log_lines_begin(&l, s, log->file, log->shown);
    while (rc == PITH_OK && (found = pithp_log_next(&l, &row)) == PITHP_LOG_FOUND) {
        if (!row_is_sound(&l, &row)) {
            found = PITHP_LOG_ERROR;
            break;
        }
        if (!o->resume || row.step > o->resume_step)
            break;
        if (row.step <= log->last_step) {
            rc = pithp_fail(s, PITH_E_FORMAT, NULL,
                            "the log \"%s\": line %" PRId64 " has step %" PRId64
                            ", after step %" PRId64,
                            log->shown, l.number, row.step, log->last_step);
            break;
        }
        log->last_step = row.step;
        log->bytes = pithp_log_offset(&l);
    }
    pithp_log_lines_end(&l);
    return found == PITHP_LOG_ERROR ? pith_code(s) : rc;
}

/* Truncate the file to its whole rows. */
static bool cut(pith_run_log *log) {
    int result;
    do
        result = ftruncate(log->file, (off_t)log->bytes);
    while (result != 0 && errno == EINTR);
    log->torn = result != 0;
    return result == 0;
}

static pith_status open_log(pith_scope *s,
                            pith_run_log *log,
                            const char *path,
                            const pith_run_log_options *o) {
    pith_status rc;
    PITH_TRY(pithp_location_open(s, path, &log->location));
    log->location.shown = log->shown;
    PITH_TRY(open_file(s, log));
    PITH_TRY(find_end(s, log, o));
    log->resumes = log->waits = o->resume;
    if (!log->waits && !cut(log))
        rc = trouble(s, log, "ftruncate");
out:
    return rc;
}

/* An open log. NULL: error set. */
static pith_run_log *make_log(pith_scope *s,
                              const char *path,
                              const pith_run_log_options *o,
                              pithp_hold **hold) {
    if (!path || o->resume_step < 0) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_run_log_open: %s",
                   path ? "resume_step must not be negative" : "path is NULL");
        return NULL;
    }
    pith_run_log *log = pithp_object_make(s, PITHP_KIND_OTHER, tag, sizeof *log);
    if (!log)
        return NULL;
    log->file = log->location.folder = -1;
    log->last_step = -1;
    log->silent = !pithp_ranks_write(s);
    snprintf(log->shown, sizeof log->shown, "%s", path);
    *hold = pithp_scope_hold(s, log, release);
    if (!*hold) {
        pithp_header_of(log)->kind = PITHP_KIND_FREE;
        return NULL;
    }
    if (!log->silent)
        open_log(s, log, path, o);
    return log;
}

pith_run_log *
pith_run_log_open(pith_scope *s, const char *path, const pith_run_log_options *options) {
    static const pith_run_log_options defaults;
    pithp_hold *hold = NULL;
    pith_run_log *log = NULL;
    if (pithp_enter_untraced(s, "pith_run_log_open"))
        log = make_log(s, path, options ? options : &defaults, &hold);
    if (pithp_scope_joins(s) ? pithp_log_agree(s, log) == PITH_OK
                             : log && s->error.code == PITH_OK)
        return log;
    if (hold)
        pithp_hold_drop(s, hold);
    return NULL;
}

pith_status pithp_log_agree(pith_scope *s, pith_run_log *log) {
    if (pithp_ranks_fine(s, "pith_run_log_open") && pithp_ranks_of(s))
        pithp_ranks_broadcast(s, 0, &log->last_step, sizeof log->last_step);
    return s->error.code;
}

pith_status pithp_log_resume(pith_scope *s, pith_run_log *log, int64_t step) {
    const pith_run_log_options from = {.resume = true, .resume_step = step};
    pith_status rc = PITH_OK;
    if (!is_log(log))
        return pithp_fail(s, PITH_E_ARG, NULL, "log: expected an open log");
    if (log->resumes && step >= 0 && !log->silent) {
        log->bytes = 0;
        log->last_step = -1;
        rc = find_end(s, log, &from);
    }
    if (rc == PITH_OK && log->waits && !log->silent && !cut(log))
        rc = trouble(s, log, "ftruncate");
    log->waits = false;
    return rc;
}

/* ---- Rows ---- */

int64_t pith_run_log_last_step(const pith_run_log *log) {
    return is_log(log) ? log->last_step : -1;
}

static bool enter(pith_scope *s, pith_run_log *log, const char *function) {
    if (!pithp_enter_untraced(s, function))
        return false;
    if (is_log(log))
        return !log->waits || pithp_log_resume(s, log, -1) == PITH_OK;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: expected an open log", function);
    return false;
}

static pith_status check_value(pith_scope *s,
                               const pith_run_log *log,
                               int64_t step,
                               const pith_run_log_value *row,
                               int64_t i) {
    const char *name = row[i].name;
    const size_t n = strnlen(name, PITHP_LOG_NAME);
    const char *wrong = NULL;
    if (n == 0 || n == PITHP_LOG_NAME || !pithp_is_utf8(name, n))
        wrong = "a name must be UTF-8 of 1 to 255 bytes";
    else if (strcmp(name, "step") == 0)
        wrong = "the name \"step\" is that of the row's step";
    for (int64_t j = 0; !wrong && j < i; j++)
        if (strcmp(row[j].name, name) == 0)
            wrong = "two values have this name";
    if (wrong)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "the log \"%s\": step %" PRId64 ": %s: \"%.80s\"", log->shown,
                          step, wrong, name);
    return PITH_OK;
}

/* Print a float. JSON has no non-finite numbers, so they are strings. */
static void print_float(pithp_string *t, double value) {
    if (isfinite(value))
        pithp_string_print(t, ":%s", pith_element_print(PITH_F64, &value, 0).text);
    else
        pithp_string_add(t, isnan(value) ? ":\"NaN\""
                            : value > 0  ? ":\"Infinity\""
                                         : ":\"-Infinity\"");
}

static pith_status print_row(pith_scope *s,
                             const pith_run_log *log,
                             int64_t step,
                             const pith_run_log_value *row,
                             pithp_string *t) {
    pithp_string_print(t, "{\"step\":%" PRId64, step);
    for (int64_t i = 0; row[i].name; i++) {
        const pith_status rc = check_value(s, log, step, row, i);
        if (rc != PITH_OK)
            return rc;
        pithp_string_add(t, ",");
        pithp_json_string(t, row[i].name);
        if (row[i].is_integer)
            pithp_string_print(t, ":%" PRId64, row[i].i64);
        else
            print_float(t, row[i].f64);
    }
    pithp_string_add(t, "}\n");
    if (t->failed)
        return pithp_fail_memory(s, t->capacity);
    if (t->length > PITHP_LOG_LINE)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "the log \"%s\": step %" PRId64
                          ": the row has %zu bytes, expected"
                          " %d at most",
                          log->shown, step, t->length, PITHP_LOG_LINE);
    return PITH_OK;
}

pith_status pithp_log_write(pith_scope *s,
                            pith_run_log *log,
                            int64_t step,
                            const char *text,
                            size_t bytes) {
    if (!is_log(log))
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "a log was closed before the end of a step that logged to it");
    if (log->torn && !cut(log))
        return trouble(s, log, "ftruncate");
    for (size_t done = 0; done < bytes && !log->silent;) {
        const ssize_t n =
            pwrite(log->file, text + done, bytes - done, (off_t)(log->bytes + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                errno = EIO;
            const pith_status rc = trouble(s, log, "write");
            cut(log);
            return rc;
        }
        done += (size_t)n;
    }
    log->bytes += bytes;
    log->last_step = step;
    return PITH_OK;
}

bool pith_run_log_add(pith_scope *s,
                      pith_run_log *log,
                      int64_t step,
                      const pith_run_log_value *row) {
    if (!enter(s, log, "pith_run_log_add"))
        return false;
    if (!row || step < 0) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_run_log_add: %s",
                   row ? "step must not be negative" : "row is NULL");
        return false;
    }
    pithp_attempt_log *waits = pithp_attempt_log_of(s, log);
    const int64_t waiting = pithp_attempt_log_last(waits, log);
    const int64_t last = waiting < 0 ? log->last_step : waiting;
    if (step <= last) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "the log \"%s\": step %" PRId64 ": expected one above %" PRId64
                   ", that of the last row",
                   log->shown, step, last);
        return false;
    }
    pithp_string t;
    pithp_string_begin(&t, s->runtime);
    pith_status rc = print_row(s, log, step, row, &t);
    if (rc == PITH_OK)
        rc = waits ? pithp_attempt_log_add(s, waits, log, step, &t)
                   : pithp_log_write(s, log, step, t.bytes, t.length);
    pithp_string_end(&t);
    return rc == PITH_OK;
}

bool pith_run_log_sync(pith_scope *s, pith_run_log *log) {
    if (!enter(s, log, "pith_run_log_sync"))
        return false;
    if (log->silent)
        return true;
    int result;
    do
        result = fdatasync(log->file);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return trouble(s, log, "fdatasync"), false;
    if (log->new_file) {
        errno = pithp_folder_sync(&log->location);
        if (errno)
            return trouble(s, log, "fsync of its folder"), false;
        log->new_file = false;
    }
    return true;
}
