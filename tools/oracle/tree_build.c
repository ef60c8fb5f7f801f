/* Trees of golden cases: construction from JSON, comparison, and paths. */
#include "tree_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 64, KEY_BYTES = 64 };

/* ---- Values ---- */

const pith_array *
golden_leaf(pith_scope *s, golden_values *values, const golden_value *value) {
    if (values->count == values->room) {
        values->room = values->room ? 2 * values->room : 32;
        values->all = realloc(values->all, (size_t)values->room * sizeof *values->all);
        if (!values->all)
            abort();
    }
    values->all[values->count] = *value;
    return pith_i64(s, values->count++);
}

const golden_value *
golden_value_of(pith_scope *s, const golden_values *values, const pith_array *leaf) {
    int64_t place = -1;
    pith_read(s, leaf, &place, sizeof place);
    return place >= 0 && place < values->count ? &values->all[place] : NULL;
}

void golden_values_end(golden_values *values) {
    for (int64_t i = 0; i < values->count; i++)
        free(values->all[i].owned);
    free(values->all);
    *values = (golden_values){0};
}

static bool same_json(const golden_json *a, const golden_json *b) {
    if (a->kind != b->kind || (a->text && strcmp(a->text, b->text) != 0) ||
        memcmp(&a->number, &b->number, sizeof a->number) != 0)
        return false;
    const golden_json *x = a->child, *y = b->child;
    while (x && y && same_json(x, y))
        x = x->next, y = y->next;
    return !x && !y;
}

/* ---- Keys ---- */

/* An integer as a text that sorts like integers, after a mark that no other key has. */
static void spell_key(const golden_json *key, char text[KEY_BYTES]) {
    if (key->kind == 's')
        snprintf(text, KEY_BYTES, "%s", key->text);
    else
        snprintf(text, KEY_BYTES, "\x01%019lld",
                 (long long)key->number + 1000000000000000000);
}

static const char *key_number(const char *key) {
    static char text[32];
    snprintf(text, sizeof text, "%lld", strtoll(key + 1, NULL, 10) - 1000000000000000000);
    return text;
}

/* ---- Building ---- */

static const void *
build_dict(pith_scope *s, golden_values *values, const golden_json *node) {
    char keys[MOST_ITEMS][KEY_BYTES];
    const char *names[MOST_ITEMS];
    const void *items[MOST_ITEMS];
    int count = 0;
    char kind = 0;
    for (const golden_json *c = golden_get(node, "items")->child; c; c = c->next) {
        const golden_json *key = golden_item(c, 0);
        if (count == MOST_ITEMS || (kind && kind != key->kind)) {
            pith_fail(s, PITH_E_ARG, NULL, "a dict with keys of two kinds");
            return NULL;
        }
        kind = key->kind;
        spell_key(key, keys[count]);
        names[count] = keys[count];
        items[count++] = golden_tree(s, values, golden_item(c, 1));
    }
    return pith_dict_make(s, count, names, items);
}

/* The record type of a node: its fields, then its statics. */
static const pith_type *type_of(const golden_json *node, const golden_json *fields) {
    pith_field list[2 * MOST_ITEMS];
    char name[200];
    size_t count = 0, at = 0;
    int used = snprintf(name, sizeof name, "Golden_%s_%s", golden_text(node, "kind"),
                        golden_text(node, "type"));
    memset(list, 0, sizeof list);
    for (const golden_json *c = fields->child; c; c = c->next, count++, at += 8)
        list[count] = (pith_field){.name = golden_item(c, 0)->text,
                                   .offset = at,
                                   .size = sizeof(void *),
                                   .kind = PITH_FIELD_TREE};
    const golden_json *statics = golden_get(node, "static");
    for (const golden_json *c = statics ? statics->child : NULL; c; c = c->next) {
        const char kind = golden_item(c, 1)->kind;
        const bool number = kind == 'n', text = kind == 's';
        list[count++] = (pith_field){.name = golden_item(c, 0)->text,
                                     .offset = at,
                                     .size = number || text ? 8 : sizeof(bool),
                                     .kind = PITH_FIELD_STATIC,
                                     .static_kind = number ? PITH_STATIC_KIND_F64
                                                    : text ? PITH_STATIC_KIND_TEXT
                                                           : PITH_STATIC_KIND_BOOL};
        at += 8;
        used += snprintf(name + used, sizeof name - (size_t)used, "_%c",
                         number ? 'n'
                         : text ? 's'
                                : 'b');
    }
    const pith_type_spec spec = {name, at ? at : 8, 8, list, count, NULL};
    return pith_type_register(&spec, NULL);
}

static const void *
build_record(pith_scope *s, golden_values *values, const golden_json *node) {
    const bool named = strcmp(golden_text(node, "kind"), "named_tuple") == 0;
    const golden_json *fields = golden_get(node, named ? "items" : "fields");
    const golden_json *statics = golden_get(node, "static");
    union {
        const void *tree;
        const char *text;
        double number;
        bool flag;
    } value[2 * MOST_ITEMS];
    memset(value, 0, sizeof value);
    int at = 0;
    for (const golden_json *c = fields->child; c; c = c->next)
        value[at++].tree = golden_tree(s, values, golden_item(c, 1));
    for (const golden_json *c = statics ? statics->child : NULL; c; c = c->next, at++) {
        const golden_json *v = golden_item(c, 1);
        if (v->kind == 'n')
            value[at].number = v->number;
        else if (v->kind == 's')
            value[at].text = v->text;
        else
            value[at].flag = v->kind == 't';
    }
    return pith_freeze_any(s, type_of(node, fields), value);
}

static const void *
build_items(pith_scope *s, golden_values *values, const golden_json *node, bool list) {
    const void *items[MOST_ITEMS];
    int64_t count = 0;
    for (const golden_json *c = golden_get(node, "items")->child; c; c = c->next) {
        if (count == MOST_ITEMS) {
            pith_fail(s, PITH_E_ARG, NULL, "more than %d items", MOST_ITEMS);
            return NULL;
        }
        items[count++] = golden_tree(s, values, c);
    }
    return list ? (const void *)pith_list_make(s, count, items)
                : (const void *)pith_tuple_make(s, count, items);
}

const void *golden_tree(pith_scope *s, golden_values *values, const golden_json *node) {
    const char *kind = golden_text(node, "kind");
    if (!strcmp(kind, "leaf"))
        return golden_leaf(s, values, &(golden_value){.json = golden_get(node, "value")});
    if (!strcmp(kind, "none"))
        return pith_none_make(s);
    if (!strcmp(kind, "list") || !strcmp(kind, "tuple"))
        return build_items(s, values, node, *kind == 'l');
    if (!strcmp(kind, "dict"))
        return build_dict(s, values, node);
    if (!strcmp(kind, "record") || !strcmp(kind, "named_tuple"))
        return build_record(s, values, node);
    pith_fail(s, PITH_E_ARG, NULL, "a node of the kind %s", kind);
    return NULL;
}

/* ---- Comparing ---- */

static bool is_leaf(pith_scope *s,
                    const golden_values *values,
                    const pith_array *leaf,
                    const golden_json *want) {
    const golden_value *v = golden_value_of(s, values, leaf);
    if (!v)
        return false;
    if (v->json)
        return same_json(v->json, want);
    if (v->text)
        return want->kind == 's' && !strcmp(want->text, v->text);
    bool same = want->kind == '[' && golden_length(want) == v->count;
    for (int k = 0; same && k < v->count; k++)
        same = golden_is_tree(s, values, v->trees[k], golden_item(want, k));
    return same;
}

/* Dicts of the case are in insertion order; pith's are sorted. */
static bool is_dict(pith_scope *s,
                    const golden_values *values,
                    const void *tree,
                    const golden_json *items) {
    bool same = pith_kind(tree) == PITH_NODE_DICT &&
                pith_child_count(tree) == golden_length(items);
    for (const golden_json *c = items->child; c && same; c = c->next) {
        char key[KEY_BYTES];
        spell_key(golden_item(c, 0), key);
        const void *item = pith_dict_get(tree, key);
        same = item && golden_is_tree(s, values, item, golden_item(c, 1));
    }
    return same;
}

/* Compare statics by making a record of the same items. */
static bool is_record(pith_scope *s,
                      const golden_values *values,
                      const void *tree,
                      const golden_json *node,
                      const golden_json *fields) {
    golden_values own = {0};
    const void *model = golden_tree(s, &own, node);
    const pith_type *type = pith_type_of(tree);
    bool same = type && type == pith_type_of(model) &&
                pith_child_count(tree) == golden_length(fields);
    for (int64_t i = 0; same && i < pith_child_count(tree); i++)
        same = golden_is_tree(s, values, pith_child(tree, i),
                              golden_item(golden_item(fields, (int)i), 1));
    /* with equal children, a difference of structures is one of the statics */
    same = same && pith_treedef_equal(pith_tree_structure(s, tree),
                                      pith_tree_structure(s, model));
    golden_values_end(&own);
    return same;
}

bool golden_is_tree(pith_scope *s,
                    const golden_values *values,
                    const void *tree,
                    const golden_json *node) {
    const char *kind = golden_text(node, "kind");
    const golden_json *items = golden_get(node, "items");
    if (!strcmp(kind, "leaf"))
        return pith_kind(tree) == PITH_NODE_LEAF &&
               is_leaf(s, values, tree, golden_get(node, "value"));
    if (!strcmp(kind, "none"))
        return pith_kind(tree) == PITH_NODE_NONE;
    if (!strcmp(kind, "dict"))
        return is_dict(s, values, tree, items);
    if (!strcmp(kind, "record") || !strcmp(kind, "named_tuple"))
        return is_record(s, values, tree, node,
                         *kind == 'r' ? golden_get(node, "fields") : items);
    bool same = pith_kind(tree) == (*kind == 'l' ? PITH_NODE_LIST : PITH_NODE_TUPLE) &&
                pith_child_count(tree) == golden_length(items);
    for (int64_t i = 0; same && i < pith_child_count(tree); i++)
        same = golden_is_tree(s, values, pith_child(tree, i), golden_item(items, (int)i));
    return same;
}

/* ---- Paths ---- */

/* Decode one escape of a path's key; returns its end. */
static const char *unescape(const char *at, char *to) {
    static const char from[] = "nrt", codes[] = "\n\r\t";
    const char *known = strchr(from, at[1]);
    if (at[1] == 'u') {
        *to = (char)strtol((char[]){at[4], at[5], 0}, NULL, 16); /* below U+00A0 */
        return at + 6;
    }
    *to = known ? codes[known - from] : at[1];
    return at + 2;
}

/* Append a string in the form of Python's repr. */
static void add_repr(char **out, const char *key) {
    const char quote = strchr(key, '\'') && !strchr(key, '"') ? '"' : '\'';
    *(*out)++ = quote;
    for (; *key; key++) {
        if (*key == quote || *key == '\\')
            *out += sprintf(*out, "\\%c", *key);
        else if (*key == '\n' || *key == '\r' || *key == '\t')
            *out += sprintf(*out, "\\%c", *key == '\n' ? 'n' : *key == '\r' ? 'r' : 't');
        else if ((unsigned char)*key < 0x20 || *key == 0x7f)
            *out += sprintf(*out, "\\x%02x", (unsigned)*key);
        else
            *(*out)++ = *key;
    }
    *(*out)++ = quote;
}

static void add_key(char **out, const char *key, bool simple) {
    const bool number = key[0] == 1;
    if (simple) {
        *out += sprintf(*out, "%s", number ? key_number(key) : key);
        return;
    }
    *(*out)++ = '[';
    if (number)
        *out += sprintf(*out, "%s", key_number(key));
    else
        add_repr(out, key);
    *(*out)++ = ']';
}

bool golden_keystr(const char *path, bool simple, char *text, size_t room) {
    char key[512];
    if (strlen(path) >= sizeof key || room < 6 * sizeof key)
        return false;
    char *out = text;
    while (*path) {
        if (simple && out > text)
            *out++ = '/';
        if (path[0] == '[' && path[1] == '\'') {
            char *to = key;
            for (path += 2; *path != '\''; to++)
                if (*path == '\\')
                    path = unescape(path, to);
                else
                    *to = *path++;
            *to = 0;
            path += 2;
            add_key(&out, key, simple);
            continue;
        }
        const size_t length = 1 + strcspn(path + 1, ".[");
        const bool item = *path == '['; /* [3] or .name */
        memcpy(out, path + simple, length - simple - (simple && item));
        out += length - simple - (simple && item);
        path += length;
    }
    *out = 0;
    return true;
}
