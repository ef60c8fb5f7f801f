/* The array value: a handle over an interned spec and a part of a buffer; or, traced,
 * over a value of a program. Rooms above make handles here; the operations are in
 * include/pith/array.h. */
#ifndef PITH_ARRAY_INTERNAL_H
#define PITH_ARRAY_INTERNAL_H

#include "pith/array.h"

#include "gpu/gpu_internal.h"
#include "program/op/call.h"

/* Bits of pithp_header.extra of an array. */
enum { PITHP_ARRAY_TRACED = 1, PITHP_ARRAY_DONATED = 2 };

/* Behind a pithp_header whose shape is the spec. Short: work over many small leaves
 * writes one for each. */
struct pith_array {
    void *data; /* device address of the first element; traced: the pithp_trace */
    union {
        pithp_hold *hold; /* of the owning scope on the buffer: one `live` a handle */
        int64_t value;    /* traced: its number in the program */
    };
};

static inline const pith_spec *pithp_array_spec(const pith_array *a) { /* a checked */
    return pithp_header_of(a)->shape;
}
static inline bool pithp_kind_is_array(const void *object) { /* object checked */
    return pithp_header_of(object)->kind == PITHP_KIND_ARRAY;
}
/* The buffer that a concrete array's data lies in. */
static inline pithp_buffer *pithp_array_buffer(const pith_array *a) {
    return a->hold->thing;
}
static inline bool pithp_array_is_traced(const pith_array *a) {
    return pithp_header_of(a)->extra & PITHP_ARRAY_TRACED;
}

/* An array that a user passed as `name` to `function`, whose value is needed: live, an
 * array, of this runtime, not donated, concrete, and with its writer awaited on the
 * scope's stream. Sets the scope's error else. */
pith_status pithp_array_check_slow(pith_scope *s,
                                   const pith_array *a,
                                   const char *function,
                                   const char *name);
static inline bool pithp_array_is_ready(pith_scope *s,
                                        const pith_array *a) { /* the usual case */
    pithp_block *block = NULL;
    if (PITHP_UNLIKELY(pithp_pointer_check(a, &block) != PITHP_POINTER_OK))
        return false;
    const pithp_header *h = pithp_header_of(a);
    return h->kind == PITHP_KIND_ARRAY && !h->extra && block->runtime == s->runtime &&
           pithp_array_buffer(a)->stream == pithp_scope_stream(s);
}
static inline pith_status pithp_array_check(pith_scope *s,
                                            const pith_array *a,
                                            const char *function,
                                            const char *name) {
    return PITHP_LIKELY(pithp_array_is_ready(s, a))
               ? PITH_OK
               : pithp_array_check_slow(s, a, function, name);
}
/* As pithp_array_check, of an operand of pithp_bind, which may be traced in the trace of
 * the scope. */
pith_status pithp_operand_check_slow(pith_scope *s,
                                     const pith_array *a,
                                     const char *function,
                                     const char *name);
static inline pith_status pithp_operand_check(pith_scope *s,
                                              const pith_array *a,
                                              const char *function,
                                              const char *name) {
    return PITHP_LIKELY(pithp_array_is_ready(s, a))
               ? PITH_OK
               : pithp_operand_check_slow(s, a, function, name);
}

/* A new array with unwritten elements, owned by s. NULL: the scope's error is set. */
pith_array *pithp_array_make(pith_scope *s, const pith_spec *spec);
/* Several at once. Those that share (under 64 KiB) lie in one block, back to back in the
 * given order, so that work over all of them can run flat. Nothing is made on failure. */
enum { PITHP_SHARED_BYTES = 65536 };
static inline bool pithp_array_shares(const pith_spec *spec) {
    return spec->bytes < PITHP_SHARED_BYTES;
}
/* Bytes from such an array to the next. */
static inline size_t pithp_array_step(const pith_spec *spec) {
    return (spec->bytes + PITHP_ALIGNMENT - 1) & ~(size_t)(PITHP_ALIGNMENT - 1);
}
pith_status pithp_arrays_make(pith_scope *s,
                              int64_t count,
                              const pith_spec *const *specs,
                              const pith_array **arrays);
/* What is made each time that something is done: a list of arrays, some places of which
 * stay free. */
typedef struct pithp_array_run { /* neighbours of one spec */
    const pith_spec *spec;
    int64_t count, at; /* the place of the first */
} pithp_array_run;
typedef struct pithp_layout {
    int64_t count, run_count;
    size_t shared; /* bytes of the block of small ones; or */
    pithp_array_run *runs;
} pithp_layout;
#define PITHP_NONE_SHARES SIZE_MAX
/* specs: of each place; NULL: it is free. Release it also on failure, with its error set.
 */
pith_status pithp_layout_make(pith_scope *s,
                              pithp_layout *l,
                              int64_t count,
                              const pith_spec *const *specs);
void pithp_layout_release(pith_runtime *rt, const pithp_layout *l);
/* As pithp_arrays_make; data gets their addresses. */
pith_status pithp_arrays_lay_out(pith_scope *s,
                                 const pithp_layout *l,
                                 const pith_array **arrays,
                                 void **data);
/* Another handle in s over elements of a buffer that outlives this call (a view, a kept
 * array). */
pith_array *
pithp_array_view(pith_scope *s, const pith_spec *spec, pithp_buffer *buffer, void *data);
/* The same of several, each with the spec of the one it shares elements with. Nothing is
 * made on failure. */
pith_status pithp_arrays_view(pith_scope *s,
                              int64_t count,
                              const pith_array *const *of,
                              const pith_array **arrays);
/* The same of some with one spec, whose elements all lie in the buffer of a hold. */
pith_status pithp_arrays_over(pith_scope *s,
                              const pith_spec *spec,
                              const pithp_hold *from,
                              int64_t count,
                              const void *const *data,
                              const pith_array **arrays);
/* The elements that a slice of an axis picks, as NumPy counts them; its step is neither 0
 * nor INT64_MIN. */
typedef struct pithp_picked {
    int64_t start, count, step;
} pithp_picked;
pithp_picked pithp_slice_pick(pith_slice slice, int64_t extent);
/* What pith_slice_array would make and how its elements move there from a's; move->to is
 * left open. */
struct pithp_move;
pith_status pithp_slice_plan(pith_scope *s,
                             const pith_array *a,
                             int count,
                             const pith_slice *slices,
                             const pith_spec **spec,
                             struct pithp_move *move);
/* Give back an array that s owns; a traced one stays with its trace. */
void pithp_array_drop(pith_scope *s, const pith_array *a);
/* A concrete array gives its memory away: what uses it from here on is PITH_E_DONATED,
 * with the site (NULL: it is not known), which lasts. */
void pithp_array_donate(const pith_array *a, const char *site);
void pithp_arrays_donate(int64_t count,
                         const pith_array *const *arrays,
                         const char *site);
/* " at " and that site, or two empty texts. */
const char *pithp_array_donated_at(const pith_array *a, const char **at);
/* The elements to the host; waits. */
pith_status pithp_array_read(pith_scope *s, const pith_array *a, void *host);

/* ---- Applying primitives: the one way in which operations make arrays ---- */

/* The result of a primitive on checked operands: computed at once, in s; or, where one is
 * traced or (of primitives without operands) s is tracing, recorded. NULL: error set. */
const pith_array *pithp_bind(pith_scope *s,
                             pithp_primitive primitive,
                             int count,
                             const pith_array *const *operands,
                             const void *params);
/* The same of an update of the first operand, which the caller made and nobody else has:
 * it becomes the result where it lies. */
const pith_array *pithp_bind_in_place(pith_scope *s,
                                      pithp_primitive primitive,
                                      int count,
                                      const pith_array *const *operands,
                                      const void *params);
/* Who is told of the random numbers that a thread draws. */
typedef struct pithp_draw_watch {
    void (*seen)(struct pithp_draw_watch *w,
                 pith_scope *s,
                 pithp_primitive primitive,
                 const pith_spec *spec);
} pithp_draw_watch;
/* Set the one of this thread, NULL: nobody; returns the one before. */
pithp_draw_watch *pithp_watch_draws(pithp_draw_watch *w);
bool pithp_draws_watched(void);

/* a as dtype: itself where it has it. */
const pith_array *pithp_cast(pith_scope *s, const pith_array *a, pith_dtype dtype);
/* What operands of two dtypes promote to; PITH_DTYPE_NONE with the error set. */
pith_dtype
pithp_promote_dtypes(pith_scope *s, const char *function, pith_dtype a, pith_dtype b);
/* A rank-0 array of one element; NULL with the error set. */
const pith_array *pithp_scalar(pith_scope *s, pith_dtype dtype, const void *element);
/* Cast operands to the dtype that all promote to. */
pith_status pithp_promote_all(pith_scope *s,
                              const char *function,
                              int count,
                              const pith_array **operands);
/* a times b, of one dtype: `and` for bool. */
const pith_array *pithp_multiply(pith_scope *s, const pith_array *a, const pith_array *b);
/* a's elements under another spec of as many. */
const pith_array *pithp_alias(pith_scope *s, const pith_array *a, const pith_spec *spec);
/* a broadcast to another spec of its dtype; false in `fits` where that cannot be. */
const pith_array *pithp_broadcast(pith_scope *s,
                                  const pith_array *a,
                                  int rank,
                                  const int64_t *shape,
                                  bool *fits);
/* The shape that arrays broadcast to, joined to the one so far; false where they do not
 * (no error is set). */
bool pithp_broadcast_shape(const pith_spec *with, int *rank, int64_t *shape);
/* The axes as bits; false with the error set where one is out of range or named twice. */
bool pithp_axes(pith_scope *s,
                const char *function,
                pith_axes axes,
                int rank,
                uint32_t *mask);
/* The axis counted from the first, 0 to rank - 1; -1 with the error set where there is
 * none. */
int pithp_axis(pith_scope *s, const char *function, int axis, int rank);

/* ---- Traces: a function's calls recorded as a program ---- */

/* Traced arrays live in a scope of the trace's own. When it ends they become tombstones,
 * which stay for a while, so that using one that leaked says what it is. */
typedef struct pithp_trace {
    struct pithp_program *program; /* being built; NULL: the trace has ended */
    pith_scope *handles;
    int depth; /* of traces and the functions recorded in them: 1 more than around */
    pithp_error refused; /* the first PITH_E_TRACED that was cleared, or that a scope
                            outside has; or PITH_OK */
    struct pithp_checks
        *checks; /* that were recorded (array/checks/checks.h); NULL: none */
    /* The scope that the function is given, as it was, and the call that changed it and
     * was not undone; function NULL: none. */
    const pith_scope *scope;
    uint8_t check_level;
    bool no_validation;
    struct {
        const char *function, *site;
    } changed;
} pithp_trace;

/* The trace that calls on s are recorded in; NULL: they run. Child scopes have their
 * parent's. */
static inline pithp_trace *pithp_scope_trace(const pith_scope *s) {
    return s->room[PITHP_ROOM_TRACE];
}
/* Calls on s and on scopes opened in it from now on are recorded. NULL: error set. */
pithp_trace *pithp_trace_begin(pith_scope *s);
/* Whether `name` may be recorded on s inside of what is being recorded: the error is set
 * where this goes too deep. */
pith_status pithp_trace_check_depth(pith_scope *s, const char *name);
/* The next input, a traced array. Inputs come before all else. NULL: error set. */
const pith_array *pithp_trace_input(pith_scope *s, pithp_trace *t, const pith_spec *spec);
/* A traced array of a value of the program. NULL: error set. */
const pith_array *pithp_trace_array(pith_scope *s, pithp_trace *t, int32_t value);
/* A scope for what belongs to a program; close it before the runtime, from any thread.
 * NULL: error set. */
pith_scope *pithp_trace_store_open(pith_scope *s);
void pithp_trace_store_close(pith_runtime *rt, pith_scope *store);
/* The number of a checked operand in the program: a concrete array becomes a constant.
 * -1: error set. */
int32_t pithp_trace_value(pith_scope *s, pithp_trace *t, const pith_array *a);
/* A constant of a program with the elements of a checked array. -1: error set. */
int32_t pithp_trace_constant(pith_scope *s, struct pithp_program *p, const pith_array *a);
/* The call on s has set what lasts as long as s does. */
void pithp_trace_note_set(pith_scope *s);
/* Where the function that was recorded went on after PITH_E_TRACED, the program may be of
 * another way than its calls would have gone, and where it left the scope that it was
 * given changed, its calls would have changed the caller's: the error of s, which began
 * the trace. */
pith_status pithp_trace_settle(pith_scope *s, const pithp_trace *t);
/* No more calls are recorded on s, which began it; its arrays are of no use any more. The
 * program is the caller's. */
struct pithp_program *pithp_trace_end(pith_scope *s, pithp_trace *t);
/* pithp_bind where something is traced. */
const pith_array *pithp_trace_bind(pith_scope *s,
                                   pithp_primitive primitive,
                                   int count,
                                   const pith_array *const *operands,
                                   const void *params);
/* An instruction with several results: `results` gets an array for each. */
pith_status pithp_trace_bind_many(pith_scope *s,
                                  pithp_primitive primitive,
                                  int count,
                                  const pith_array *const *operands,
                                  const void *params,
                                  const pith_array **results);
/* Whether a traced array may be used on s: it is of the trace that s records in, and the
 * function takes such. Sets the error else. */
pith_status pithp_trace_check(pith_scope *s,
                              const pith_array *a,
                              const char *function,
                              const char *name,
                              bool takes_traced);
/* An error of s is about a traced array: where s is no scope of its trace, that goes on,
 * and fails with it at its end. Returns PITH_E_TRACED. */
pith_status pithp_trace_refuse(const pith_scope *s, const pith_array *a);
/* Of the report of an index out of range: whose call it is, and of which leaf. */
static inline const char *pithp_index_subject(const pith_scope *s, pithp_primitive p) {
    return s->leaf ? s->leaf : pithp_function_of(s, pithp_rows[p].name);
}
/* Whether a live array is traced, in the trace of s: it need not be kept there. */
static inline bool pithp_trace_has(const pith_scope *s, const pith_array *a) {
    return pithp_array_is_traced(a) && pithp_scope_trace(s) == a->data;
}

/* ---- Operations made of others ---- */

/* A scope for what lies between operands and results, with the call site of s. In it
 * public functions may be called, and what they refuse is said of the function that was
 * entered in s: in s they would take the sites of calls whose arguments are being
 * evaluated. NULL: the error of s is set. */
pith_scope *pithp_temporaries_open(pith_scope *s);
/* A result of the work in s. NULL stays NULL. */
const pith_array *pithp_temporaries_keep(pith_scope *s, const pith_array *result);
/* The result in s, and the work closed; its error becomes that of s. */
const pith_array *
pithp_temporaries_close(pith_scope *s, pith_scope *work, const pith_array *result);

/* ---- Indices ---- */

/* pith_take for a call that was entered; no_negative: negative indices are not counted
 * from the end. */
const pith_array *pithp_take(pith_scope *s,
                             const pith_array *a,
                             const pith_array *index,
                             const pith_take_options *options,
                             bool no_negative);
/* The parameters of a taking call but for its axis; false with the error set. */
bool pithp_take_params(pith_scope *s,
                       const char *function,
                       pith_dtype dtype,
                       const pith_take_options *options,
                       pithp_index_params *params);
/* The same of a scatter. */
bool pithp_scatter_params(pith_scope *s,
                          const char *function,
                          const pith_scatter_options *options,
                          pithp_index_params *params);
/* A live array of integers. Sets the error else. */
bool pithp_index_check(pith_scope *s,
                       const char *function,
                       const char *name,
                       const pith_array *index);
/* value cast and broadcast to updates of that shape; NULL with the error set. */
const pith_array *pithp_updates(pith_scope *s,
                                const char *function,
                                const pith_array *value,
                                pith_dtype dtype,
                                int rank,
                                const int64_t *shape);
/* The primitive of an operation; PITHP_PRIMITIVE_COUNT with the error set. */
pithp_primitive
pithp_scatter_row(pith_scope *s, const char *function, pith_scatter_operation operation);

#endif
