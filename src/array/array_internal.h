/* Array values: a handle over an interned spec and a part of a buffer; or, if traced,
 * over a value of a program. Rooms above make handles here; the operations are in
 * include/pith/array.h. */
#ifndef PITH_ARRAY_INTERNAL_H
#define PITH_ARRAY_INTERNAL_H

#include "pith/array.h"

#include "gpu/gpu_internal.h"
#include "program/op/call.h"

/* Bits of pithp_header.extra of an array. */
enum { PITHP_ARRAY_TRACED = 1, PITHP_ARRAY_DONATED = 2 };
/* In pithp_header.flags of an array whose spec has a placement: a value that only whole
 * leaves of trees may hold, and no operation on elements accepts. */
enum { PITHP_FLAG_SHARDED = 2 };

/* Follows a pithp_header whose descriptor is the spec. Kept short: work on many small
 * leaves writes one for each. */
struct pith_array {
    void *data; /* device address of the first element; traced: the pithp_trace */
    union {
        pithp_hold *hold; /* of the owning scope on the buffer; counts as one `live` */
        int64_t value;    /* traced: its index in the program */
    };
};

static inline const pith_spec *pithp_array_spec(const pith_array *a) { /* a is checked */
    return pithp_header_of(a)->descriptor;
}
static inline bool pithp_kind_is_array(const void *object) { /* object is checked */
    return pithp_header_of(object)->kind == PITHP_KIND_ARRAY;
}
/* The buffer with the data of a concrete array. */
static inline pithp_buffer *pithp_array_buffer(const pith_array *a) {
    return a->hold->thing;
}
static inline bool pithp_array_is_traced(const pith_array *a) {
    return pithp_header_of(a)->extra & PITHP_ARRAY_TRACED;
}
static inline bool pithp_array_is_sharded(const pith_array *a) {
    return pithp_header_of(a)->flags & PITHP_FLAG_SHARDED;
}

/* Check an array that a user passed as `name` to `function`, if its value is needed. It
 * must be live, an array, of this runtime, not donated, not sharded and concrete. The
 * scope's stream waits for its writer. Otherwise the scope's error is set. */
pith_status pithp_array_check_slow(pith_scope *s,
                                   const pith_array *a,
                                   const char *function,
                                   const char *name);
static inline bool pithp_array_is_ready(pith_scope *s,
                                        const pith_array *a) { /* the common case */
    pithp_block *block = NULL;
    if (PITHP_UNLIKELY(pithp_pointer_check(a, &block) != PITHP_POINTER_OK))
        return false;
    const pithp_header *h = pithp_header_of(a);
    return h->kind == PITHP_KIND_ARRAY && !h->flags && !h->extra &&
           block->runtime == s->runtime &&
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
/* As pithp_array_check, for an operand of pithp_bind, which may be traced in the trace of
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

/* The same for a leaf that is passed on whole: it may be sharded, too. */
pith_status pithp_leaf_check(pith_scope *s,
                             const pith_array *a,
                             const char *function,
                             const char *name);

/* ---- Sharded arrays (placement.c) ---- */

/* The interned placement equal to `like`, which lives as long as the runtime. NULL: the
 * error is set. */
const pith_placement *pithp_placement(pith_scope *s, const pith_placement *like);
/* A leaf under a spec that differs in its placement only: itself if it has that spec,
 * else another handle to the same elements. NULL: the error is set. */
const pith_array *
pithp_array_place(pith_scope *s, const pith_array *a, const pith_spec *spec);

/* A new array with uninitialised elements, owned by s. NULL: the scope's error is set. */
pith_array *pithp_array_make(pith_scope *s, const pith_spec *spec);
/* Makes several arrays. Small ones (under 64 KiB) share one block, back to back in the
 * given order, so that flat work can cover all of them. Nothing is made on failure. */
enum { PITHP_SHARED_BYTES = 65536 };
static inline bool pithp_array_shares(const pith_spec *spec) {
    return spec->bytes < PITHP_SHARED_BYTES;
}
/* Distance in bytes between consecutive shared arrays. */
static inline size_t pithp_array_step(const pith_spec *spec) {
    return (spec->bytes + PITHP_ALIGNMENT - 1) & ~(size_t)(PITHP_ALIGNMENT - 1);
}
pith_status pithp_arrays_make(pith_scope *s,
                              int64_t count,
                              const pith_spec *const *specs,
                              const pith_array **arrays);
/* Layout of a list of arrays that is made repeatedly. Some list positions may stay
 * empty. */
typedef struct pithp_array_run { /* adjacent arrays of one spec */
    const pith_spec *spec;
    int64_t count, at; /* at: position of the first */
} pithp_array_run;
typedef struct pithp_layout {
    int64_t count, run_count;
    size_t shared; /* bytes of the block for small arrays; or PITHP_NONE_SHARES */
    pithp_array_run *runs;
} pithp_layout;
#define PITHP_NONE_SHARES SIZE_MAX
/* specs: by position; NULL: empty. Release the layout even on failure, when the error is
 * set. */
pith_status pithp_layout_make(pith_scope *s,
                              pithp_layout *l,
                              int64_t count,
                              const pith_spec *const *specs);
void pithp_layout_release(pith_runtime *rt, const pithp_layout *l);
/* As pithp_arrays_make; data receives the addresses. */
pith_status pithp_arrays_lay_out(pith_scope *s,
                                 const pithp_layout *l,
                                 const pith_array **arrays,
                                 void **data);
/* Another handle in s to elements of a buffer that outlives this call (a view, a kept
 * array). */
pith_array *
pithp_array_view(pith_scope *s, const pith_spec *spec, pithp_buffer *buffer, void *data);
/* The same for several arrays, each with the spec of its source. Nothing is made on
 * failure. */
pith_status pithp_arrays_view(pith_scope *s,
                              int64_t count,
                              const pith_array *const *of,
                              const pith_array **arrays);
/* The same for arrays of one spec in the buffer of a hold. */
pith_status pithp_arrays_over(pith_scope *s,
                              const pith_spec *spec,
                              const pithp_hold *from,
                              int64_t count,
                              const void *const *data,
                              const pith_array **arrays);
/* The elements selected by a slice of an axis, with NumPy's rules. Its step is neither 0
 * nor INT64_MIN. */
typedef struct pithp_picked {
    int64_t start, count, step;
} pithp_picked;
pithp_picked pithp_slice_pick(pith_slice slice, int64_t extent);
/* Result spec of pith_slice_array, and the move of its elements from a; move->to is not
 * set. */
struct pithp_move;
pith_status pithp_slice_plan(pith_scope *s,
                             const pith_array *a,
                             int count,
                             const pith_slice *slices,
                             const pith_spec **spec,
                             struct pithp_move *move);
/* Release an array owned by s. A traced array stays with its trace. */
void pithp_array_drop(pith_scope *s, const pith_array *a);
/* Donate the memory of a concrete array: later use is PITH_E_DONATED with the site (NULL:
 * unknown), which must live on. */
void pithp_array_donate(const pith_array *a, const char *site);
void pithp_arrays_donate(int64_t count,
                         const pith_array *const *arrays,
                         const char *site);
/* " at " and the donation site, or two empty texts. */
const char *pithp_array_donated_at(const pith_array *a, const char **at);
/* Copy the elements to the host; waits. */
pith_status pithp_array_read(pith_scope *s, const pith_array *a, void *host);

/* ---- Binding primitives: all operations make arrays through these calls ---- */

/* Apply a primitive to checked operands: computed at once, in s; or recorded if an
 * operand is traced, or if s is tracing and there are no operands. NULL: error set. */
const pith_array *pithp_bind(pith_scope *s,
                             pithp_primitive primitive,
                             int count,
                             const pith_array *const *operands,
                             const void *params);
/* The same for an update of the first operand, which must be the caller's only reference:
 * its memory becomes the result. */
const pith_array *pithp_bind_in_place(pith_scope *s,
                                      pithp_primitive primitive,
                                      int count,
                                      const pith_array *const *operands,
                                      const void *params);
/* A live array under an identity mark: recorded if a is traced; else a itself.
 *
 * @param name Of PITHP_OP_NAME, else NULL. NULL: error set. */
const pith_array *
pithp_mark(pith_scope *s, pithp_primitive mark, const char *name, const pith_array *a);
/* x^(1/order), a square root for order 2, whose derivative is 0 where it is 0 (root.c).
 * NULL: error set. */
const pith_array *pithp_root(pith_scope *s, const pith_array *x, double order);
/* Observer of the random numbers drawn by a thread. */
typedef struct pithp_draw_watch {
    void (*seen)(struct pithp_draw_watch *w,
                 pith_scope *s,
                 pithp_primitive primitive,
                 const pith_spec *spec);
} pithp_draw_watch;
/* Set the observer of this thread (NULL: none); returns the previous one. */
pithp_draw_watch *pithp_watch_draws(pithp_draw_watch *w);
bool pithp_draws_watched(void);

/* Cast a to dtype; a itself if it has that dtype. */
const pith_array *pithp_cast(pith_scope *s, const pith_array *a, pith_dtype dtype);
/* The promoted dtype of two dtypes; PITH_DTYPE_NONE with the error set. */
pith_dtype
pithp_promote_dtypes(pith_scope *s, const char *function, pith_dtype a, pith_dtype b);
/* A rank-0 array of one element; NULL with the error set. */
const pith_array *pithp_scalar(pith_scope *s, pith_dtype dtype, const void *element);
/* Cast operands to their common promoted dtype. */
pith_status pithp_promote_all(pith_scope *s,
                              const char *function,
                              int count,
                              const pith_array **operands);
/* Product of two arrays of one dtype; `and` for bool. */
const pith_array *pithp_multiply(pith_scope *s, const pith_array *a, const pith_array *b);
/* The elements of a under another spec of the same count. */
const pith_array *pithp_alias(pith_scope *s, const pith_array *a, const pith_spec *spec);
/* Broadcast a to another spec of its dtype. *fits: false if impossible. */
const pith_array *pithp_broadcast(pith_scope *s,
                                  const pith_array *a,
                                  int rank,
                                  const int64_t *shape,
                                  bool *fits);
/* Broadcast the shape with that of an array; false if they do not broadcast (no error is
 * set). */
bool pithp_broadcast_shape(const pith_spec *with, int *rank, int64_t *shape);
/* The axes as bits; false with the error set if one is out of range or repeated. */
bool pithp_axes(pith_scope *s,
                const char *function,
                pith_axes axes,
                int rank,
                uint32_t *mask);
/* The axis normalised to 0..rank - 1; -1 with the error set if out of range. */
int pithp_axis(pith_scope *s, const char *function, int axis, int rank);

/* ---- Traces: a function's calls recorded as a program ---- */

/* An object that belongs to a recorded program, shared by those that use the program. */
typedef struct pithp_attached {
    atomic_int refs;
    size_t bytes;
    void (*free)(struct pithp_attached *a);
} pithp_attached;
static inline void pithp_attached_release(pithp_attached *a) { /* NULL does nothing */
    if (a && atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1)
        a->free(a);
}

/* Traced arrays live in a scope of the trace. After its end they are tombstones until the
 * scope that began the trace closes, and a while longer, so that use of a leaked one
 * gives a precise error. */
typedef struct pithp_trace {
    struct pithp_program *program; /* under construction; NULL: the trace has ended */
    pith_scope *handles;
    int depth;    /* nesting depth of traces and recorded functions */
    int max_rank; /* of results of calls: PITH_MAX_RANK; PITHP_MAX_RANK for programs that
                     the library derives */
    bool derived; /* the program will be derived; so will those of traces inside */
    size_t derived_bytes;        /* and keep at most these for backward halves, as will
                                    derivations in it; 0: no limit */
    pithp_error refused;         /* first PITH_E_TRACED, cleared or in an outer scope */
    struct pithp_checks *checks; /* recorded checks (array/checks/checks.h); NULL: none */
    pithp_attached *attached;    /* for the cached program; NULL: none */
    size_t kept_bytes;           /* that derivations keep for backward halves */
    /* Over which axes of the mesh its inputs vary (trace_variance.c). */
    struct pithp_trace *around; /* whose values they are; NULL: plain arrays, all axes */
    int32_t *taken;             /* of each input, its value there; -1: a constant */
    int32_t decides;            /* the value there that decides on a branch; -1: none */
    int64_t taken_room;
    uint32_t varies;        /* axes over which all inputs vary at least */
    int64_t variance_asked; /* answers that depend on the trace around a part */
    /* The function's scope with its original settings, and the call that changed them
     * without restoring; function NULL: none. */
    const pith_scope *scope;
    uint8_t check_level;
    bool no_validation;
    struct {
        const char *function, *site;
    } changed;
} pithp_trace;

/* The trace that records calls on s; NULL: eager mode. Child scopes inherit it. */
static inline pithp_trace *pithp_scope_trace(const pith_scope *s) {
    return s->room[PITHP_ROOM_TRACE];
}
/* Record all later calls on s and on its new child scopes. NULL: error set. */
pithp_trace *pithp_trace_begin(pith_scope *s);
/* Check the nesting depth before recording `name` on s; the error is set if it is too
 * deep. */
pith_status pithp_trace_check_depth(pith_scope *s, const char *name);
/* The next input, a traced array. Inputs precede all other values. NULL: error set. */
const pith_array *pithp_trace_input(pith_scope *s, pithp_trace *t, const pith_spec *spec);
/* A traced array of a value of the program. NULL: error set. */
const pith_array *pithp_trace_array(pith_scope *s, pithp_trace *t, int32_t value);
/* pithp_array_place for a traced array. */
const pith_array *
pithp_trace_place(pith_scope *s, const pith_array *a, const pith_spec *spec);
/* A scope for objects of a program; close it before the runtime, from any thread. NULL:
 * error set. */
pith_scope *pithp_trace_store_open(pith_scope *s);
void pithp_trace_store_close(pith_runtime *rt, pith_scope *store);
/* The value of a checked operand in the program: a concrete array becomes a constant. -1:
 * error set. */
int32_t pithp_trace_value(pith_scope *s, pithp_trace *t, const pith_array *a);
/* A constant of a program with the elements of a checked array. -1: error set. */
int32_t pithp_trace_constant(pith_scope *s, struct pithp_program *p, const pith_array *a);
/* ---- Variance: over which axes of the mesh values vary (trace_variance.c) ---- */

/* Note that the next input of a trace is an array of the trace around it. */
pith_status
pithp_trace_take(pith_scope *s, pithp_trace *t, pithp_trace *around, const pith_array *a);
/* Set what values so far vary over. Without a mesh all sets are empty. */
pith_status pithp_trace_variance(pith_scope *s,
                                 pithp_trace *t,
                                 int64_t count,
                                 const int32_t *values,
                                 uint32_t *axes);
/* Refuse a recorded program that not all ranks would run in step; and of some traced
 * arrays of s those that vary over other axes than `most`, with the path among `names`
 * (program/vary/vary.h). */
pith_status pithp_trace_check_variance(pith_scope *s,
                                       const char *function,
                                       int64_t count,
                                       const pith_array *const *arrays,
                                       const uint32_t *most,
                                       const char *const *names);
/* An array that counts as varying over axes of the scope's mesh from here on, or as equal
 * along them: another handle if it is traced, else itself. NULL: error set. */
const pith_array *pithp_trace_vary(pith_scope *s, const pith_array *a, uint32_t axes);
const pith_array *
pithp_trace_replicated(pith_scope *s, const pith_array *a, uint32_t axes);
/* The same for an argument of pith_shard_map, whose spec says so: a claim about what it
 * was computed from, too. */
const pith_array *pithp_trace_mapped(pith_scope *s, const pith_array *a, uint32_t axes);

/* Note that the call on s has changed a setting of s. */
void pithp_trace_note_set(pith_scope *s);
/* Final checks of a trace; sets the error of s, which began it. If the function continued
 * after PITH_E_TRACED, its program may differ from eager execution. If it left its scope
 * changed, eager calls would have changed the caller's scope. */
pith_status pithp_trace_settle(pith_scope *s, const pithp_trace *t);
/* Stop recording on s, which began the trace; its arrays have no value any more, but can
 * be compared until s closes. The caller owns the program. */
struct pithp_program *pithp_trace_end(pith_scope *s, pithp_trace *t);
/* pithp_bind if an operand is traced. */
const pith_array *pithp_trace_bind(pith_scope *s,
                                   pithp_primitive primitive,
                                   int count,
                                   const pith_array *const *operands,
                                   const void *params);
/* Record an instruction with several results: `results` receives one array each. */
pith_status pithp_trace_bind_many(pith_scope *s,
                                  pithp_primitive primitive,
                                  int count,
                                  const pith_array *const *operands,
                                  const void *params,
                                  const pith_array **results);
/* Check a traced array for use on s: it belongs to the trace of s, and the function
 * accepts traced arrays. Sets the error otherwise. */
pith_status pithp_trace_check(pith_scope *s,
                              const pith_array *a,
                              const char *function,
                              const char *name,
                              bool takes_traced);
/* Handle an error of s about a traced array. If s is no scope of its trace, the trace
 * continues and fails at its end. Returns PITH_E_TRACED. */
pith_status pithp_trace_refuse(const pith_scope *s, const pith_array *a);
/* Function and leaf in reports of indices out of range. */
static inline const char *pithp_index_subject(const pith_scope *s, pithp_primitive p) {
    return s->leaf ? s->leaf : pithp_function_of(s, pithp_ops[p].name);
}
/* Whether a live array is traced in the trace of s, and so needs no keep. */
static inline bool pithp_trace_has(const pith_scope *s, const pith_array *a) {
    return pithp_array_is_traced(a) && pithp_scope_trace(s) == a->data;
}

/* ---- Composed operations ---- */

/* A scope for temporaries of a composed operation, with the call site of s. Public
 * functions are called in it, and their errors name the function entered in s. In s
 * itself they would consume the sites of calls whose arguments are being evaluated. NULL:
 * the error of s is set. */
pith_scope *pithp_temporaries_open(pith_scope *s);
/* Keep a result of the work in s. NULL stays NULL. */
const pith_array *pithp_temporaries_keep(pith_scope *s, const pith_array *result);
/* Keep the result in s and close the work scope; its error becomes that of s. */
const pith_array *
pithp_temporaries_close(pith_scope *s, pith_scope *work, const pith_array *result);

/* ---- Indices ---- */

/* pith_take after entry; no_negative: negative indices do not count from the end. */
const pith_array *pithp_take(pith_scope *s,
                             const pith_array *a,
                             const pith_array *index,
                             const pith_take_options *options,
                             bool no_negative);
/* The parameters of a take, except the axis; false with the error set. */
bool pithp_take_params(pith_scope *s,
                       const char *function,
                       pith_dtype dtype,
                       const pith_take_options *options,
                       pithp_index_params *params);
/* The same for a scatter. */
bool pithp_scatter_params(pith_scope *s,
                          const char *function,
                          const pith_scatter_options *options,
                          pithp_index_params *params);
/* Check a live array of integers; otherwise the error is set. */
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
/* The primitive of a scatter operation; PITHP_PRIMITIVE_COUNT with the error set. */
pithp_primitive
pithp_scatter_row(pith_scope *s, const char *function, pith_scatter_operation operation);

#endif
