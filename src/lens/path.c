/* Lens paths: parsed once, resolved against the known types, and followed in trees. */
#include "base/format.h"
#include "lens/lens_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Parsing ---- */

/* Steps that form one part. */
typedef struct reading {
    pithp_lens_draft *draft;
    const char *text; /* the whole path, in canonical form */
    size_t begin;     /* start of the part's text in it */
    pithp_lens_step *steps;
    int32_t count, room;
    /* Focus of the steps so far. For a record, also the start of an incomplete name of an
     * embedded struct's member. */
    pithp_lens_end end;
    const pith_type *type;
    size_t name; /* 0: none; otherwise its offset in the text, after its dot */
    /* The focus is a list or dict of records of this type; NULL: neither. */
    const pith_type *item;
    bool is_list;
} reading;

static pith_status refuse(reading *r, size_t end, const char *format, ...)
    PITH_FORMAT(3, 4);
static pith_status refuse(reading *r, size_t end, const char *format, ...) {
    const pithp_lens_draft *d = r->draft;
    char path[PITHP_PATH_BYTES], why[PITHP_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(why, sizeof why, format, arguments);
    va_end(arguments);
    snprintf(path, sizeof path, "%.*s", (int)end, r->text);
    if (d->s)
        return pithp_fail(d->s, PITH_E_PATH, path, "%s", why);
    snprintf(d->why, PITHP_MESSAGE_BYTES, "%.400s: %.600s", path, why);
    return PITH_E_PATH;
}

static pith_status short_of_memory(const pithp_lens_draft *d) {
    if (d->s)
        return d->s->error.code;
    snprintf(d->why, PITHP_MESSAGE_BYTES, "out of memory: no room for a lens");
    return PITH_E_MEMORY;
}

static pithp_lens_step *add_step(reading *r, pithp_lens_step_kind kind, size_t end) {
    if (r->count == r->room) {
        const int32_t room = r->room ? 2 * r->room : 4;
        pithp_lens_step *steps =
            pithp_lens_allocate(r->draft->s, (size_t)room * sizeof *steps);
        if (!steps)
            return NULL;
        if (r->count)
            memcpy(steps, r->steps, (size_t)r->count * sizeof *steps);
        r->steps = steps;
        r->room = room;
    }
    pithp_lens_step *step = &r->steps[r->count++];
    *step = (pithp_lens_step){.kind = kind, .end = end - r->begin};
    return step;
}

/* Finish the steps as a part whose text ends at `end`. */
static pith_status flush(reading *r, size_t end) {
    pithp_lens_draft *d = r->draft;
    if (r->count) {
        char *text = pithp_lens_allocate(d->s, end - r->begin + 1);
        if (!text)
            return short_of_memory(d);
        memcpy(text, r->text + r->begin, end - r->begin);
        text[end - r->begin] = 0;
        if (!pithp_lens_add(d, &(pithp_lens_part){.kind = &pithp_lens_path_kind,
                                                  .count = r->count,
                                                  .steps = r->steps,
                                                  .text = text}))
            return short_of_memory(d);
    }
    r->steps = NULL;
    r->count = r->room = 0;
    r->begin = end;
    d->lens.end = r->end;
    d->lens.end_type = r->type;
    return PITH_OK;
}

/* ---- Fields of a record of known type ---- */

/* The field with this name; *begins: the name is a proper prefix of other names. */
static const pithp_field *
field_named(const pith_type *type, const char *name, size_t length, bool *begins) {
    *begins = false;
    for (int32_t i = 0; i < type->field_count; i++) {
        const pith_field *d = &type->fields[i].declared;
        if (d->kind == PITH_FIELD_HOOK || d->kind == PITH_FIELD_IGNORE ||
            strncmp(d->name, name, length) != 0)
            continue;
        if (d->name[length] == 0)
            return &type->fields[i];
        *begins |= d->name[length] == '.';
    }
    return NULL;
}

static bool add_field(reading *r, const pithp_field *field, size_t end) {
    const pith_field *d = &field->declared;
    const bool is_static = d->kind == PITH_FIELD_STATIC;
    pithp_lens_step *step =
        add_step(r, is_static ? PITHP_LENS_STATIC : PITHP_LENS_SLOT, end);
    if (!step)
        return false;
    step->type = r->type;
    step->offset = (uint32_t)d->offset;
    step->number = is_static ? (int32_t)(field - r->type->fields) : field->slot;
    r->is_list = d->kind == PITH_FIELD_LIST;
    r->item = r->is_list || d->kind == PITH_FIELD_DICT ? field->child : NULL;
    r->type = r->item ? NULL : field->child;
    r->end = r->type                      ? PITHP_LENS_END_RECORD
             : is_static                  ? PITHP_LENS_END_STATIC
             : d->kind == PITH_FIELD_LEAF ? PITHP_LENS_END_LEAF
                                          : PITHP_LENS_END_ANY;
    return true;
}

static pith_status unknown_field(reading *r, size_t end) {
    const pithp_lens_draft *d = r->draft;
    const char *name = r->text + r->name;
    const int length = (int)(end - r->name);
    if (!d->s)
        return refuse(r, end, "%s has no field '%.*s'", r->type->name, length, name);
    pithp_string whole, why;
    pithp_string_begin(&whole, d->s->runtime);
    pithp_string_begin(&why, d->s->runtime);
    pithp_string_add_n(&whole, name, (size_t)length);
    pithp_path_explain_field(&why, r->type, whole.bytes);
    refuse(r, end, "%s", why.bytes);
    pithp_string_end(&why);
    pithp_string_end(&whole);
    return PITH_E_PATH;
}

/* Parse a name, or one more member of an embedded struct. */
static pith_status read_member(reading *r, size_t begin, size_t end) {
    bool begins;
    if (!r->name)
        r->name = begin + 1;
    const pithp_field *field =
        field_named(r->type, r->text + r->name, end - r->name, &begins);
    if (!field)
        return begins ? PITH_OK : unknown_field(r, end);
    r->name = 0;
    return add_field(r, field, end) ? PITH_OK : short_of_memory(r->draft);
}

/* A lens of one field of the type. */
static const pith_lens *
member_lens(const pithp_lens_draft *d, const pith_type *type, const pithp_field *field) {
    const char *name = field->declared.name;
    const size_t length = strlen(name);
    pithp_lens_draft one = {.s = d->s, .why = d->why, .lens = {.type = type}};
    char *text = pithp_lens_allocate(d->s, length + 2);
    if (!text)
        return NULL;
    snprintf(text, length + 2, ".%s", name);
    reading r = {.draft = &one, .text = text, .end = PITHP_LENS_END_RECORD, .type = type};
    return add_field(&r, field, length + 1) && flush(&r, length + 1) == PITH_OK
               ? pithp_lens_finish(&one)
               : NULL;
}

/* The path ends in an embedded struct: its members, as a tuple. */
static pith_status end_group(reading *r, size_t end) {
    pithp_lens_draft *d = r->draft;
    const pith_type *type = r->type;
    const char *name = r->text + r->name;
    const size_t length = end - r->name;
    const pith_lens **lenses = pithp_lens_allocate(
        d->s, (size_t)(type->field_count ? type->field_count : 1) * sizeof *lenses);
    int32_t count = 0;
    if (!lenses)
        return short_of_memory(d);
    const pith_status rc = flush(r, r->name - 1);
    if (rc != PITH_OK)
        return rc;
    for (int32_t i = 0; i < type->field_count; i++) {
        const pithp_field *f = &type->fields[i];
        if (f->declared.kind == PITH_FIELD_HOOK ||
            f->declared.kind == PITH_FIELD_IGNORE ||
            strncmp(f->declared.name, name, length) != 0 ||
            f->declared.name[length] != '.')
            continue;
        lenses[count] = member_lens(d, type, f);
        if (!lenses[count++])
            return short_of_memory(d);
    }
    r->name = 0;
    r->begin = end;
    r->end = PITHP_LENS_END_ANY;
    r->type = NULL;
    d->lens.end = PITHP_LENS_END_ANY;
    d->lens.end_type = NULL;
    return pithp_lens_add(d, &(pithp_lens_part){.kind = &pithp_lens_merge_kind,
                                                .count = count,
                                                .merged = lenses})
               ? PITH_OK
               : short_of_memory(d);
}

/* ---- Steps ---- */

static const char *copy_name(reading *r, const char *name) {
    char *copy = pithp_lens_allocate(r->draft->s, strlen(name) + 1);
    return copy ? strcpy(copy, name) : NULL;
}

/* Add a step without static knowledge. */
static pith_status read_any(reading *r, const pithp_path_part *from, size_t end) {
    pithp_lens_step *step = add_step(r,
                                     from->kind == PITHP_STEP_FIELD   ? PITHP_LENS_NAME
                                     : from->kind == PITHP_STEP_INDEX ? PITHP_LENS_INDEX
                                                                      : PITHP_LENS_KEY,
                                     end);
    if (!step)
        return short_of_memory(r->draft);
    if (from->kind == PITHP_STEP_INDEX) {
        step->index = from->index;
        return PITH_OK;
    }
    step->name = copy_name(r, from->name);
    return step->name ? PITH_OK : short_of_memory(r->draft);
}

static pith_status read_each(reading *r, size_t begin, size_t end) {
    const pith_status rc = flush(r, begin);
    if (rc != PITH_OK)
        return rc;
    r->begin = end;
    r->end = PITHP_LENS_END_ANY;
    r->draft->lens.end = PITHP_LENS_END_ANY;
    return pithp_lens_add(r->draft, &pithp_lens_each_part) ? PITH_OK
                                                           : short_of_memory(r->draft);
}

static const char *const lacks[] = {[PITHP_STEP_FIELD] = "fields",
                                    [PITHP_STEP_INDEX] = "items",
                                    [PITHP_STEP_KEY] = "keys",
                                    [PITHP_STEP_EACH] = "items"};

/* A step into a list or dict of records of one type. */
static pith_status
read_item(reading *r, const pithp_path_part *step, size_t begin, size_t end) {
    const pith_type *item = r->item;
    if (step->kind == PITHP_STEP_FIELD ||
        step->kind == (r->is_list ? PITHP_STEP_KEY : PITHP_STEP_INDEX))
        return refuse(r, end, "a %s of %s has no %s", r->is_list ? "list" : "dict",
                      item->name, lacks[step->kind]);
    r->item = NULL;
    if (step->kind == PITHP_STEP_EACH)
        return read_each(r, begin, end);
    const pith_status rc = read_any(r, step, end);
    r->end = PITHP_LENS_END_RECORD;
    r->type = item;
    return rc;
}

/* The text of the step is from begin to end. */
static pith_status
read_step(reading *r, const pithp_path_part *step, size_t begin, size_t end) {
    if (r->name && step->kind != PITHP_STEP_FIELD) {
        const pith_status rc = end_group(r, begin);
        if (rc != PITH_OK)
            return rc;
    }
    switch (r->end) {
        case PITHP_LENS_END_RECORD:
            if (step->kind == PITHP_STEP_FIELD)
                return read_member(r, begin, end);
            return refuse(r, end, "%s has no %s", r->type->name, lacks[step->kind]);
        case PITHP_LENS_END_LEAF:
            if (step->kind == PITHP_STEP_INDEX)
                return read_any(r, step, end);
            return refuse(r, end, "a leaf has no %s", lacks[step->kind]);
        case PITHP_LENS_END_STATIC:
            return refuse(r, end, "a static has no %s", lacks[step->kind]);
        case PITHP_LENS_END_ANY:
            break;
    }
    if (r->item)
        return read_item(r, step, begin, end);
    return step->kind == PITHP_STEP_EACH ? read_each(r, begin, end)
                                         : read_any(r, step, end);
}

static pith_status finish_reading(reading *r, size_t end) {
    return r->name ? end_group(r, end) : flush(r, end);
}

pith_status pithp_lens_add_path(pithp_lens_draft *d, const char *path) {
    pithp_path_reader reader;
    pithp_path_part step;
    pithp_string normal;
    pith_status rc = PITH_OK;
    reading r = {.draft = d, .end = d->lens.end, .type = d->lens.end_type};
    pithp_path_read(&reader, d->s->runtime, path);
    reader.patterns = true;
    pithp_string_begin(&normal, d->s->runtime);
    while (rc == PITH_OK && pithp_path_step(&reader, &step)) {
        const size_t begin = normal.length;
        if (step.kind == PITHP_STEP_FIELD)
            pithp_path_add_field(&normal, step.name);
        else if (step.kind == PITHP_STEP_KEY)
            pithp_path_add_key(&normal, step.name);
        else if (step.kind == PITHP_STEP_INDEX)
            pithp_path_add_index(&normal, step.index);
        else
            pithp_string_add(&normal, "[*]");
        r.text = normal.bytes;
        rc = normal.failed ? pithp_fail_memory(d->s, normal.length)
                           : read_step(&r, &step, begin, normal.length);
    }
    r.text = normal.bytes;
    if (rc == PITH_OK && (reader.error || reader.name.failed))
        rc = pithp_path_fail(d->s, &reader);
    if (rc == PITH_OK)
        rc = finish_reading(&r, normal.length);
    pithp_string_end(&normal);
    pithp_path_read_end(&reader);
    return rc;
}

/* Convert "atoms->position" to ".atoms.position". NULL: out of memory. */
static const char *path_of_member(const char *member) {
    char *path = pithp_lens_allocate(NULL, strlen(member) + 2), *to = path;
    if (!path)
        return NULL;
    *to++ = '.';
    for (const char *from = member; *from; from++) {
        if (*from == ' ')
            continue;
        const bool arrow = from[0] == '-' && from[1] == '>';
        *to++ = arrow ? '.' : *from;
        from += arrow;
    }
    *to = 0;
    return path;
}

pith_status pithp_lens_add_member(pithp_lens_draft *d, const char *member) {
    reading r = {.draft = d, .end = d->lens.end, .type = d->lens.end_type};
    r.text = path_of_member(member);
    if (!r.text)
        return short_of_memory(d);
    pith_status rc = PITH_OK;
    size_t begin = 0, length = strlen(r.text);
    while (rc == PITH_OK && begin < length) {
        const size_t end = begin + 1 + strcspn(r.text + begin + 1, ".[");
        rc = r.text[begin] == '.'
                 ? read_step(&r, &(pithp_path_part){.kind = PITHP_STEP_FIELD}, begin, end)
                 : refuse(&r, length, "expected members alone");
        begin = end;
    }
    return rc == PITH_OK ? finish_reading(&r, length) : rc;
}

/* ---- Trails ---- */

void pithp_lens_trail_begin(pithp_lens_trail *t, pith_runtime *rt) {
    t->rt = rt;
    t->places = t->first;
    t->depth = 0;
    t->room = PITHP_COUNT(t->first);
}

bool pithp_lens_trail_add(pithp_lens_trail *t, int64_t place) {
    if (PITHP_UNLIKELY(t->depth == t->room)) {
        const size_t bytes = (size_t)t->room * sizeof *t->places;
        int64_t *grown = pithp_scratch_allocate(t->rt, 2 * bytes);
        if (!grown)
            return false;
        memcpy(grown, t->places, bytes);
        if (t->places != t->first)
            pithp_scratch_release(t->rt, t->places, bytes);
        t->places = grown;
        t->room *= 2;
    }
    t->places[t->depth++] = place;
    return true;
}

void pithp_lens_trail_end(pithp_lens_trail *t) {
    if (t->places != t->first)
        pithp_scratch_release(t->rt, t->places, (size_t)t->room * sizeof *t->places);
}

/* ---- Following ---- */

/* State of following a path. */
typedef struct following {
    pith_scope *s;
    const pithp_lens_part *path;
    int32_t next; /* index of the next step */
    const void *node;
    int64_t place; /* position of the last step's target in its parent */
    const pithp_field *field;
} following;

/* Fail because the last step has no target. */
static pith_status fail_step(const following *f, const pithp_string *why) {
    const pithp_lens_step *step = &f->path->steps[f->next - 1];
    pithp_string to;
    pithp_string_begin(&to, f->s->runtime);
    pithp_string_add_n(&to, f->path->text, step->end);
    pithp_fail(f->s, PITH_E_PATH, to.bytes, "%s", why->bytes);
    pithp_string_end(&to);
    return PITH_E_PATH;
}

static const void *pointer_at(const void *node, size_t offset) {
    const void *pointer;
    memcpy(&pointer, (const char *)node + offset, sizeof pointer);
    return pointer;
}

/* Enter a field of the current record. */
static void enter_field(following *f, const pithp_field *field) {
    const pith_field *d = &field->declared;
    if (d->kind == PITH_FIELD_STATIC && d->static_kind != PITH_STATIC_KIND_RECORD) {
        f->field = field;
        f->place = ~(int64_t)(field - pithp_node_def_of(f->node)->type->fields);
        return;
    }
    f->place = d->kind == PITH_FIELD_STATIC
                   ? ~(int64_t)(field - pithp_node_def_of(f->node)->type->fields)
                   : field->slot;
    f->node = pointer_at(f->node, d->offset);
}

/* Enter a field by name. The name may span several steps. */
static bool enter_name(following *f, pithp_string *why) {
    const pithp_node_def *shape = pithp_node_def_of(f->node);
    if (shape->kind != PITHP_KIND_RECORD)
        return false;
    const pithp_lens_part *p = f->path;
    const char *begin = p->text + (f->next > 1 ? p->steps[f->next - 2].end : 0) + 1;
    for (;;) {
        bool begins;
        const size_t length = (size_t)(p->text + p->steps[f->next - 1].end - begin);
        const pithp_field *field = field_named(shape->type, begin, length, &begins);
        if (field) {
            enter_field(f, field);
            return true;
        }
        if (!begins || f->next == p->count || p->steps[f->next].kind != PITHP_LENS_NAME) {
            pithp_string name;
            pithp_string_begin(&name, f->s->runtime);
            pithp_string_add_n(&name, begin, length);
            pithp_path_explain_field(why, shape->type, name.bytes);
            pithp_string_end(&name);
            return false;
        }
        f->next++;
    }
}

static bool enter_index(following *f, int64_t index, pithp_string *why) {
    const pithp_node_def *shape = pithp_node_def_of(f->node);
    if (shape->kind != PITHP_KIND_LIST && shape->kind != PITHP_KIND_TUPLE)
        return false;
    f->place = index < 0 ? index + shape->slot_count : index;
    if (f->place < 0 || f->place >= shape->slot_count) {
        pithp_path_explain_item(why, f->node, index);
        return false;
    }
    f->node = *pithp_slot(f->node, shape, f->place);
    return true;
}

static bool enter_key(following *f, const char *key, pithp_string *why) {
    const pithp_node_def *shape = pithp_node_def_of(f->node);
    if (shape->kind != PITHP_KIND_DICT)
        return false;
    f->place = pithp_node_def_find_key(shape, key);
    if (f->place < 0) {
        pithp_path_explain_key(why, f->node, key);
        return false;
    }
    f->node = *pithp_slot(f->node, shape, f->place);
    return true;
}

/* Resolve a dynamic step; f->next moves past it. */
static pith_status look_up(following *f) {
    static const char *const lacks_of[] = {[PITHP_LENS_SLOT] = "children",
                                           [PITHP_LENS_STATIC] = "children",
                                           [PITHP_LENS_NAME] = "fields",
                                           [PITHP_LENS_INDEX] = "items",
                                           [PITHP_LENS_KEY] = "keys"};
    const pithp_lens_step *step = &f->path->steps[f->next - 1];
    pithp_string why;
    pithp_string_begin(&why, f->s->runtime);
    bool entered = false;
    const bool inner = !f->field && f->node && !pithp_kind_is_array(f->node) &&
                       pithp_kind_of(f->node) <= PITHP_KIND_NONE;
    if (inner && step->kind == PITHP_LENS_NAME)
        entered = enter_name(f, &why);
    else if (inner && step->kind == PITHP_LENS_INDEX)
        entered = enter_index(f, step->index, &why);
    else if (inner && step->kind == PITHP_LENS_KEY)
        entered = enter_key(f, step->name, &why);
    if (!entered && !why.length) {
        if (f->field)
            pithp_string_add(&why, "a static");
        else
            pithp_node_describe(&why, f->node);
        pithp_string_print(&why, " has no %s", inner ? lacks_of[step->kind] : "children");
    }
    const pith_status rc = entered ? PITH_OK : fail_step(f, &why);
    pithp_string_end(&why);
    return rc;
}

/* Select rows of the current leaf: every remaining step is an index within its extent. */
static pith_status check_rows(following *f, pithp_lens_place *place) {
    const pith_spec *spec = pithp_array_spec(f->node);
    place->rows = &f->path->steps[f->next];
    place->row_count = f->path->count - f->next;
    for (int32_t i = 0; i < place->row_count; i++) {
        const pithp_lens_step *step = &place->rows[i];
        const int64_t extent = i < spec->rank ? spec->shape[i] : 0;
        if (step->kind == PITHP_LENS_INDEX && step->index < extent &&
            step->index >= -extent)
            continue;
        pithp_string why;
        pithp_string_begin(&why, f->s->runtime);
        pithp_node_describe(&why, f->node);
        if (i >= spec->rank || step->kind != PITHP_LENS_INDEX)
            pithp_string_print(&why, " has no %s",
                               step->kind == PITHP_LENS_INDEX ? "axis left" : "children");
        else
            pithp_string_print(&why, " has no row %lld%s", (long long)step->index,
                               i ? " there" : "");
        f->next += i + 1;
        fail_step(f, &why);
        pithp_string_end(&why);
        return PITH_E_PATH;
    }
    return PITH_OK;
}

pith_status pithp_lens_follow(pith_scope *s,
                              const pithp_lens_part *path,
                              const void *node,
                              pithp_lens_place *place,
                              pithp_lens_trail *trail) {
    following f = {.s = s, .path = path, .node = node};
    *place = (pithp_lens_place){0};
    while (f.next < path->count) {
        const pithp_lens_step *step = &path->steps[f.next];
        if (step->kind == PITHP_LENS_INDEX && f.node && !f.field &&
            pithp_kind_is_array(f.node)) {
            const pith_status rc = check_rows(&f, place);
            if (rc != PITH_OK)
                return rc;
            break;
        }
        f.next++;
        if (PITHP_LIKELY(step->kind <= PITHP_LENS_STATIC && f.node))
            enter_field(&f,
                        step->kind == PITHP_LENS_STATIC
                            ? &step->type->fields[step->number]
                            : &step->type->fields[step->type->slot_fields[step->number]]);
        else if (look_up(&f) != PITH_OK)
            return s->error.code;
        if (trail && !pithp_lens_trail_add(trail, f.place))
            return pithp_fail_memory(s, (size_t)trail->room * 2 * sizeof f.place);
    }
    place->node = f.node;
    place->field = f.field;
    return PITH_OK;
}
