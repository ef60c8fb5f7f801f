/* Record types: registry of declarations, copied and checked once, and found by name.
 * Types, their nil and initial records live as long as the process. */
#include "base/format.h"
#include "tree/static_kind.h"
#include "tree/type_internal.h"

#include <stdio.h>
#include <string.h>

enum { TYPE_MAGIC = 0x54797065, NAME_BUCKETS = 256 };

/* The nil record of invalid types; never written. */
static char no_values[PITHP_LARGEST_RECORD] __attribute__((aligned(16)));
static const struct pith_type no_memory = {.name = "",
                                           .error =
                                               "out of memory: no room for a record type",
                                           .nil = no_values};
static const struct pith_type array_type = {.name = "array",
                                            .error = "an array is not a record type",
                                            .nil = no_values};
static const struct pith_type no_description = {
    .name = "",
    .error = "pith_type_register: the declaration is NULL",
    .nil = no_values};

/* Guards all statics below. Recursive: registering a type calls the functions of its
 * children, which register them. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pith_type *types;
static int depth;          /* of nested registrations by the thread with the lock */
static pith_type *pending; /* made by them, not yet ready */
static bool pending_short_of_memory;

typedef struct name_entry {
    struct name_entry *next;
    char text[];
} name_entry;
static name_entry *name_buckets[NAME_BUCKETS];

/* ---- Memory of the process ---- */

const char *pithp_name_intern(const char *text, size_t length) {
    name_entry **bucket = &name_buckets[pithp_hash(0, text, length) % NAME_BUCKETS];
    for (name_entry *e = *bucket; e; e = e->next)
        if (strlen(e->text) == length && memcmp(e->text, text, length) == 0)
            return e->text;
    name_entry *made = pithp_permanent(sizeof *made + length + 1);
    if (!made)
        return NULL;
    memcpy(made->text, text, length);
    made->next = *bucket;
    *bucket = made;
    return made->text;
}

void pithp_type_refuse(pith_type *t, const char *field, const char *format, ...) {
    if (t->error)
        return;
    char reason[PITHP_REASON_BYTES], line[PITHP_REASON_BYTES + 200];
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(reason, sizeof reason, format, arguments);
    va_end(arguments);
    const int n = snprintf(line, sizeof line, "%.80s%s%.80s: %s", t->name,
                           field ? "." : "", field ? field : "", reason);
    const char *copy =
        pithp_type_copy_text(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    t->error = copy ? copy : "out of memory";
}

/* ---- Building a type ---- */

/* The slot kind of a field; -1: the field has no slot. */
static int slot_kind(pith_field_kind kind) {
    switch (kind) {
        case PITH_FIELD_LEAF:
            return PITHP_SLOT_LEAF;
        case PITH_FIELD_CHILD:
            return PITHP_SLOT_CHILD;
        case PITH_FIELD_TREE:
            return PITHP_SLOT_TREE;
        case PITH_FIELD_LIST:
            return PITHP_SLOT_LIST;
        case PITH_FIELD_DICT:
            return PITHP_SLOT_DICT;
        case PITH_FIELD_STATIC:
        case PITH_FIELD_IGNORE:
        case PITH_FIELD_HOOK:
            break;
    }
    return -1;
}

static bool list_slots(pith_type *t) {
    const size_t count = (size_t)t->field_count;
    t->slots = pithp_permanent(count * sizeof *t->slots);
    t->slot_offsets = pithp_permanent(count * sizeof *t->slot_offsets);
    t->slot_fields = pithp_permanent(count * sizeof *t->slot_fields);
    t->statics = pithp_permanent(count * sizeof *t->statics);
    if (!t->slots || !t->slot_offsets || !t->slot_fields || !t->statics)
        return false;
    t->all_leaves = true;
    for (int32_t i = 0; i < t->field_count; i++) {
        const pith_field *f = &t->fields[i].declared;
        const int kind = slot_kind(f->kind);
        if (kind >= 0) {
            const int32_t slot = t->slot_count++;
            t->fields[i].slot = slot;
            t->slot_fields[slot] = i;
            t->slot_offsets[slot] = (uint32_t)f->offset;
            t->slots[slot] = (pithp_slot_info){
                .offset = (uint32_t)f->offset,
                .field = i,
                .kind = (uint8_t)kind,
                .optional = f->options.optional,
            };
            t->all_leaves = t->all_leaves && kind == PITHP_SLOT_LEAF;
        } else if (f->kind == PITH_FIELD_STATIC) {
            t->statics[t->static_count++] = (pithp_static_info){
                (uint32_t)f->offset, (uint32_t)f->size, i, f->static_kind};
        }
    }
    return true;
}

static bool read_leaf_specs(pith_type *t) {
    pithp_spec_reader r = {.name_count = 0};
    pith_field *declared = NULL;
    const size_t count = (size_t)t->field_count;
    /* The parser looks up statics in an array of plain fields. */
    declared = pithp_permanent((count ? count : 1) * sizeof *declared);
    if (!declared)
        return false;
    for (size_t i = 0; i < count; i++)
        declared[i] = t->fields[i].declared;
    r.fields = declared, r.field_count = count;
    for (int32_t i = 0; i < t->slot_count; i++) {
        pithp_field *f = &t->fields[t->slot_fields[i]];
        if (f->declared.kind != PITH_FIELD_LEAF)
            continue;
        if (!f->declared.spec)
            pithp_type_refuse(t, f->declared.name, "a leaf needs a spec");
        else if (!pithp_leaf_spec_parse(&r, f->declared.spec, &f->leaf))
            pithp_type_refuse(t, f->declared.name, "leaf spec %s", r.reason);
    }
    t->names = pithp_permanent(((size_t)r.name_count + 1) * sizeof *t->names);
    if (!t->names || r.short_of_memory)
        return false;
    t->name_count = r.name_count;
    for (int32_t i = 0; i < r.name_count; i++)
        t->names[i] = r.names[i];
    return true;
}

/* Whether a leaf has the name in an extent of that kind. */
static bool binds(const pith_type *t, int32_t name, pithp_extent_kind kind) {
    for (int32_t i = 0; i < t->slot_count; i++) {
        const pithp_leaf_spec *spec = &t->fields[t->slot_fields[i]].leaf;
        for (int32_t k = 0; k < spec->rank; k++)
            if (spec->extents[k].kind == kind && spec->extents[k].name == name)
                return true;
    }
    return false;
}

static bool list_provided(pith_type *t) {
    const size_t most = (size_t)(t->name_count + t->static_count);
    t->provided = pithp_permanent((most + 1) * sizeof *t->provided);
    int32_t *by = pithp_permanent((most + 1) * sizeof *by);
    if (!t->provided || !by)
        return false;
    t->provided_by = by;
    for (int32_t i = 0; i < t->static_count; i++) {
        if (t->statics[i].kind != PITH_STATIC_KIND_I64)
            continue;
        const char *name = t->fields[t->statics[i].field].declared.name;
        const char *interned = pithp_name_intern(name, strlen(name));
        if (!interned)
            return false;
        by[t->provided_count] = t->statics[i].field;
        t->provided[t->provided_count++] = interned;
    }
    for (int32_t i = 0; i < t->name_count; i++) {
        if (binds(t, i, PITHP_EXTENT_OUTER)) {
            t->needs_outer = true;
            t->outer_mask |= pithp_name_bit(t->names[i]);
        }
        if (binds(t, i, PITHP_EXTENT_NAME)) {
            by[t->provided_count] = ~i;
            t->provided[t->provided_count++] = t->names[i];
        }
    }
    for (int32_t i = 0; i < t->provided_count; i++)
        t->provided_mask |= pithp_name_bit(t->provided[i]);
    return true;
}

static void *permanent_record(const pith_type *t, uint8_t flags) {
    pithp_header *h = pithp_permanent(sizeof *h + t->size);
    if (!h)
        return NULL;
    *h = (pithp_header){.magic = PITHP_OBJECT_MAGIC,
                        .kind = PITHP_KIND_RECORD,
                        .flags = flags,
                        .descriptor = t->permanent_shape};
    return h + 1;
}

static bool make_permanent_records(pith_type *t) {
    t->permanent_shape = pithp_permanent(sizeof *t->permanent_shape);
    if (!t->permanent_shape)
        return false;
    t->nil = permanent_record(t, PITHP_FLAG_NIL);
    t->initial = permanent_record(t, PITHP_FLAG_NIL | PITHP_FLAG_INITIAL);
    *t->permanent_shape = (pithp_node_def){
        .kind = PITHP_KIND_RECORD,
        .all_leaves = t->all_leaves,
        .type = t,
        .slot_count = t->slot_count,
        .slot_offsets = t->slot_offsets,
        .payload_bytes = t->size,
        .statics = t->initial,
    };
    return t->nil && t->initial;
}

/* A type whose own fields are checked. NULL if memory is short. */
static pith_type *build(const pith_type_spec *spec) {
    pith_type *t = pithp_permanent(sizeof *t);
    if (!t)
        return NULL;
    t->magic = TYPE_MAGIC;
    t->version = 1;
    t->size = spec->size;
    t->alignment = spec->alignment;
    const char *name = pithp_type_spec_name(spec);
    t->name = pithp_type_copy_text(name, strlen(name));
    t->field_count = (int32_t)spec->field_count;
    t->fields = pithp_permanent((spec->field_count + 1) * sizeof *t->fields);
    if (!t->name || !t->fields)
        return NULL;
    for (size_t i = 0; i < spec->field_count; i++)
        if (!pithp_type_copy_field(&t->fields[i], &spec->fields[i]))
            return NULL;
    if (t->size > PITHP_LARGEST_RECORD) {
        pithp_type_refuse(t, NULL, "the struct has %zu bytes, a record at most %d",
                          t->size, PITHP_LARGEST_RECORD);
        t->nil = t->initial = no_values;
        return t;
    }
    if (!list_slots(t) || !make_permanent_records(t) || !read_leaf_specs(t) ||
        !list_provided(t))
        return NULL;
    pithp_type_check_fields(t);
    pithp_type_check_layout(t, spec->members);
    pithp_type_check_names(t);
    return t;
}

/* ---- Completion of a group of mutually recursive types ---- */

static void resolve_children(pith_type *t, const pith_type_spec *spec) {
    for (int32_t i = 0; i < t->field_count; i++) {
        pithp_field *f = &t->fields[i];
        const pith_type *child = spec->fields[i].child ? spec->fields[i].child() : NULL;
        pending_short_of_memory |= child == &no_memory;
        f->child = child;
        if (f->slot >= 0)
            t->slots[f->slot].child = child;
    }
}

static bool add_need(const char **needs, int32_t *count, const char *name) {
    for (int32_t i = 0; i < *count; i++)
        if (needs[i] == name)
            return false;
    if (*count == PITHP_MOST_NAMES)
        return false;
    needs[(*count)++] = name;
    return true;
}

/* Add the ^names that a type's leaves and children leave to enclosing nodes. Returns
 * whether a name was new. */
static bool grow_needs(pith_type *t) {
    bool grown = false;
    for (int32_t i = 0; i < t->name_count; i++)
        if (binds(t, i, PITHP_EXTENT_OUTER))
            grown |= add_need(t->needs, &t->need_count, t->names[i]);
    for (int32_t i = 0; i < t->slot_count; i++) {
        const pith_type *child = t->slots[i].child;
        for (int32_t k = 0; child && k < child->need_count; k++)
            if (!pithp_type_provides(t, child->needs[k]))
                grown |= add_need(t->needs, &t->need_count, child->needs[k]);
    }
    return grown;
}

static void fill_permanent_records(const pith_type *t) {
    char *nil = (char *)(uintptr_t)t->nil, *initial = (char *)(uintptr_t)t->initial;
    for (int32_t i = 0; i < t->field_count; i++) {
        const pithp_field *f = &t->fields[i];
        const pith_field *d = &f->declared;
        pithp_static_value v;
        if (d->offset > t->size || d->size > t->size - d->offset)
            continue;
        switch (d->kind) {
            case PITH_FIELD_CHILD:
                if (!d->options.optional && f->child)
                    memcpy(nil + d->offset, &f->child->nil, sizeof f->child->nil);
                break;
            case PITH_FIELD_STATIC:
                if (pithp_static_of(d)->size != d->size || !d->size)
                    break; /* the type has an error */
                v = pithp_static_initial(f);
                pithp_static_write(d, &v, initial);
                if (d->static_kind == PITH_STATIC_KIND_RECORD && f->child)
                    memcpy(nil + d->offset, &f->child->nil, d->size);
                break;
            case PITH_FIELD_LEAF:
            case PITH_FIELD_TREE:
            case PITH_FIELD_LIST:
            case PITH_FIELD_DICT:
            case PITH_FIELD_IGNORE:
            case PITH_FIELD_HOOK:
                break;
        }
    }
}

/* Complete the group once all children are resolved: run the remaining checks and publish
 * the types. */
static void complete_pending(void) {
    bool grown = true;
    for (pith_type *t = pending; t; t = t->next_pending)
        pithp_type_check_children(t);
    while (grown) {
        grown = false;
        for (pith_type *t = pending; t; t = t->next_pending)
            grown |= t->needs && grow_needs(t);
    }
    for (pith_type *t = pending; t; t = t->next_pending)
        pithp_type_check_needs(t);
    /* An error in a type is an error of all types with it as a child. */
    grown = true;
    while (grown) {
        grown = false;
        for (pith_type *t = pending; t; t = t->next_pending)
            for (int32_t i = 0; i < t->field_count && !t->error; i++) {
                const pith_type *child = t->fields[i].child;
                if (child && child->error) {
                    pithp_type_refuse(t, t->fields[i].declared.name, "%s", child->error);
                    grown = true;
                }
            }
    }
    for (pith_type *t = pending; t; t = t->next_pending) {
        if (t->nil != no_values)
            fill_permanent_records(t);
        t->ready = true;
    }
}

/* Memory was short: remove the whole group from the registry. */
static void forget_pending(void) {
    pith_type **link = &types;
    while (*link) {
        bool forget = false;
        for (const pith_type *t = pending; t; t = t->next_pending)
            forget |= t == *link;
        if (forget)
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
}

/* ---- Registration ---- */

static void add_to_registry(pith_type *t) {
    pith_type **last = &types;
    while (*last)
        last = &(*last)->next;
    *last = t;
    t->next_pending = pending;
    pending = t;
}

/* Report that another struct, `other`, has the name. Children are resolved. */
static void
refuse_name(pith_type *t, const pith_type *other, const pith_type_spec *spec) {
    static const char remedy[] = "PITH_NAMED gives one of them another name";
    const int32_t i = pithp_type_difference(other, spec);
    const pith_field *theirs =
        i >= 0 && i < other->field_count ? &other->fields[i].declared : NULL;
    const pith_field *ours = i >= 0 && i < t->field_count ? &t->fields[i].declared : NULL;
    t->error = NULL;
    if (i == -2)
        pithp_type_refuse(
            t, NULL,
            "two structs have this name: one of %zu bytes, and this one of %zu; %s",
            other->size, spec->size, remedy);
    else if (i >= 0)
        pithp_type_refuse(
            t, NULL,
            "two structs have this name; field %d is \"%s\" %s in the one registered "
            "first and \"%s\" %s in this one; %s",
            i, theirs ? theirs->name : "missing",
            theirs && theirs->spec ? theirs->spec : "", ours ? ours->name : "missing",
            ours && ours->spec ? ours->spec : "", remedy);
    for (int32_t k = 0; i == -1 && k < t->field_count; k++) {
        const pith_type *first = other->fields[k].child, *now = t->fields[k].child;
        if (first != now && first && now)
            pithp_type_refuse(
                t, NULL,
                "two structs have this name; .%s is of type %.80s in the one registered "
                "first and of %s %.80s in this one; %s",
                t->fields[k].declared.name, first->name,
                strcmp(first->name, now->name) == 0 ? "another type" : "type", now->name,
                remedy);
    }
}

static const pith_type *register_new(const pith_type_spec *spec, const pith_type *other) {
    pith_type *t = build(spec);
    if (!t)
        return NULL;
    t->needs = pithp_permanent(PITHP_MOST_NAMES * sizeof *t->needs);
    if (!t->needs)
        return NULL;
    add_to_registry(t);
    resolve_children(t, spec);
    if (other)
        refuse_name(t, other, spec);
    return t;
}

static const pith_type *find_or_register(const pith_type_spec *spec) {
    const pith_type *other = NULL;
    for (pith_type *t = types; t; t = t->next) {
        if (strcmp(t->name, pithp_type_spec_name(spec)) != 0)
            continue;
        if (pithp_type_same(t, spec, &pending_short_of_memory)) {
            pithp_type_refresh_hooks(t, spec);
            return t;
        }
        if (!other)
            other = t;
    }
    return pending_short_of_memory ? NULL : register_new(spec, other);
}

const pith_type *pith_type_register(const pith_type_spec *spec, const pith_type **cache) {
    if (!spec || !spec->name || !spec->size || (!spec->fields && spec->field_count) ||
        spec->field_count > PITHP_LARGEST_RECORD)
        return &no_description;
    pthread_mutex_lock(&lock);
    if (pithp_type_answer(spec)) {
        pthread_mutex_unlock(&lock);
        return &no_description; /* the caller compares the declaration instead */
    }
    depth++;
    const pith_type *t = find_or_register(spec);
    if (depth == 1) {
        pending_short_of_memory |= !t;
        if (pending_short_of_memory) {
            forget_pending();
            t = NULL;
        } else {
            complete_pending();
        }
        pending = NULL;
        pending_short_of_memory = false;
    }
    depth--;
    const bool ready = t && t->ready;
    pthread_mutex_unlock(&lock);
    if (!t)
        return &no_memory;
    /* Types of an incomplete group must not be visible to other threads. */
    if (ready && cache)
        __atomic_store_n(cache, t, __ATOMIC_RELEASE);
    return t;
}

/* ---- Queries ---- */

const pith_type *pith_array_pith_type(void) {
    return &array_type;
}

bool pithp_type_valid(const pith_type *type) {
    pithp_block *block = NULL;
    if (type == &no_memory || type == &no_description || type == &array_type)
        return true;
    return type && (uintptr_t)type % 16 == 0 &&
           pithp_block_find(type, &block) == PITHP_BLOCK_LIVE && !block->runtime &&
           type->magic == TYPE_MAGIC;
}

const void *pithp_nil(const pith_type *type) {
    return pithp_type_valid(type) ? type->nil : no_values;
}

const void *pith_initial_any(const pith_type *type) {
    if (!pithp_type_valid(type))
        return no_values;
    return type->error ? type->nil : type->initial;
}

const char *pith_type_name(const pith_type *type) {
    return pithp_type_valid(type) ? type->name : "";
}

const char *pith_type_error(const pith_type *type) {
    return pithp_type_valid(type) ? type->error : "not a record type";
}

const pith_type *pithp_type_find(const char *name) {
    const pith_type *found = NULL;
    pthread_mutex_lock(&lock);
    for (const pith_type *t = types; t && !found; t = t->next)
        if (t->ready && !t->error && strcmp(t->name, name) == 0)
            found = t;
    pthread_mutex_unlock(&lock);
    return found;
}

static bool was_called(const pith_type *type, const char *name) {
    for (int32_t i = 0; i < type->field_count; i++) {
        const pith_field *d = &type->fields[i].declared;
        if (d->kind == PITH_FIELD_HOOK && d->hook_kind == PITH_HOOK_FORMERLY &&
            strcmp(d->options.initial_text, name) == 0)
            return true;
    }
    return false;
}

/* Whether a declaration names a type, directly or through other types. */
static bool leads_to(const pith_type *from, const pith_type *to, int32_t visit) {
    if (from == to || !from->ready || from->visit == visit)
        return from == to;
    ((pith_type *)(uintptr_t)from)->visit = visit;
    for (int32_t i = 0; i < from->field_count; i++)
        if (from->fields[i].child && leads_to(from->fields[i].child, to, visit))
            return true;
    return false;
}

int32_t pithp_type_begin_visit(void) {
    static int32_t visit;
    return ++visit;
}

bool pithp_type_leads_to(const pith_type *from, const pith_type *to) {
    pthread_mutex_lock(&lock);
    const bool leads = leads_to(from, to, pithp_type_begin_visit());
    pthread_mutex_unlock(&lock);
    return leads;
}

const pith_type *pithp_type_find_former(const char *name, const pith_type *root) {
    const pith_type *any = NULL, *below = NULL;
    int count = 0, count_below = 0;
    pthread_mutex_lock(&lock);
    for (const pith_type *t = types; t; t = t->next) {
        if (!t->ready || t->error || !was_called(t, name))
            continue;
        any = t;
        count++;
        if (root && leads_to(root, t, pithp_type_begin_visit())) {
            below = t;
            count_below++;
        }
    }
    pthread_mutex_unlock(&lock);
    return count == 1 ? any : count_below == 1 ? below : NULL;
}
