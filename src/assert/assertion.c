/* Getters of assertions. */
#include "assert/assert_internal.h"

#include <string.h>

pith_assertion *
pithp_assertion_of_launch(pith_scope *s, pith_scope *owner, pithp_check_slot *slot) {
    pithp_error e;
    pith_assertion *a =
        pithp_object_make(owner, PITHP_KIND_OTHER, pithp_assertion_tag, sizeof *a);
    if (!a) {
        pithp_error_move(s, owner);
        return NULL;
    }
    slot->describe(slot->subject, &slot->seen, slot->site, &e);
    *a = (pith_assertion){.slot = {.site = slot->site},
                          .of = slot,
                          .message = "",
                          .path = "",
                          .level = PITH_CHECK_ALWAYS,
                          .code = e.code};
    return !slot->guards || pithp_guard_apply(s, owner, a) == PITH_OK ? a : NULL;
}

/* ---- Conversion to errors ---- */

void pithp_assertion_describe(pithp_stream *st, const pith_assertion *a, pithp_error *e) {
    const pithp_check_slot *slot = a->of;
    pithp_string text;
    if (slot->describe) {
        pithp_report_describe(slot->describe, slot->subject, &slot->of, &slot->seen,
                              slot->site, e);
        if (a->path[0]) {
            char text_of_launch[PITHP_MESSAGE_BYTES];
            memcpy(text_of_launch, e->text, sizeof text_of_launch);
            pithp_error_set(e, e->code, a->path, slot->site, "%s", text_of_launch);
        }
        return;
    }
    pithp_string_begin(&text, st->device->runtime);
    if (pithp_message_print(st, a, &text, e) == PITH_OK)
        pithp_error_set(e, a->code, a->path, a->slot.site, "%s", text.bytes);
    pithp_string_end(&text);
}

pith_status pithp_assertion_raise(pith_scope *s, const pith_assertion *a) {
    pithp_error e;
    pithp_assertion_describe(pithp_scope_stream(s), a, &e);
    return pithp_fail_at(s, e.code, e.path, a->slot.site, "%s", e.text);
}

/* ---- Getters ---- */

static bool enter(pith_scope *s, const pith_assertion *a, const char *function) {
    return pithp_enter_as(s, function) && pithp_assertion_check(s, a, function);
}

static bool is_assertion(const pith_assertion *a) {
    return pithp_assertion_check(NULL, a, "");
}

bool pith_assertion_passed(const pith_assertion *a) {
    return is_assertion(a) && !pithp_assertion_failed(a);
}

int64_t pith_assertion_first(const pith_assertion *a) {
    if (!is_assertion(a) || !pithp_assertion_failed(a))
        return -1;
    const uint64_t first = ~a->of->seen.first; /* launches: after the line number */
    return (int64_t)(a->of->describe ? first & (((uint64_t)1 << PITH_REPORT_BITS_) - 1)
                                     : first);
}

const char *(pith_assertion_message)(pith_scope *s, const pith_assertion *a) {
    if (!enter(s, a, "pith_assertion_message"))
        return NULL;
    pithp_error e;
    pithp_assertion_describe(pithp_scope_stream(s), a, &e);
    if (e.code == PITH_E_MEMORY || e.code == PITH_E_DEVICE) {
        pithp_fail_device(s, &e);
        return NULL;
    }
    const size_t n = strlen(e.text) + 1;
    char *text = pithp_scope_allocate(s, n);
    if (text)
        memcpy(text, e.text, n);
    return text;
}

pith_status(pith_assertion_raise)(pith_scope *s, const pith_assertion *a) {
    if (!enter(s, a, "pith_assertion_raise"))
        return pith_code(s);
    return pithp_assertion_failed(a) ? pithp_assertion_raise(s, a) : PITH_OK;
}

const char *pith_assertion_text(const pith_assertion *a) {
    return is_assertion(a) ? a->message : "";
}

pith_status pith_assertion_code(const pith_assertion *a) {
    return is_assertion(a) ? a->code : PITH_E_ARG;
}

const char *pith_assertion_site(const pith_assertion *a) {
    if (!is_assertion(a) || !a->slot.site)
        return "";
    const char *slash = strrchr(a->slot.site, '/'); /* errors show the base name */
    return slash ? slash + 1 : a->slot.site;
}

const char *pith_assertion_path(const pith_assertion *a) {
    return is_assertion(a) ? a->path : "";
}

const pith_array *(pith_assertion_predicate)(pith_scope *s, const pith_assertion *a) {
    if (!enter(s, a, "pith_assertion_predicate"))
        return NULL;
    if (a->buffer)
        return pithp_array_view(s, a->spec, a->buffer, (void *)(uintptr_t)a->slot.data);
    pithp_fail(s, PITH_E_ARG, NULL,
               "pith_assertion_predicate: a check inside a kernel has no predicate");
    return NULL;
}

const char *pith_assertion_arg_name(const pith_assertion *a, int64_t index) {
    return is_assertion(a) && index >= 0 && index < a->arg_count ? a->args[index].name
                                                                 : NULL;
}

const pith_array *(pith_assertion_arg)(pith_scope *s,
                                       const pith_assertion *a,
                                       const char *name) {
    if (!enter(s, a, "pith_assertion_arg"))
        return NULL;
    for (int32_t i = 0; name && i < a->arg_count; i++)
        if (strcmp(a->args[i].name, name) == 0)
            return pithp_array_view(s, a->args[i].spec, a->args[i].buffer,
                                    a->args[i].data);
    pithp_fail(s, PITH_E_ARG, NULL, "pith_assertion_arg: there is no argument %.80s",
               name ? name : "NULL");
    return NULL;
}

const char *pith_assertion_info(const pith_assertion *a, const char *name) {
    for (int32_t i = 0; name && is_assertion(a) && i < a->info_count; i++)
        if (strcmp(a->infos[i].name, name) == 0)
            return a->infos[i].text;
    return NULL;
}

bool pith_assertion_fixable(const pith_assertion *a) {
    return is_assertion(a) && pithp_assertion_has_fix(a);
}

const pith_function *pith_assertion_fix(const pith_assertion *a) {
    return is_assertion(a) ? a->function : NULL;
}

const void *pith_assertion_fix_args(const pith_assertion *a) {
    return is_assertion(a) ? a->fix_args : NULL;
}

const void *(pith_assertion_repair_any)(pith_scope *s,
                                        const pith_assertion *a,
                                        const void *root) {
    if (!enter(s, a, "pith_assertion_repair") ||
        pithp_tree_check(s, root, "pith_assertion_repair", "root") != PITH_OK)
        return pithp_nil_for(root);
    if (!pithp_assertion_has_fix(a)) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_assertion_repair: the check at %s has no fix",
                   pith_assertion_site(a));
        return pithp_nil_for(root);
    }
    const void *fixed = pithp_assertion_fix(s, a, root);
    return fixed ? fixed : pithp_nil_for(root);
}
