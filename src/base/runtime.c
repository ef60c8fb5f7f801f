/* Runtimes: the part that every room needs. The gpu room opens a runtime and gives it a
 * device. */
#include "base/base_internal.h"
#include "base/format.h"
#include "base/in_flight.h"
#include "base/private.h"

#include <string.h>

static pith_runtime no_memory = {
    .magic = PITHP_RUNTIME_MAGIC,
    .failed = true,
    .error = {.code = PITH_E_MEMORY, .message = "out of memory: no room for a runtime"},
};

bool pithp_runtime_is_static(const pith_runtime *rt) {
    return rt == &no_memory;
}

pith_runtime *pithp_runtime_create(const pith_allocator *allocator) {
    /* The block allocator counts its bytes in a runtime: the first one lives on the
     * stack. */
    pith_runtime first = {.allocator = allocator ? *allocator : pithp_libc_allocator};
    if (pthread_mutex_init(&first.lock, NULL) != 0)
        return &no_memory;
    pithp_block *block = pithp_block_acquire(&first, sizeof(pithp_block) + sizeof first);
    pthread_mutex_destroy(&first.lock);
    if (!block)
        return &no_memory;
    pith_runtime *rt = (pith_runtime *)((char *)block + sizeof *block);
    memset(rt, 0, sizeof *rt);
    rt->allocator = first.allocator;
    atomic_init(&rt->bytes_allocated, atomic_load(&first.bytes_allocated));
    if (pthread_mutex_init(&rt->lock, NULL) != 0) {
        rt->magic = 0;
        pithp_block_free(rt, block);
        return &no_memory;
    }
    block->runtime = rt;
    rt->magic = PITHP_RUNTIME_MAGIC;
    rt->open = true;
    return rt;
}

bool pithp_runtime_valid(const pith_runtime *rt) {
    pithp_block *block = NULL;
    if (pithp_runtime_is_static(rt))
        return true;
    return rt && pithp_block_find(rt, &block) == PITHP_BLOCK_LIVE &&
           (const char *)rt == (const char *)block + sizeof(pithp_block) &&
           rt->magic == PITHP_RUNTIME_MAGIC && rt->open;
}

void pithp_runtime_fail(pith_runtime *rt, pith_status code, const char *format, ...) {
    if (pithp_runtime_is_static(rt))
        return;
    char text[PITHP_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&rt->lock);
    if (rt->error.code == PITH_OK)
        pithp_error_set(&rt->error, code, NULL, NULL, "%s", text);
    atomic_store_explicit(&rt->failed, true, memory_order_release);
    pthread_mutex_unlock(&rt->lock);
}

void pithp_room_hook(pith_runtime *rt, pithp_room room, const pithp_room_hooks *hooks) {
    atomic_store_explicit(&rt->hooks[room], hooks, memory_order_release);
    if (hooks->root_opened)
        atomic_fetch_or_explicit(&rt->told_opened, 1u << room, memory_order_release);
    if (hooks->scope_closing)
        atomic_fetch_or_explicit(&rt->told_closing, 1u << room, memory_order_release);
}

static const pithp_room_hooks *hooks_of(const pith_runtime *rt, int room) {
    return atomic_load_explicit(&rt->hooks[room], memory_order_acquire);
}

/* Free everything, after all threads of the runtime have ended. */
static void free_runtime(pith_runtime *rt) {
    while (rt->scopes)
        pith_scope_close(rt->scopes);
    for (int i = PITHP_ROOM_COUNT; i-- > 0;) {
        const pithp_room_hooks *hooks = hooks_of(rt, i);
        if (hooks && hooks->runtime_closing)
            hooks->runtime_closing(rt);
    }
    pithp_specs_free(rt);
    pithp_block_cache_free(rt);
    rt->open = false;
    rt->magic = 0;
    /* The runtime's own block holds the counter, so a copy on the stack counts its
     * release. */
    pthread_mutex_destroy(&rt->lock);
    pith_runtime last = {.allocator = rt->allocator};
    pthread_mutex_init(&last.lock, NULL);
    atomic_init(&last.bytes_allocated, atomic_load(&rt->bytes_allocated));
    pithp_block_free(&last, (pithp_block *)((char *)rt - sizeof(pithp_block)));
    pithp_block_cache_free(&last);
    pthread_mutex_destroy(&last.lock);
}

void pithp_runtime_destroy(pith_runtime *rt) {
    if (!pithp_runtime_valid(rt) || pithp_runtime_is_static(rt))
        return;
    pithp_closing closing;
    const char *call = NULL;
    if (!pithp_closing_begin(&closing, rt, &call)) {
        if (call)
            pithp_log(rt, PITH_LOG_ERROR,
                      "pith_close: a thread is in %s: the runtime stays open", call);
        return;
    }
    for (int i = PITHP_ROOM_COUNT; i-- > 0;) {
        const pithp_room_hooks *hooks = hooks_of(rt, i);
        if (hooks && hooks->threads_joining)
            hooks->threads_joining(rt);
    }
    pithp_closing_lock();
    free_runtime(rt);
    pithp_closing_end(&closing);
}
