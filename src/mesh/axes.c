/* Axes of meshes: sizes that fit the number of ranks, texts that name axes, and the ranks
 * along them. */
#include "mesh/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Sizes ---- */

static bool is_name(const char *name) {
    const size_t n = strnlen(name, PITHP_AXIS_BYTES);
    for (size_t i = 0; i < n; i++) {
        const char c = name[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return n > 0 && n < PITHP_AXIS_BYTES;
}

static int64_t power(int64_t base, int exponent) { /* saturates */
    int64_t p = 1;
    while (exponent-- > 0)
        if (__builtin_mul_overflow(p, base, &p))
            return INT64_MAX;
    return p;
}

/* Split n into `count` factors of at most `most`, in descending order: the greatest is as
 * small as possible, then the next. */
static bool balance(int64_t n, int count, int64_t most, int64_t *factors) {
    if (count == 0)
        return n == 1;
    for (int64_t f = 1; f <= most && f <= n; f++)
        if (n % f == 0 && power(f, count) >= n &&
            balance(n / f, count - 1, f, factors + 1)) {
            *factors = f;
            return true;
        }
    return false;
}

static pith_status check_axis(pith_scope *s, const pith_mesh_axis *axes, int i) {
    const char *function = s->function;
    if (!is_name(axes[i].name))
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: axis %d is \"%.40s\", expected a name as in C of at most "
                          "%d characters",
                          function, i, axes[i].name, PITHP_AXIS_BYTES - 1);
    if (axes[i].size < 0)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: axis %s has size %" PRId64
                          ", expected a number of ranks, or 0 to have it chosen",
                          function, axes[i].name, axes[i].size);
    for (int k = 0; k < i; k++)
        if (strcmp(axes[k].name, axes[i].name) == 0)
            return pithp_fail(s, PITH_E_ARG, NULL, "%s: two axes are named %s", function,
                              axes[i].name);
    return PITH_OK;
}

/* "x=2, y=3", zeros as given. */
static void print_sizes(const pith_mesh_axis *axes, int count, char *text, size_t room) {
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < count && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%s=%" PRId64, i ? ", " : "",
                               axes[i].name, axes[i].size);
}

pith_status pithp_axes_lay_out(pith_scope *s,
                               const pith_mesh_axis *axes,
                               int64_t ranks,
                               pith_mesh *m) {
    if (!axes || !axes[0].name)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: no axes", s->function);
    int64_t given = 1, rest[PITHP_MESH_AXES];
    int open = 0;
    for (m->count = 0; axes[m->count].name; m->count++) {
        if (m->count == PITHP_MESH_AXES)
            return pithp_fail(s, PITH_E_ARG, NULL, "%s: more than %d axes", s->function,
                              PITHP_MESH_AXES);
        if (check_axis(s, axes, m->count) != PITH_OK)
            return s->error.code;
        const int64_t size = axes[m->count].size;
        open += size == 0;
        if (size && __builtin_mul_overflow(given, size, &given))
            given = INT64_MAX;
    }
    if (given > ranks || ranks % given || !balance(ranks / given, open, ranks, rest)) {
        char sizes[PITHP_WHAT_BYTES];
        print_sizes(axes, m->count, sizes, sizeof sizes);
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: the sizes %s give %s%" PRId64 "%s, but there %s %" PRId64
                          " rank%s",
                          s->function, sizes, given == INT64_MAX ? "at least " : "",
                          given, open ? " times the axes of size 0" : "",
                          ranks == 1 ? "is" : "are", ranks, ranks == 1 ? "" : "s");
    }
    for (int i = 0, next = 0; i < m->count; i++) {
        snprintf(m->axes[i].name, sizeof m->axes[i].name, "%s", axes[i].name);
        m->axes[i].size = axes[i].size ? axes[i].size : rest[next++];
    }
    return PITH_OK;
}

/* The last axis is the fastest. */
void pithp_axes_number(pith_mesh *m, int64_t rank) {
    for (int i = m->count; i-- > 0; rank /= m->axes[i].size)
        m->axes[i].rank = rank % m->axes[i].size;
}

/* ---- Texts ---- */

static int axis_named(const pith_mesh *m, const char *name, size_t n) {
    for (int i = 0; i < m->count; i++)
        if (strlen(m->axes[i].name) == n && memcmp(m->axes[i].name, name, n) == 0)
            return i;
    return -1;
}

static pith_status
refuse(pith_scope *s, const pith_mesh *m, const char *axes, const char *why) {
    char names[PITHP_WHAT_BYTES];
    size_t at = 0;
    for (int i = 0; i < m->count; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                               m->axes[i].name);
    return pithp_fail(s, PITH_E_ARG, NULL, "%s: axes \"%.80s\": %s; the mesh has %s",
                      pithp_function_of(s, "pith"), axes, why, names);
}

/* The axes that a text names; NULL names all. */
static pith_status
parse(pith_scope *s, const pith_mesh *m, const char *axes, pithp_axis_numbers *list) {
    *list = (pithp_axis_numbers){0};
    if (!axes) {
        for (; list->count < m->count; list->count++)
            list->axes[list->count] = (int8_t)list->count;
        return PITH_OK;
    }
    for (const char *name = axes;;) {
        const size_t n = strcspn(name, ",");
        const int axis = axis_named(m, name, n);
        if (axis < 0)
            return refuse(s, m, axes, "no such axis");
        for (int i = 0; i < list->count; i++)
            if (list->axes[i] == axis)
                return refuse(s, m, axes, "an axis is named twice");
        list->axes[list->count++] = (int8_t)axis;
        if (!name[n])
            return PITH_OK;
        name += n + 1;
    }
}

/* The mesh of a scope and the axes of a text. NULL: error set. */
static pith_mesh *find_axes(pith_scope *s, const char *axes, pithp_axis_numbers *list) {
    pith_mesh *m = (pith_mesh *)(uintptr_t)pith_mesh_of(s);
    if (!m) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: the scope has no mesh: call pith_mesh_open",
                   pithp_function_of(s, "pith"));
        return NULL;
    }
    return parse(s, m, axes, list) == PITH_OK ? m : NULL;
}

static int64_t size_along(const pith_mesh *m, const pithp_axis_numbers *list) {
    int64_t size = 1;
    for (int i = 0; i < list->count; i++)
        size *= m->axes[list->axes[i]].size;
    return size;
}

static int64_t rank_along(const pith_mesh *m, const pithp_axis_numbers *list) {
    int64_t rank = 0;
    for (int i = 0; i < list->count; i++)
        rank = rank * m->axes[list->axes[i]].size + m->axes[list->axes[i]].rank;
    return rank;
}

int64_t pith_axis_size(pith_scope *s, const char *axes) {
    pithp_axis_numbers list;
    const pith_mesh *m = pithp_enter(s) ? find_axes(s, axes, &list) : NULL;
    return m ? size_along(m, &list) : 0;
}

int64_t pith_axis_rank(pith_scope *s, const char *axes) {
    pithp_axis_numbers list;
    const pith_mesh *m = pithp_enter(s) ? find_axes(s, axes, &list) : NULL;
    return m ? rank_along(m, &list) : -1;
}

void pithp_mesh_place(const pith_mesh *m, int64_t rank, char *text) {
    pith_mesh_axis axes[PITHP_MESH_AXES];
    for (int i = m->count; i-- > 0; rank /= m->axes[i].size)
        axes[i] = (pith_mesh_axis){m->axes[i].name, rank % m->axes[i].size};
    print_sizes(axes, m->count, text, PITHP_WHAT_BYTES);
}

/* ---- Groups ---- */

/* "x,y" */
static void print_list(const pith_mesh *m, const pithp_axis_numbers *list, char *text) {
    char *end = text;
    for (int i = 0; i < list->count; i++)
        end += snprintf(end, PITHP_AXIS_BYTES + 1, "%s%s", i ? "," : "",
                        m->axes[list->axes[i]].name);
}

static pithp_mesh_group *
make_group(pith_scope *s, const pith_mesh *m, const pithp_axis_numbers *list) {
    pithp_mesh_group *g = pithp_allocate(s->runtime, sizeof *g);
    if (!g) {
        pithp_fail_memory(s, sizeof *g);
        return NULL;
    }
    *g = (pithp_mesh_group){
        .list = *list, .size = size_along(m, list), .rank = rank_along(m, list)};
    print_list(m, list, g->axes);
    return g;
}

/* The group of a list of axes, made at the first call. NULL: error set. */
static pithp_mesh_group *
find_group(pith_scope *s, pith_mesh *m, const pithp_axis_numbers *list) {
    pithp_world *w = m->world;
    pthread_mutex_lock(&w->lock);
    pithp_mesh_group *g = m->groups;
    while (g && memcmp(&g->list, list, sizeof *list) != 0)
        g = g->next;
    if (!g && (g = make_group(s, m, list))) {
        g->world = w;
        g->mesh = m;
        g->next = m->groups;
        m->groups = g;
    }
    pthread_mutex_unlock(&w->lock);
    return g;
}

int64_t pithp_mesh_group_world_rank(const pithp_mesh_group *g, int64_t rank) {
    const pith_mesh *m = g->mesh;
    int64_t along[PITHP_MESH_AXES], world = 0;
    for (int i = 0; i < m->count; i++)
        along[i] = m->axes[i].rank;
    for (int i = g->list.count; i-- > 0;) {
        const int64_t size = m->axes[g->list.axes[i]].size;
        along[g->list.axes[i]] = rank % size;
        rank /= size;
    }
    for (int i = 0; i < m->count; i++)
        world = world * m->axes[i].size + along[i];
    return world;
}

int64_t pithp_mesh_group_first(const pithp_mesh_group *g, int64_t rank) {
    const pith_mesh *m = g->mesh;
    const pithp_axis_set along = pithp_mesh_group_axes(g);
    int64_t first = 0, stride = 1;
    for (int i = m->count; i-- > 0; rank /= m->axes[i].size) {
        if (!(along >> i & 1))
            first += rank % m->axes[i].size * stride;
        stride *= m->axes[i].size;
    }
    return first;
}

int64_t pithp_mesh_group_find(const pithp_mesh_group *g, int64_t rank) {
    const pith_mesh *m = g->mesh;
    int64_t at[PITHP_MESH_AXES] = {0}, number = 0;
    bool outside = false;
    for (int i = m->count; i-- > 0; rank /= m->axes[i].size) {
        at[i] = rank % m->axes[i].size;
        bool listed = false;
        for (int k = 0; k < g->list.count; k++)
            listed |= g->list.axes[k] == i;
        outside |= !listed && at[i] != m->axes[i].rank;
    }
    for (int k = 0; k < g->list.count; k++)
        number = number * m->axes[g->list.axes[k]].size + at[g->list.axes[k]];
    return outside ? -1 : number;
}

pithp_mesh_group *pithp_mesh_group_of(pith_scope *s, const char *axes) {
    pithp_axis_numbers list;
    pith_mesh *m = find_axes(s, axes, &list);
    return m ? find_group(s, m, &list) : NULL;
}

/* ---- Sets of axes ---- */

static pithp_axis_numbers list_of(const pith_mesh *m, pithp_axis_set axes) {
    pithp_axis_numbers list = {0};
    for (int i = 0; i < m->count; i++)
        if (axes >> i & 1)
            list.axes[list.count++] = (int8_t)i;
    return list;
}

pithp_mesh_group *
pithp_mesh_group_along(pith_scope *s, const pith_mesh *mesh, pithp_axis_set axes) {
    const pithp_axis_numbers list = list_of(mesh, axes);
    return find_group(s, (pith_mesh *)(uintptr_t)mesh, &list);
}

pithp_axis_set pithp_mesh_axes(const pith_mesh *mesh) {
    return ((pithp_axis_set)1 << mesh->count) - 1;
}

void pithp_mesh_axes_text(const pith_mesh *mesh, pithp_axis_set axes, char *text) {
    const pithp_axis_numbers list = list_of(mesh, axes);
    *text = 0;
    print_list(mesh, &list, text);
}

void pithp_mesh_groups_free(pith_runtime *rt, pith_mesh *m) {
    while (m->groups) {
        pithp_mesh_group *g = m->groups;
        m->groups = g->next;
        pithp_mesh_pairs_free(rt, g);
        pithp_release(rt, g, sizeof *g);
    }
}
