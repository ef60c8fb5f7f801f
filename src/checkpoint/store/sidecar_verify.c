/* Sidecar verification: checks a sidecar against its document before an incremental save
 * shares it. */
#include "checkpoint/store/file.h"

#include <unistd.h>

static bool has_digest(int file,
                       size_t at,
                       size_t n,
                       pithp_digest expected,
                       void *room,
                       size_t most) {
    pithp_hasher h;
    pithp_hasher_begin(&h);
    while (n) {
        const size_t piece = n < most ? n : most;
        if (pithp_file_read(file, room, piece, at) != 0)
            return false;
        pithp_hasher_add(&h, room, piece);
        at += piece;
        n -= piece;
    }
    return pithp_digest_equal(pithp_hasher_end(&h), expected);
}

static bool leaf_is_sound(int file,
                          size_t data,
                          const pithp_doc_leaf *leaf,
                          void *room,
                          size_t most) {
    const size_t at = data + leaf->begin;
    bool sound = true;
    if (!leaf->compressed)
        return has_digest(file, at, leaf->bytes, leaf->digest, room, most);
    for (int64_t i = 0; sound && i < leaf->frame_count; i++)
        sound = has_digest(file, at + leaf->frames[i].begin, leaf->frames[i].bytes,
                           leaf->frames[i].digest, room, most);
    return sound;
}

bool pithp_sidecar_verify(pith_runtime *rt,
                          int folder,
                          const pithp_doc_sidecar *sidecar,
                          const pithp_doc_leaf *leaf) {
    enum { ROOM = PITHP_CHUNK_BYTES };
    size_t bytes;
    const int file = pithp_file_open(folder, sidecar->file, &bytes);
    if (file < 0)
        return false;
    void *room = pithp_allocate(rt, ROOM);
    const bool sound =
        room && bytes == sidecar->bytes &&
        (leaf ? leaf_is_sound(file, sidecar->data, leaf, room, ROOM)
              : has_digest(file, 0, sidecar->data, sidecar->digest, room, ROOM));
    pithp_release(rt, room, ROOM);
    close(file);
    return sound;
}
