/* Paths: printing, parsing, and look-up of nodes.
 *
 * path  := step*
 * step  := "." name            a field; names of struct members have dots: ".box.x"
 *        | "[" digits "]"      an item of a list or tuple
 *        | "['" key "']"       an item of a dict; double quotes are accepted too
 * key   := code points, with the escapes \\ \' \" \n \r \t and \uXXXX
 *          (surrogate pairs for code points beyond 0xFFFF)
 *
 * Printed: single quotes; escapes only for single quotes, backslashes and control
 * characters (U+0000 to U+001F, U+007F to U+009F). */
#include "tree/tree_internal.h"

#include <string.h>

/* ---- Code points ---- */

/* Decode the code point at p; *n: its bytes. Returns -1 for invalid UTF-8. */
static int32_t decode(const char *p, size_t *n) {
    const unsigned char *b = (const unsigned char *)p;
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t bytes = b[0] < 0x80    ? 1
                         : b[0] >= 0xF0 ? 4
                         : b[0] >= 0xE0 ? 3
                         : b[0] >= 0xC0 ? 2
                                        : 0;
    if (bytes == 0 || b[0] > 0xF4)
        return -1;
    int32_t code = bytes == 1 ? b[0] : b[0] & (0x7F >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((b[i] & 0xC0) != 0x80)
            return -1;
        code = code << 6 | (b[i] & 0x3F);
    }
    *n = bytes;
    return code < least[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)
               ? -1
               : code;
}

static void add_code(pithp_string *t, int32_t code) {
    const uint32_t c = (uint32_t)code;
    char b[4];
    if (c < 0x80) {
        b[0] = (char)c;
        pithp_string_add_n(t, b, 1);
    } else if (c < 0x800) {
        b[0] = (char)(0xC0 | c >> 6);
        b[1] = (char)(0x80 | (c & 0x3F));
        pithp_string_add_n(t, b, 2);
    } else if (c < 0x10000) {
        b[0] = (char)(0xE0 | c >> 12);
        b[1] = (char)(0x80 | (c >> 6 & 0x3F));
        b[2] = (char)(0x80 | (c & 0x3F));
        pithp_string_add_n(t, b, 3);
    } else {
        b[0] = (char)(0xF0 | c >> 18);
        b[1] = (char)(0x80 | (c >> 12 & 0x3F));
        b[2] = (char)(0x80 | (c >> 6 & 0x3F));
        b[3] = (char)(0x80 | (c & 0x3F));
        pithp_string_add_n(t, b, 4);
    }
}

/* ---- Printing ---- */

void pithp_path_add_field(pithp_string *t, const char *name) {
    pithp_string_add_n(t, ".", 1);
    pithp_string_add(t, name);
}

void pithp_path_add_index(pithp_string *t, int64_t index) {
    pithp_string_print(t, "[%lld]", (long long)index);
}

static void add_escaped(pithp_string *t, int32_t code, const char *bytes, size_t n) {
    switch (code) {
        case '\n':
            pithp_string_add_n(t, "\\n", 2);
            return;
        case '\r':
            pithp_string_add_n(t, "\\r", 2);
            return;
        case '\t':
            pithp_string_add_n(t, "\\t", 2);
            return;
        case '\'':
        case '\\':
            pithp_string_add_n(t, "\\", 1);
            break;
        default:
            if (code < 0x20 || (code >= 0x7F && code < 0xA0)) {
                pithp_string_print(t, "\\u%04x", (unsigned)code);
                return;
            }
    }
    pithp_string_add_n(t, bytes, n);
}

void pithp_path_add_key(pithp_string *t, const char *key) {
    pithp_string_add_n(t, "['", 2);
    while (*key) {
        size_t n = 1;
        const int32_t code = decode(key, &n);
        if (code < 0) /* keys are UTF-8; print an invalid byte as its code point */
            add_escaped(t, (unsigned char)*key, key, 1);
        else
            add_escaped(t, code, key, n);
        key += n;
    }
    pithp_string_add_n(t, "']", 2);
}

void pithp_path_add_slot(pithp_string *t, const pithp_node_def *node_def, int64_t slot) {
    switch (node_def->kind) {
        case PITHP_KIND_RECORD:
            pithp_path_add_field(t, pithp_slot_name(node_def, slot));
            return;
        case PITHP_KIND_DICT:
            pithp_path_add_key(t, node_def->keys[slot]);
            return;
        case PITHP_KIND_LIST:
        case PITHP_KIND_TUPLE:
            pithp_path_add_index(t, slot);
            return;
        case PITHP_KIND_FREE:
        case PITHP_KIND_ARRAY:
        case PITHP_KIND_NONE:
        case PITHP_KIND_TREEDEF:
        case PITHP_KIND_OTHER:
        case PITHP_KIND_CLASS:
            return;
    }
}

/* ---- Parsing ---- */

void pithp_path_read(pithp_path_reader *r, pith_runtime *rt, const char *path) {
    *r = (pithp_path_reader){.path = path};
    pithp_string_begin(&r->name, rt);
}

void pithp_path_read_end(pithp_path_reader *r) {
    pithp_string_end(&r->name);
}

static bool malformed(pithp_path_reader *r, const char *at, const char *error) {
    r->next = (size_t)(at - r->path);
    r->error = error;
    return false;
}

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool read_field(pithp_path_reader *r, pithp_path_part *step, const char *p) {
    const char *name = ++p;
    if (!is_name_start(*p))
        return malformed(r, p, "expected a field's name after '.'");
    while (is_name_start(*p) || is_digit(*p))
        p++;
    pithp_string_add_n(&r->name, name, (size_t)(p - name));
    step->kind = PITHP_STEP_FIELD;
    r->next = (size_t)(p - r->path);
    return true;
}

static bool read_index(pithp_path_reader *r, pithp_path_part *step, const char *p) {
    const bool negative = *p == '-';
    const char *digits = p += negative;
    int64_t index = 0;
    for (; is_digit(*p); p++)
        if (__builtin_mul_overflow(index, 10, &index) ||
            __builtin_add_overflow(index, *p - '0', &index))
            return malformed(r, digits, "the index is too large");
    if (*p != ']')
        return malformed(r, p, "expected ']' after the index");
    if (p == digits || (negative && index == 0))
        return malformed(r, digits, "expected a positive number after '-'");
    step->kind = PITHP_STEP_INDEX;
    step->index = negative ? -index : index;
    r->next = (size_t)(p + 1 - r->path);
    return true;
}

/* Parse four hexadecimal digits; -1 if invalid. */
static int32_t read_hex(const char *p) {
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        const char c = p[i];
        const int digit = is_digit(c)            ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

/* Parse the escape at the backslash p. Returns the end of it, or NULL if it is
 * invalid. */
static const char *read_escape(pithp_string *t, const char *p) {
    const char c = p[1];
    if (c == 'u') {
        int32_t code = read_hex(p + 2);
        p += 6;
        if (code >= 0xD800 && code < 0xDC00 && p[0] == '\\' && p[1] == 'u') {
            const int32_t low = read_hex(p + 2);
            if (low < 0xDC00 || low >= 0xE000)
                return NULL;
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            p += 6;
        }
        if (code <= 0 || (code >= 0xD800 && code < 0xE000))
            return NULL; /* keys end at U+0000, and lone surrogates are not code points */
        add_code(t, code);
        return p;
    }
    const char plain = c == 'n'                             ? '\n'
                       : c == 'r'                           ? '\r'
                       : c == 't'                           ? '\t'
                       : c == '\'' || c == '"' || c == '\\' ? c
                                                            : 0;
    if (!plain)
        return NULL;
    pithp_string_add_n(t, &plain, 1);
    return p + 2;
}

static bool read_key(pithp_path_reader *r, pithp_path_part *step, const char *p) {
    const char quote = *p++;
    while (*p && *p != quote) {
        if (*p == '\\') {
            const char *after = read_escape(&r->name, p);
            if (!after)
                return malformed(r, p, "unknown escape in the key");
            p = after;
            continue;
        }
        size_t n = 1;
        if (decode(p, &n) < 0)
            return malformed(r, p, "the key is not UTF-8");
        pithp_string_add_n(&r->name, p, n);
        p += n;
    }
    if (!*p)
        return malformed(r, p, "the quote of the key is not closed");
    if (p[1] != ']')
        return malformed(r, p + 1, "expected ']' after the key");
    step->kind = PITHP_STEP_KEY;
    r->next = (size_t)(p + 2 - r->path);
    return true;
}

static bool read_each(pithp_path_reader *r, pithp_path_part *step, const char *p) {
    step->kind = PITHP_STEP_EACH;
    r->next = (size_t)(p + 3 - r->path);
    return true;
}

bool pithp_path_step(pithp_path_reader *r, pithp_path_part *step) {
    const char *p = r->path + r->next;
    if (!*p || r->error)
        return false;
    r->name.length = 0;
    pithp_string_add_n(&r->name, "", 0);
    *step = (pithp_path_part){.begin = r->next};
    bool read;
    if (*p == '.')
        read = read_field(r, step, p);
    else if (*p == '[' && is_digit(p[1]))
        read = read_index(r, step, p + 1);
    else if (*p == '[' && (p[1] == '\'' || p[1] == '"'))
        read = read_key(r, step, p + 1);
    else if (r->patterns && *p == '[' && p[1] == '-')
        read = read_index(r, step, p + 1);
    else if (r->patterns && strncmp(p, "[*]", 3) == 0)
        read = read_each(r, step, p);
    else if (*p == '[')
        read = malformed(r, p + 1, "expected an index or a quoted key after '['");
    else
        read = malformed(r, p, "expected '.' or '['");
    step->end = r->next;
    step->name = r->name.bytes;
    return read && !r->name.failed;
}

pith_status pithp_path_fail(pith_scope *s, const pithp_path_reader *r) {
    if (r->name.failed)
        return pithp_fail_memory(s, r->name.length);
    return pithp_fail(s, PITH_E_PATH, NULL, "malformed path \"%.200s\": %s at byte %zu",
                      r->path, r->error, r->next);
}

const char *pithp_string_finish(pith_scope *s, pithp_string *t) {
    char *made = NULL;
    if (t->failed)
        pithp_fail_memory(s, t->length);
    else if ((made = pithp_scope_allocate(s, t->length + 1)))
        memcpy(made, t->bytes, t->length + 1);
    pithp_string_end(t);
    return made;
}

const char *pith_path_normal(pith_scope *s, const char *path) {
    if (!pithp_enter(s))
        return NULL;
    if (!path) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_path_normal: path is NULL");
        return NULL;
    }
    pithp_path_reader r;
    pithp_path_part step;
    pithp_string normal;
    pithp_path_read(&r, s->runtime, path);
    pithp_string_begin(&normal, s->runtime);
    while (pithp_path_step(&r, &step)) {
        if (step.kind == PITHP_STEP_FIELD)
            pithp_path_add_field(&normal, step.name);
        else if (step.kind == PITHP_STEP_KEY)
            pithp_path_add_key(&normal, step.name);
        else
            pithp_path_add_index(&normal, step.index);
    }
    const char *made = NULL;
    if (r.error || r.name.failed)
        pithp_path_fail(s, &r);
    else
        made = pithp_string_finish(s, &normal);
    pithp_string_end(&normal);
    pithp_path_read_end(&r);
    return made;
}

/* ---- Paths of leaves ---- */

const char *pith_tree_path(pith_scope *s, const void *tree, int64_t leaf) {
    if (!pithp_enter(s) || pithp_tree_check(s, tree, "pith_tree_path", "tree") != PITH_OK)
        return NULL;
    int64_t seen = 0;
    const char *made = NULL;
    pithp_walk w;
    pithp_visit visit;
    pithp_walk_begin(&w, s->runtime, tree);
    while (!made && !pith_failed(s) && pithp_walk_next(&w, &visit)) {
        if (visit != PITHP_VISIT_LEAF || seen++ != leaf)
            continue;
        pithp_string path;
        pithp_string_begin(&path, s->runtime);
        pithp_walk_path(&w, &path);
        made = pithp_string_finish(s, &path);
    }
    if (w.failed)
        pithp_fail_memory(s, (size_t)w.room * sizeof *w.frames);
    else if (!made)
        pithp_fail(s, PITH_E_INDEX, NULL, "no leaf %lld in a tree of %lld",
                   (long long)leaf, (long long)seen);
    pithp_walk_end(&w);
    return made;
}

/* Append the paths of all leaves, each terminated by 0. */
static pith_status
collect_paths(pith_scope *s, const void *tree, pithp_string *all, int64_t *count) {
    pithp_walk w;
    pithp_visit visit;
    *count = 0;
    pithp_walk_begin(&w, s->runtime, tree);
    while (pithp_walk_next(&w, &visit) && !all->failed) {
        if (visit != PITHP_VISIT_LEAF)
            continue;
        pithp_walk_path(&w, all);
        pithp_string_add_n(all, "", 1);
        ++*count;
    }
    const bool failed = w.failed || all->failed;
    pithp_walk_end(&w);
    return failed ? pithp_fail_memory(s, all->length) : PITH_OK;
}

const char *const *pith_tree_paths(pith_scope *s, const void *tree) {
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_tree_paths", "tree") != PITH_OK)
        return NULL;
    const char **paths = NULL;
    int64_t count = 0;
    pithp_string all;
    pithp_string_begin(&all, s->runtime);
    if (collect_paths(s, tree, &all, &count) == PITH_OK &&
        (paths = pithp_scope_allocate(s, (size_t)(count + 1) * sizeof *paths))) {
        const char *next = pithp_string_finish(s, &all);
        if (!next)
            paths = NULL;
        for (int64_t i = 0; paths && i < count; i++, next += strlen(next) + 1)
            paths[i] = next;
        if (paths)
            paths[count] = NULL;
    }
    pithp_string_end(&all);
    return paths;
}

/* ---- Look-up of a node ---- */

/* "(has a, b, c and 4 more)" */
static void
add_names(pithp_string *t, int64_t count, const char *const *names, bool keys) {
    enum { MOST = 8 };
    pithp_string_add(t, count ? " (has " : " (has none");
    for (int64_t i = 0; i < count && i < MOST; i++) {
        pithp_string_add(t, i ? ", " : "");
        pithp_string_print(t, keys ? "'%.40s'" : "%.40s", names[i]);
    }
    if (count > MOST)
        pithp_string_print(t, " and %lld more", (long long)(count - MOST));
    pithp_string_add(t, ")");
}

void pithp_path_explain_field(pithp_string *why,
                              const pith_type *type,
                              const char *name) {
    const size_t n = strlen(name);
    const char *fields[64];
    int64_t count = 0;
    for (int32_t i = 0; i < type->field_count; i++) {
        const pith_field *field = &type->fields[i].declared;
        const bool is_static = field->kind == PITH_FIELD_STATIC;
        if ((is_static || type->fields[i].slot >= 0) && count < PITHP_COUNT(fields))
            fields[count++] = field->name;
        if (is_static && strncmp(field->name, name, n) == 0 &&
            (field->name[n] == 0 || field->name[n] == '.')) {
            pithp_string_print(why, "'%.80s' is a static of %s, not a node", name,
                               type->name);
            return;
        }
    }
    pithp_string_print(why, "%s has no field '%.80s'", type->name, name);
    add_names(why, count, fields, false);
}

void pithp_path_explain_item(pithp_string *why, const void *node, int64_t index) {
    pithp_node_describe(why, node);
    pithp_string_print(why, " has no item %lld", (long long)index);
}

void pithp_path_explain_key(pithp_string *why, const void *node, const char *key) {
    const pithp_node_def *node_def = pithp_node_def_of(node);
    pithp_node_describe(why, node);
    pithp_string_print(why, " has no key '%.80s'", key);
    add_names(why, node_def->slot_count, node_def->keys, true);
}

/* The slot of that name, or -1. *begins: the name is a prefix of the name of a member of
 * an embedded struct. */
static int64_t
slot_named(const pithp_node_def *node_def, const char *name, bool *begins) {
    const size_t n = strlen(name);
    *begins = false;
    for (int64_t i = 0; i < node_def->slot_count; i++) {
        const char *slot = pithp_slot_name(node_def, i);
        if (strncmp(slot, name, n) != 0)
            continue;
        if (slot[n] == 0)
            return i;
        *begins |= slot[n] == '.';
    }
    return -1;
}

/* The slot of a field; the name of a member of an embedded struct takes several steps. */
static const void **find_field(const void *node,
                               const pithp_node_def *node_def,
                               pithp_path_reader *r,
                               pithp_path_part *step,
                               pithp_string *why) {
    pithp_string name;
    bool begins;
    pithp_string_begin(&name, r->name.rt);
    pithp_string_add(&name, step->name);
    int64_t slot = slot_named(node_def, name.bytes, &begins);
    while (slot < 0 && begins && pithp_path_step(r, step) &&
           step->kind == PITHP_STEP_FIELD) {
        pithp_string_print(&name, ".%s", step->name);
        slot = slot_named(node_def, name.bytes, &begins);
    }
    if (name.failed) {
        r->name.failed = true;
        slot = -1;
    } else if (slot < 0) {
        pithp_path_explain_field(why, node_def->type, name.bytes);
    }
    pithp_string_end(&name);
    return slot < 0 ? NULL : pithp_slot(node, node_def, slot);
}

static const void **find_slot(const void *node,
                              const pithp_node_def *node_def,
                              pithp_path_reader *r,
                              pithp_path_part *step,
                              pithp_string *why) {
    const bool items =
        node_def->kind == PITHP_KIND_LIST || node_def->kind == PITHP_KIND_TUPLE;
    if (step->kind == PITHP_STEP_FIELD && node_def->kind == PITHP_KIND_RECORD)
        return find_field(node, node_def, r, step, why);
    if (step->kind == PITHP_STEP_INDEX && items) {
        if (step->index < node_def->slot_count)
            return pithp_slot(node, node_def, step->index);
        pithp_path_explain_item(why, node, step->index);
        return NULL;
    }
    if (step->kind == PITHP_STEP_KEY && node_def->kind == PITHP_KIND_DICT) {
        const int64_t i = pithp_node_def_find_key(node_def, step->name);
        if (i >= 0)
            return pithp_slot(node, node_def, i);
        pithp_path_explain_key(why, node, step->name);
        return NULL;
    }
    static const char *const lacks[] = {[PITHP_STEP_FIELD] = "fields",
                                        [PITHP_STEP_INDEX] = "items",
                                        [PITHP_STEP_EACH] = "items",
                                        [PITHP_STEP_KEY] = "keys"};
    pithp_node_describe(why, node);
    pithp_string_print(why, " has no %s", lacks[step->kind]);
    return NULL;
}

const void *pith_tree_at(pith_scope *s, const void *tree, const char *path) {
    if (!pithp_enter(s) || pithp_tree_check(s, tree, "pith_tree_at", "tree") != PITH_OK)
        return NULL;
    if (!path) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_at: path is NULL");
        return NULL;
    }
    pithp_path_reader r;
    pithp_path_part step;
    pithp_string why, to;
    pithp_path_read(&r, s->runtime, path);
    pithp_string_begin(&why, s->runtime);
    pithp_string_begin(&to, s->runtime);
    const void *node = tree;
    while (pithp_path_step(&r, &step)) {
        const void **slot = NULL;
        if (!node || pithp_kind_of(node) == PITHP_KIND_ARRAY) {
            pithp_node_describe(&why, node);
            pithp_string_add(&why, " has no children");
        } else {
            slot = find_slot(node, pithp_node_def_of(node), &r, &step, &why);
        }
        if (!slot && !r.name.failed) {
            pithp_string_add_n(&to, path, step.end);
            if (why.failed || to.failed)
                pithp_fail_memory(s, why.length + to.length);
            else
                pithp_fail(s, PITH_E_PATH, to.bytes, "%s", why.bytes);
        }
        if (!slot)
            break;
        node = *slot;
    }
    if (r.error || r.name.failed)
        pithp_path_fail(s, &r);
    pithp_string_end(&to);
    pithp_string_end(&why);
    pithp_path_read_end(&r);
    return pith_failed(s) ? NULL : node;
}

bool pithp_path_contains(const char *a, const char *b) {
    const size_t n = strlen(a);
    return !strncmp(a, b, n) && (!b[n] || b[n] == '.' || b[n] == '[');
}
