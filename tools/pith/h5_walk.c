/* Depth-first walk over the groups of an HDF5 file. H5Lvisit opens every object by its
 * full name, and an open object keeps its full name, so both are quadratic in the depth.
 * Here links are read group by group, and objects are opened by address. */
#include "h5_walk.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

typedef struct link {
    char *name; /* owned */
    H5L_type_t type;
    haddr_t address; /* of the object, for hard links */
} link;

/* An open group and its links. */
typedef struct level {
    hid_t group;
    link *links;
    size_t count, room, next;
    size_t path; /* length of the group's path, with its slash */
} level;

typedef struct walk {
    hid_t file;
    const h5_visitor *v;
    level *levels;
    size_t depth, level_room;
    char *path;
    size_t path_room;
    haddr_t *seen; /* groups: a hash table; HADDR_UNDEF is an empty slot */
    size_t seen_count, seen_room;
} walk;

static void *grown(void *from, size_t count, size_t *room, size_t bytes) {
    if (count < *room)
        return from;
    *room = *room ? 2 * *room : 8;
    char *more = room_for(*room, bytes);
    if (count)
        memcpy(more, from, count * bytes);
    free(from);
    return more;
}

/* ---- Visited groups: hard links may form cycles ---- */

static size_t place_of(const walk *w, haddr_t address) {
    size_t at = (size_t)(address * 0x9E3779B97F4A7C15u >> 20) % w->seen_room;
    while (w->seen[at] != HADDR_UNDEF && w->seen[at] != address)
        at = (at + 1) % w->seen_room;
    return at;
}

static void make_room(walk *w) {
    haddr_t *const before = w->seen;
    const size_t count = w->seen_room;
    w->seen_room = count ? 2 * count : 64;
    w->seen = room_for(w->seen_room, sizeof *w->seen);
    for (size_t i = 0; i < w->seen_room; i++)
        w->seen[i] = HADDR_UNDEF;
    for (size_t i = 0; i < count; i++)
        if (before[i] != HADDR_UNDEF)
            w->seen[place_of(w, before[i])] = before[i];
    free(before);
}

static bool is_new(walk *w, haddr_t address) {
    if (2 * w->seen_count >= w->seen_room)
        make_room(w);
    const size_t at = place_of(w, address);
    if (w->seen[at] == address)
        return false;
    w->seen[at] = address;
    w->seen_count++;
    return true;
}

/* ---- Levels ---- */

static herr_t
add_link(hid_t group, const char *name, const H5L_info_t *info, void *closure) {
    (void)group;
    level *l = closure;
    l->links = grown(l->links, l->count, &l->room, sizeof *l->links);
    l->links[l->count++] =
        (link){text_of("%s", name), info->type,
               info->type == H5L_TYPE_HARD ? info->u.address : HADDR_UNDEF};
    return 0;
}

/* Enter a group, and take it over. False: HDF5 has the error. */
static bool enter(walk *w, hid_t group, haddr_t address, size_t path) {
    if (!is_new(w, address)) {
        H5Oclose(group);
        w->path[path - 1] = 0; /* without the slash; the root is always new */
        w->v->link(w->v->closure, w->path, H5L_TYPE_HARD);
        return true;
    }
    w->levels = grown(w->levels, w->depth, &w->level_room, sizeof *w->levels);
    level *l = &w->levels[w->depth++];
    *l = (level){.group = group, .path = path};
    return H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, add_link, l) >= 0;
}

static bool enter_root(walk *w) {
    H5O_info_t info;
    hid_t root = H5Gopen2(w->file, "/", H5P_DEFAULT);
    if (root >= 0 && H5Oget_info(root, &info) >= 0)
        return enter(w, root, info.addr, 0);
    if (root >= 0)
        H5Oclose(root);
    return false;
}

static void leave(walk *w) {
    level *l = &w->levels[--w->depth];
    for (size_t i = 0; i < l->count; i++)
        free(l->links[i].name);
    free(l->links);
    H5Oclose(l->group);
}

/* The path of a link; returns its length. */
static size_t set_path(walk *w, const level *l, const char *name) {
    const size_t length = strlen(name), end = l->path + length;
    if (end + 2 > w->path_room) {
        w->path_room = 2 * (end + 2);
        char *longer = room_for(w->path_room, 1);
        if (l->path)
            memcpy(longer, w->path, l->path);
        free(w->path);
        w->path = longer;
    }
    memcpy(w->path + l->path, name, length + 1);
    return end;
}

/* ---- The walk ---- */

static bool visit(walk *w, const level *l, const link *it) {
    const size_t end = set_path(w, l, it->name);
    if (it->type != H5L_TYPE_HARD) {
        w->v->link(w->v->closure, w->path, it->type);
        return true;
    }
    hid_t object = H5Oopen_by_addr(w->file, it->address);
    const H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type(object);
    if (type == H5I_GROUP) {
        strcpy(w->path + end, "/");
        return enter(w, object, it->address, end + 1);
    }
    const bool good = (type != H5I_DATASET && object >= 0) ||
                      w->v->dataset(w->v->closure, object, w->path);
    if (object >= 0)
        H5Oclose(object);
    return good;
}

bool h5_walk(hid_t file, const h5_visitor *v) {
    walk w = {.file = file, .v = v};
    bool good = enter_root(&w);
    while (good && w.depth) {
        level *l = &w.levels[w.depth - 1];
        if (l->next == l->count)
            leave(&w);
        else
            good = visit(&w, l, &l->links[l->next++]);
    }
    while (w.depth)
        leave(&w);
    free(w.levels);
    free(w.path);
    free(w.seen);
    return good;
}
