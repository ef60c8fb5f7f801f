/**
 * @file
 * Elements of arrays for other libraries on the same device, such as cuFFT.
 *
 * Order of work. All work of a scope is enqueued on the scope's stream
 * (pith_scope_stream) in the order of the calls. A call may return before its work has
 * run. Work that another library enqueues on that stream runs after all earlier calls and
 * before all later calls; no wait on the host is needed. The caller must order work on
 * any other stream with events. It waits for the scope's stream before it reads, and the
 * scope's stream waits for it before later calls. A host thread must call pith_wait, or
 * read with pith_read.
 *
 * The host has no stream. The calls below wait until the elements are computed, so the
 * caller may use the address at once.
 *
 * Do not capture the scope's stream (cudaStreamBeginCapture): calls of pith copy,
 * allocate and wait there, which ends a capture. Capture on a stream of your own. pith
 * restores the current device and context; make the view's device current before you call
 * CUDA.
 *
 * Included by array.h.
 */
#ifndef PITH_ARRAY_NATIVE_H
#define PITH_ARRAY_NATIVE_H

#include <pith/array.h>

/** Location of the elements of an array. */
typedef struct pith_view {
    const void *data; /**< first element; C order without gaps; NULL for no elements. A
                         device address: on CUDA the host cannot read it */
    size_t bytes;
    const char *kind; /**< of the device: "host" or "cuda", as pith_device_kind */
    int device;       /**< number of the device for cudaSetDevice; 0 on the host */
    void *stream;     /**< pith_scope_stream of the scope argument */
} pith_view;

PITH_BEGIN

/**
 * Get the address of an array's elements, for reading.
 *
 * The address is valid until the array is dropped or donated, or its owning scope is
 * closed. Work that is on the scope's stream by then still reads the right elements:
 * memory is reused in stream order. The elements must not be written, because other
 * arrays may share them. The scope's stream waits for work of other streams that writes
 * the array. Failed checks of that work show at pith_wait.
 *
 * @par Errors
 * PITH_E_ARG: @p a is NULL, dropped or of another runtime, or @p view is NULL.
 * PITH_E_DONATED: @p a is donated. PITH_E_TRACED: @p a is traced.
 *
 * @return Whether @p view was filled in; zeros if not.
 */
PITH_API bool pith_array_view(pith_scope *s, const pith_array *a, pith_view *view);
/**
 * Make an array whose elements another library writes, at the address in *data.
 *
 * Its elements are undefined until then. Enqueue the writes on the scope's stream (on the
 * host: write them) before any other call uses the array. After that the array is
 * immutable. Bool elements must be 0 or 1.
 *
 * @par Errors
 * PITH_E_TRACED: a function is being traced. PITH_E_DTYPE: the dtype is invalid.
 * PITH_E_SHAPE: the shape is invalid. PITH_E_MEMORY: memory is exhausted. PITH_E_ARG:
 * @p data is NULL.
 *
 * @return The array, owned by @p s, or NULL; then *data is NULL too.
 */
PITH_API const pith_array *
pith_array_unwritten(pith_scope *s, pith_dtype dtype, pith_shape shape, void **data);
/**
 * The stream of a scope and of its child scopes.
 *
 * @return On CUDA a cudaStream_t. On the host an address that identifies the stream, as
 * pith_instance_stream. It lives as long as the runtime. Scopes opened after this one is
 * closed may use it too. NULL if the scope has an error.
 */
PITH_API void *pith_scope_stream(pith_scope *s);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_array_view(s, ...)      pith_array_view(PITH_AT(s), __VA_ARGS__)
#    define pith_array_unwritten(s, ...) pith_array_unwritten(PITH_AT(s), __VA_ARGS__)
#    define pith_scope_stream(s)         pith_scope_stream(PITH_AT(s))
#endif
/* End of call sites. */

#endif
