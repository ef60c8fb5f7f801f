/**
 * @file
 * The memory manager: shares of a device's memory for parts of a program.
 *
 * A part of a program that needs a share of the device registers as an instance. A manual
 * instance has its own proportion of the device's memory. Automatic instances share the
 * rest. Arrays of a scope that is opened on an instance count for that instance. Arrays
 * of all other scopes count for the instance "default", which has no share and no cap. A
 * group of instances shares one stream.
 *
 * All functions may be called from any thread. No lock is held during a hook.
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
 * Receives an instance before its allocations (memory_request.h) are freed. The
 * instance must not use them after the hook returns.
 *
 * pith_memory_invalidate_all calls the hook. The library also calls it for idle instances
 * if memory is short, the least recently used one first. An instance is idle if it has no
 * open scope and no call in progress.
 */
typedef void (*pith_invalidate_hook)(pith_instance *instance, void *closure);
/**
 * Receives the allocations that pith_instance_allocate_queue made for an instance. @p
 * response is valid until the hook returns. The allocations are valid until they are
 * freed.
 */
typedef void (*pith_ready_hook)(pith_instance *instance,
                                const pith_response *response,
                                void *closure);

/** Options of pith_instance_open; zero is the default. */
typedef struct pith_instance_options {
    /**
     * Proportion of the device's memory, above 0 and at most 1. 0: automatic, an equal
     * part of the memory that manual instances leave.
     */
    double proportion PITH_DEFAULT;
    const char *group PITH_DEFAULT;               /**< NULL: "default"; copied */
    pith_invalidate_hook invalidate PITH_DEFAULT; /**< NULL: no hook */
    pith_ready_hook ready PITH_DEFAULT;           /**< NULL: no hook */
    void *closure PITH_DEFAULT;                   /**< argument of both hooks */
} pith_instance_options;

/* ---- Instances ---- */

/**
 * Register an instance.
 *
 * Automatic instances have equal parts of the memory that manual instances leave. If
 * there are automatic instances, this rest is at least 5 % of the device. All parts
 * change if an instance is opened, closed or changed.
 *
 * @par Warnings
 * PITH_WARNING_LITTLE_LEFT: manual proportions leave less than 5 %.
 * PITH_WARNING_SQUEEZED: automatic instances hold more than their new cap.
 *
 * @param options NULL for the defaults.
 *
 * @par Errors
 * PITH_E_ARG: the name is taken; a name of the instance or group is empty or longer than
 * 63 bytes; the proportion is outside 0 to 1; all proportions exceed 1, or leave
 * automatic instances less than 5 %. PITH_E_MEMORY: no memory. PITH_E_TRACED: a function
 * is traced. All functions that change an instance, a limit or an allocation also report
 * PITH_E_TRACED.
 *
 * @return The instance, owned by the runtime until pith_instance_close, or NULL.
 */
PITH_API pith_instance *
pith_instance_open(pith_scope *s, const char *name, const pith_instance_options *options);
/**
 * Close an instance and release its share. The parts of automatic instances grow.
 *
 * Its arrays and scopes remain valid. They are counted until they are freed. For NULL, a
 * closed instance, or "default" the call does nothing.
 */
PITH_API void pith_instance_close(pith_instance *instance);
/**
 * Find an instance by its name; NULL if no instance has the name. "default" always
 * exists.
 */
PITH_API pith_instance *pith_instance_find(const pith_runtime *rt, const char *name);
/** Get the name of an instance; "" if @p instance is no open instance. */
PITH_API const char *pith_instance_name(const pith_instance *instance);

/**
 * Open a scope whose arrays count for an instance, on the stream of its group. Children
 * of the scope inherit both.
 *
 * Scopes on one stream behave like one scope: only one thread may use them at a time.
 *
 * @par Errors
 * PITH_E_ARG: @p instance is no open instance of @p rt. The scope carries the error, and
 * no object can be made in it.
 *
 * @return A scope, never NULL.
 */
PITH_API pith_scope *pith_scope_open_on(pith_runtime *rt, pith_instance *instance);
/** Get the instance that a scope's arrays count for; NULL if @p s is no open scope. */
PITH_API pith_instance *pith_scope_instance(const pith_scope *s);

/* ---- Proportions ---- */

/**
 * Get the proportion of the device's memory that an instance may use: its own or its
 * equal share. 1 for "default"; 0 if @p instance is no open instance.
 */
PITH_API double pith_instance_proportion(const pith_instance *instance);
/** Get the proportion of an instance in bytes. */
PITH_API size_t pith_instance_cap(const pith_instance *instance);
/**
 * Whether an instance has its own proportion; false for "default", and if @p instance is
 * no open instance.
 */
PITH_API bool pith_instance_is_manual(const pith_instance *instance);
/** Get the sum of the proportions of manual instances. */
PITH_API double pith_memory_manual_proportion(const pith_runtime *rt);
/**
 * Get the sum of the shares of automatic instances, the rest beside the manual ones; 0 if
 * there is no automatic instance.
 */
PITH_API double pith_memory_auto_proportion(const pith_runtime *rt);

/**
 * Change the proportion of an instance. An automatic instance becomes manual.
 *
 * @par Errors
 * PITH_E_ARG: as for pith_instance_open, or @p instance is "default". A failure changes
 * nothing.
 *
 * @return Whether the proportion was changed.
 */
PITH_API bool
pith_instance_set_proportion(pith_scope *s, pith_instance *instance, double proportion);
/**
 * Make a manual instance automatic.
 *
 * @par Errors
 * PITH_E_ARG: the instance is already automatic. Also all errors of
 * pith_instance_set_proportion.
 *
 * @return Whether the instance was changed.
 */
PITH_API bool pith_instance_set_auto(pith_scope *s, pith_instance *instance);

/* ---- Limits ---- */

/** Effect of caps. */
typedef enum pith_limits {
    PITH_LIMITS_PASSIVE, /**< instances may use all memory; the default */
    PITH_LIMITS_ACTIVE   /**< an array beyond the instance's cap is PITH_E_MEMORY */
} pith_limits;

/**
 * Set the effect of caps.
 *
 * @par Errors
 * PITH_E_ARG: @p limits is no value of the enum.
 *
 * @return Whether the effect was set.
 */
PITH_API bool pith_memory_set_limits(pith_scope *s, pith_limits limits);
/** Get the effect of caps. */
PITH_API pith_limits pith_memory_limits(const pith_runtime *rt);

/**
 * Get the bytes that a group of instances can still allocate: the free memory of the
 * device. Under active limits it is at most the unused part of the caps of the group's
 * instances.
 *
 * @par Warnings
 * PITH_WARNING_GROUP_FULL: limits are active and more than 95 % is used.
 *
 * @par Errors
 * PITH_E_ARG: there is no such group.
 *
 * @return The bytes; 0 on failure.
 */
PITH_API size_t pith_memory_available(pith_scope *s, const char *group);

/* ---- Warnings ---- */

/** Kind of a warning. */
typedef enum pith_warning {
    PITH_WARNING_LITTLE_LEFT, /**< manual proportions leave less than 5 % */
    PITH_WARNING_SQUEEZED,    /**< automatic instances hold more than their new cap */
    PITH_WARNING_GROUP_FULL,  /**< a group has used more than 95 % of its caps */
    PITH_WARNING_MANY_CHUNKS, /**< requests of more than 20 times the free memory */
    PITH_WARNING_SHRUNK       /**< chunks had to be shorter than planned */
} pith_warning;
/** Receives warnings of the memory manager. */
typedef void (*pith_warning_hook)(pith_warning warning,
                                  const char *message,
                                  void *closure);
/** Set the hook for warnings. Without a hook, the runtime's log hook receives them. */
PITH_API void
pith_memory_set_warning_hook(pith_runtime *rt, pith_warning_hook hook, void *closure);

/* ---- Groups and their streams ---- */

/**
 * Get the group of an instance; "" for "default", and if @p instance is no open instance.
 */
PITH_API const char *pith_instance_group(const pith_instance *instance);
/** Whether an instance shares a group other than "default" with another instance. */
PITH_API bool pith_instance_is_grouped(const pith_instance *instance);
/**
 * Move an instance to another group. A missing group is created.
 *
 * Open scopes stay on their stream. Later scopes use the stream of the new group, which
 * waits for the work now enqueued on the old stream. Queued requests of the instance move
 * with it.
 *
 * @par Errors
 * PITH_E_ARG: the instance is "default", which is in no group; @p instance is no open
 * instance; the name is empty or longer than 63 bytes. PITH_E_MEMORY: no memory.
 *
 * @return Whether the instance was moved.
 */
PITH_API bool
pith_instance_set_group(pith_scope *s, pith_instance *instance, const char *group);
/**
 * Get the stream of an instance's group: a cudaStream_t on CUDA, elsewhere an address
 * that identifies the stream.
 *
 * @par Errors
 * PITH_E_ARG: the instance is "default", which is in no group, or @p instance is no open
 * instance.
 *
 * @return The stream, or NULL.
 */
PITH_API void *pith_instance_stream(pith_scope *s, pith_instance *instance);
/**
 * Wait for all work on the stream of an instance.
 *
 * @par Errors
 * All errors of pith_instance_stream, and errors of the device.
 *
 * @return Whether the work succeeded.
 */
PITH_API bool pith_instance_wait(pith_scope *s, pith_instance *instance);
/**
 * Give every group a new stream after all work on the old streams has run. Open scopes
 * keep their stream.
 *
 * @return Whether the streams were replaced.
 */
PITH_API bool pith_memory_reset_streams(pith_scope *s);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_instance_open(s, ...) pith_instance_open(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_set_proportion(s, ...)                                         \
        pith_instance_set_proportion(PITH_AT(s), __VA_ARGS__)
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
