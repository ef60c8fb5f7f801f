/**
 * @file
 * The memory manager: which part of a device's memory each part of a program may use.
 *
 * A part of a program that wants a share of the device registers as an instance. An
 * instance has a proportion of the device's memory of its own (manual), or shares what
 * the others leave (automatic). Scopes opened on an instance count their arrays for it;
 * all other scopes count for the instance "default", which has no share and no cap.
 * Instances may be grouped: a group has one stream.
 *
 * Every function may be called from any thread. No lock is held while a hook is called.
 */
#ifndef PITH_MEMORY_H
#define PITH_MEMORY_H

#include <pith/base.h>
#include <pith/memory_allocator.h>
#include <pith/memory_host.h>
#include <pith/memory_request.h>
#include <pith/memory_statistics.h>

PITH_BEGIN

/**
 * Told that an instance's allocations (memory_request.h) are about to be freed: it must
 * not use them when the hook has returned. Called by pith_memory_invalidate_all, and for
 * idle instances when memory is short: those without an open scope and without a call in
 * progress, least recently used first.
 */
typedef void (*pith_invalidate_hook)(pith_instance *instance, void *closure);
/** Told what pith_instance_allocate_queue has allocated for an instance. @p response
 * lives until the hook returns, the allocations until they are freed. */
typedef void (*pith_ready_hook)(pith_instance *instance,
                                const pith_response *response,
                                void *closure);

/** How to register an instance; everything zero is the default. */
typedef struct pith_instance_options {
    double proportion PITH_DEFAULT; /**< of the device's memory, over 0 up to
                                       1; 0: an equal part of what the others
                                       leave */
    const char *group PITH_DEFAULT; /**< NULL: "default"; copied */
    pith_invalidate_hook invalidate PITH_DEFAULT; /**< NULL: none is needed */
    pith_ready_hook ready PITH_DEFAULT;           /**< NULL: none */
    void *closure PITH_DEFAULT;                   /**< of both hooks */
} pith_instance_options;

/* ---- Instances ---- */

/**
 * Register an instance.
 *
 * Automatic instances have equal parts of what the manual ones leave, which is never less
 * than 5 % of the device where there are any; all parts change whenever an instance
 * comes, goes or changes.
 *
 * Errors (the scope's, PITH_E_ARG): a name that is taken; a name, or a name of a group,
 * that is empty or over 63 bytes; a proportion outside 0 to 1; proportions that sum up to
 * more than the whole, or leave automatic instances less than 5 %. PITH_E_MEMORY. This
 * call, and those that change an instance, a limit or an allocation, are PITH_E_TRACED
 * while a function is traced.
 * Warnings: PITH_WARNING_LITTLE_LEFT, PITH_WARNING_SQUEEZED.
 *
 * @param options NULL for the defaults.
 * @return The instance, the runtime's until pith_instance_close, or NULL.
 */
PITH_API pith_instance *
pith_instance_open(pith_scope *s, const char *name, const pith_instance_options *options);
/**
 * Give an instance's share back; the parts of the automatic ones grow.
 *
 * Arrays and scopes that count for it stay as they are, and are counted until they go.
 * Closing NULL, a closed instance, or "default" does nothing.
 */
PITH_API void pith_instance_close(pith_instance *instance);
/** The instance of that name; NULL where there is none. "default" is always there. */
PITH_API pith_instance *pith_instance_find(const pith_runtime *rt, const char *name);
/** The name it was registered with; "" for what is no open instance. */
PITH_API const char *pith_instance_name(const pith_instance *instance);

/**
 * Open a scope whose arrays count for an instance, on the stream of its group; children
 * of the scope inherit both.
 *
 * Scopes on one stream share it as if they were one scope: use them from one thread at a
 * time.
 *
 * @return A scope, never NULL; where @p instance is no open instance of @p rt it carries
 * PITH_E_ARG, and nothing can be made in it.
 */
PITH_API pith_scope *pith_scope_open_on(pith_runtime *rt, pith_instance *instance);
/** The instance that a scope's arrays count for; NULL for what is no open scope. */
PITH_API pith_instance *pith_scope_instance(const pith_scope *s);

/* ---- Proportions ---- */

/** The part of the device's memory that an instance may use: its own or its equal share;
 * 1 for "default"; 0 for what is no open instance. */
PITH_API double pith_instance_proportion(const pith_instance *instance);
/** The proportion in bytes. */
PITH_API size_t pith_instance_cap(const pith_instance *instance);
/** Whether the proportion is the instance's own; false for "default", and for what is no
 * open instance. */
PITH_API bool pith_instance_is_manual(const pith_instance *instance);
/** Sum of the proportions of manual instances. */
PITH_API double pith_memory_manual_proportion(const pith_runtime *rt);
/** Sum of the shares of automatic instances: what the manual ones leave; 0 where there is
 * no automatic one. */
PITH_API double pith_memory_auto_proportion(const pith_runtime *rt);

/**
 * Change the proportion of an instance; an automatic one becomes manual.
 *
 * Errors (PITH_E_ARG): as of pith_instance_open; "default" has none. Nothing is changed
 * then.
 */
PITH_API bool
pith_instance_set_proportion(pith_scope *s, pith_instance *instance, double proportion);
/** Make an automatic instance manual; one that is manual already is an error. */
PITH_API bool
pith_instance_set_manual(pith_scope *s, pith_instance *instance, double proportion);
/** Make a manual instance automatic; one that is automatic already is an error. */
PITH_API bool pith_instance_set_auto(pith_scope *s, pith_instance *instance);

/* ---- Limits ---- */

/** What caps are for. */
typedef enum pith_limits {
    PITH_LIMITS_PASSIVE, /**< instances may use all there is; the default */
    PITH_LIMITS_ACTIVE   /**< an array beyond the instance's cap is PITH_E_MEMORY */
} pith_limits;

/** Set what caps are for; any other value is PITH_E_ARG. */
PITH_API bool pith_memory_set_limits(pith_scope *s, pith_limits limits);
/** What caps are for now. */
PITH_API pith_limits pith_memory_limits(const pith_runtime *rt);

/**
 * Bytes that a group of instances can still allocate: what the device has left, and under
 * active limits no more than what is left of the caps of the group's instances.
 *
 * Warning: PITH_WARNING_GROUP_FULL where under active limits more than 95 % is used.
 * @return 0 with the scope's error PITH_E_ARG where there is no such group.
 */
PITH_API size_t pith_memory_available(pith_scope *s, const char *group);

/* ---- Warnings ---- */

/** What a warning is about. */
typedef enum pith_warning {
    PITH_WARNING_LITTLE_LEFT, /**< manual proportions leave less than 5 % */
    PITH_WARNING_SQUEEZED,    /**< automatic instances hold more than their new cap */
    PITH_WARNING_GROUP_FULL,  /**< a group has used more than 95 % of its caps */
    PITH_WARNING_MANY_CHUNKS, /**< requests of more than 20 times what is available */
    PITH_WARNING_SHRUNK       /**< chunks had to be shorter than planned */
} pith_warning;
/** Receives warnings of the memory manager. */
typedef void (*pith_warning_hook)(pith_warning warning,
                                  const char *message,
                                  void *closure);
/** Set who is warned; without a hook warnings go to the runtime's log hook. */
PITH_API void
pith_memory_set_warning_hook(pith_runtime *rt, pith_warning_hook hook, void *closure);

/* ---- Groups and their streams ---- */

/** The group of an instance; "" for what is no open instance, and for "default". */
PITH_API const char *pith_instance_group(const pith_instance *instance);
/** Whether an instance shares a group other than "default" with another one. */
PITH_API bool pith_instance_is_grouped(const pith_instance *instance);
/**
 * Move an instance to another group, which is made where there is none. Scopes that are
 * open stay on the stream they have; those opened later are on the new group's, which
 * waits for what is enqueued on the old one now. Its queued requests go with it.
 *
 * Errors: PITH_E_ARG for "default", which is in no group, for what is no open instance,
 * and for a name that is empty or over 63 bytes; PITH_E_MEMORY.
 */
PITH_API bool
pith_instance_set_group(pith_scope *s, pith_instance *instance, const char *group);
/** The stream of an instance's group: a cudaStream_t on CUDA, elsewhere an address that
 * tells streams apart. NULL with the scope's error: PITH_E_ARG for "default", which is in
 * no group, and for what is no open instance. */
PITH_API void *pith_instance_stream(pith_scope *s, pith_instance *instance);
/** Wait until all that is enqueued on the stream of an instance has run. Errors: as of
 * pith_instance_stream, and those of the device. */
PITH_API bool pith_instance_wait(pith_scope *s, pith_instance *instance);
/**
 * Give every group a new stream, after all that is enqueued on the old ones has run.
 * Scopes that are open keep theirs.
 */
PITH_API bool pith_memory_reset_streams(pith_scope *s);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_instance_open(s, ...) pith_instance_open(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_set_proportion(s, ...)                                         \
        pith_instance_set_proportion(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_set_manual(s, ...)                                             \
        pith_instance_set_manual(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_set_auto(s, ...) pith_instance_set_auto(PITH_AT(s), __VA_ARGS__)
#    define pith_memory_set_limits(s, ...) pith_memory_set_limits(PITH_AT(s), __VA_ARGS__)
#    define pith_memory_available(s, ...)  pith_memory_available(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_set_group(s, ...)                                              \
        pith_instance_set_group(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_stream(s, ...) pith_instance_stream(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_wait(s, ...)   pith_instance_wait(PITH_AT(s), __VA_ARGS__)
#    define pith_memory_reset_streams(s) pith_memory_reset_streams(PITH_AT(s))
#endif
/* End of call sites. */

#endif
