/* Record type declarations: copied, so that they outlive their library, and compared with
 * repeated declarations. */
#include "tree/type_internal.h"

#include <dlfcn.h>
#include <string.h>

char *pithp_type_copy_text(const char *text, size_t length) {
    char *copy = pithp_permanent(length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

/* Copy a string; NULL for NULL. Sets *short_of_memory if memory is short. */
static const char *copy_string(const char *text, bool *short_of_memory) {
    if (!text)
        return NULL;
    const char *copy = pithp_type_copy_text(text, strlen(text));
    *short_of_memory |= !copy;
    return copy;
}

static bool copy_names(pith_field *to, bool *short_of_memory) {
    size_t count = 0;
    while (to->names[count])
        count++;
    const char **copy = pithp_permanent((count + 1) * sizeof *copy);
    if (!copy)
        return false;
    for (size_t i = 0; i < count; i++)
        copy[i] = copy_string(to->names[i], short_of_memory);
    to->names = copy;
    return true;
}

bool pithp_type_copy_field(pithp_field *to, const pith_field *from) {
    bool short_of_memory = false;
    to->slot = -1;
    to->declared = *from;
    pith_field *f = &to->declared;
    f->child = NULL;
    f->name = copy_string(from->name ? from->name : "", &short_of_memory);
    f->spec = copy_string(from->spec, &short_of_memory);
    f->child_name = copy_string(from->child_name, &short_of_memory);
    f->options.unit = copy_string(from->options.unit, &short_of_memory);
    f->options.doc = copy_string(from->options.doc, &short_of_memory);
    f->options.initial_text = copy_string(from->options.initial_text, &short_of_memory);
    f->options.shard = copy_string(from->options.shard, &short_of_memory);
    f->options.rows = copy_string(from->options.rows, &short_of_memory);
    if (from->names && !copy_names(f, &short_of_memory))
        return false;
    return !short_of_memory;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_number(double a,
                        double b) { /* bitwise: NaN fills are equal, -0 differs from 0 */
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_names(const char *const *a, const char *const *b) {
    if (!a || !b)
        return a == b;
    while (*a && *b && strcmp(*a, *b) == 0)
        a++, b++;
    return !*a && !*b;
}

/* Hooks are compared by name, because each translation unit has its own copy of a static
 * function. */
static bool same_field(const pith_field *a, const pith_field *b) {
    return same_text(a->name, b->name) && a->offset == b->offset && a->size == b->size &&
           a->kind == b->kind && same_text(a->spec, b->spec) &&
           same_text(a->child_name, b->child_name) && a->static_kind == b->static_kind &&
           same_names(a->names, b->names) && a->hook_kind == b->hook_kind &&
           same_text(a->options.unit, b->options.unit) &&
           same_text(a->options.doc, b->options.doc) &&
           same_number(a->options.fill, b->options.fill) &&
           same_number(a->options.initial, b->options.initial) &&
           same_text(a->options.initial_text, b->options.initial_text) &&
           a->options.optional == b->options.optional &&
           a->options.compress == b->options.compress &&
           same_text(a->options.shard, b->options.shard) &&
           same_text(a->options.rows, b->options.rows);
}

const char *pithp_type_spec_name(const pith_type_spec *spec) {
    for (size_t i = 0; i < spec->field_count; i++) {
        const char *name = spec->fields[i].options.initial_text;
        if (spec->fields[i].kind == PITH_FIELD_HOOK &&
            spec->fields[i].hook_kind == PITH_HOOK_NAMED && name && *name)
            return name;
    }
    return spec->name;
}

int32_t pithp_type_difference(const pith_type *t, const pith_type_spec *spec) {
    const size_t count = (size_t)t->field_count;
    for (size_t i = 0; i < count && i < spec->field_count; i++)
        if (!same_field(&t->fields[i].declared, &spec->fields[i]))
            return (int32_t)i;
    if (count != spec->field_count)
        return (int32_t)(count < spec->field_count ? count : spec->field_count);
    return t->size == spec->size && t->alignment == spec->alignment ? -1 : -2;
}

/* Replace a hook whose library was unloaded by that of another copy of the
 * declaration. */
static void refresh_hook(void (**hook)(void), void (*other)(void)) {
    Dl_info info;
    if (*hook && other && dladdr((void *)(uintptr_t)*hook, &info) == 0)
        __atomic_store_n(hook, other, __ATOMIC_RELEASE);
}

void pithp_type_refresh_hooks(pith_type *t, const pith_type_spec *spec) {
    for (size_t i = 0; i < spec->field_count; i++)
        switch (spec->fields[i].hook_kind) {
            case PITH_HOOK_VALIDATE:
                refresh_hook(&t->check, spec->fields[i].hook);
                break;
            case PITH_HOOK_MATCH:
                refresh_hook(&t->match, spec->fields[i].hook);
                break;
            case PITH_HOOK_SCATTER_ARGS:
                refresh_hook(&t->scatter_args, spec->fields[i].hook);
                break;
            case PITH_HOOK_UPGRADE:
                refresh_hook(&t->fields[i].declared.hook, spec->fields[i].hook);
                break;
            case PITH_HOOK_NONE:
            case PITH_HOOK_VERSION:
            case PITH_HOOK_FORMERLY:
            case PITH_HOOK_NAMED:
            case PITH_HOOK_USES:
                break;
        }
}
