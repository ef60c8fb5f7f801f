/* pith show --json: prints a checkpoint as one object, its nodes in walk order. */
#include "tool.h"

#include <math.h>
#include <string.h>

static void put_static(const pith_checkpoint_static *v) {
    json_name(v->name);
    switch (v->kind) {
        case PITH_STATIC_KIND_I64:
            json_i64(v->i64);
            return;
        case PITH_STATIC_KIND_F64:
            json_f64(v->f64);
            return;
        case PITH_STATIC_KIND_BOOL:
            json_bool(v->i64);
            return;
        case PITH_STATIC_KIND_RECORD: /* the row of the record */
            if (v->node < 0)
                json_text(NULL);
            else
                json_i64(v->node);
            return;
        case PITH_STATIC_KIND_TEXT:
        case PITH_STATIC_KIND_ENUM:
        case PITH_STATIC_KIND_DTYPE:
        case PITH_STATIC_KIND_NONE:
            json_text(v->text);
    }
}

static void put_statics(const rows *r, int64_t node) {
    pith_checkpoint_static v;
    json_name("statics");
    json_open('{');
    for (int64_t i = 0; pith_checkpoint_get_static(r->c, node, i, &v); i++)
        put_static(&v);
    json_close('}');
}

static void put_bound(const pith_leaf_statistics *m, pith_dtype dtype, bool least) {
    const uint64_t u64 = least ? m->least_u64 : m->greatest_u64;
    if (dtype >= PITH_U8 && dtype <= PITH_U64)
        json_element(PITH_U64, &u64, 0);
    else if (pith_dtype_is_float(dtype))
        json_f64(least ? m->least : m->greatest);
    else
        json_i64(least ? m->least_i64 : m->greatest_i64);
}

/* Without numbers, bounds and mean are omitted. */
static void put_statistics(const pith_leaf_statistics *m, const pith_checkpoint_leaf *l) {
    json_name("statistics");
    json_open('{');
    if (!isnan(m->least)) {
        json_name("least"), put_bound(m, l->dtype, true);
        json_name("greatest"), put_bound(m, l->dtype, false);
    }
    if (!isnan(m->mean))
        json_name("mean"), json_f64(m->mean);
    json_name("nans"), json_i64(m->nans);
    json_name("infinities"), json_i64(m->infinities);
    json_close('}');
}

/* Returns the exit code. */
static int put_leaf(pith_scope *s, const rows *r, int64_t number, bool statistics) {
    pith_checkpoint_leaf l;
    pith_leaf_statistics m;
    pith_checkpoint_get_leaf(r->c, number, &l);
    json_name("dtype"), json_text(pith_dtype_name(l.dtype));
    json_name("shape"), json_shape(&l.shape);
    json_name("unit"), json_text(l.unit);
    json_name("bytes"), json_i64((int64_t)l.bytes);
    json_name("checksum"), json_text(l.checksum);
    if (l.shard) {
        json_name("shard"), json_text(l.shard);
        json_name("rows"), json_text(l.rows);
        json_name("part"), json_shape(&l.part);
    }
    if (l.sidecar >= 0) {
        json_name("sidecar"), json_i64(l.sidecar);
        json_name("stored_bytes"), json_i64((int64_t)l.stored_bytes);
        json_name("compressed"), json_bool(l.compressed);
    }
    if (!statistics)
        return SAME;
    if (pith_checkpoint_statistics(s, r->c, number, &m)) {
        put_statistics(&m, &l);
        return SAME;
    }
    const bool damaged = pith_code(s) == PITH_E_FORMAT;
    json_name("error"), json_text(pith_message(s));
    complain("show", "%s", pith_message(s));
    pith_clear(s);
    return damaged ? DIFFERENT : TROUBLE;
}

static int put_node(pith_scope *s, const rows *r, int64_t node, bool statistics) {
    const pith_checkpoint_node *n = &r->nodes[node];
    int code = SAME;
    json_open('{');
    json_name("path"), json_text(pith_checkpoint_path(s, r->c, node));
    json_name("kind"), json_text(pith_node_kind_name(n->kind));
    if (n->parent >= 0)
        json_name("parent"), json_i64(n->parent);
    if (n->is_static)
        json_name("static"), json_bool(true);
    if (n->kind == PITH_NODE_RECORD) {
        json_name("type"), json_text(n->type);
        json_name("type_version"), json_i64(n->version);
        put_statics(r, node);
    }
    if (n->kind == PITH_NODE_LEAF)
        code = put_leaf(s, r, n->leaf, statistics);
    json_close('}');
    return code;
}

/* The files of the ranks of a mesh. */
static void put_parts(const rows *r) {
    json_name("mesh"), json_text(r->info->mesh);
    json_name("parts");
    json_open('[');
    for (int64_t k = 0; k < r->info->part_count; k++) {
        pith_checkpoint_part part;
        pith_checkpoint_get_part(r->c, k, &part);
        json_open('{');
        json_name("file"), json_text(part.file);
        json_name("bytes"), json_i64((int64_t)part.bytes);
        json_close('}');
    }
    json_close(']');
}

static void put_head(const rows *r) {
    const pith_checkpoint_info *i = r->info;
    json_name("file"), json_text(r->file);
    json_name("format"), json_i64(i->format);
    json_name("library"), json_text(i->library);
    json_name("step"), json_i64(i->step);
    json_name("leaves"), json_i64(i->leaf_count);
    json_name("leaf_bytes"), json_i64((int64_t)i->leaf_bytes);
    json_name("document_bytes"), json_i64((int64_t)i->document_bytes);
    json_name("sidecars");
    json_open('[');
    for (int64_t k = 0; k < i->sidecar_count; k++) {
        pith_checkpoint_sidecar sidecar;
        pith_checkpoint_get_sidecar(r->c, k, &sidecar);
        json_open('{');
        json_name("file"), json_text(sidecar.file);
        json_name("bytes"), json_i64((int64_t)sidecar.bytes);
        json_close('}');
    }
    json_close(']');
    if (i->mesh)
        put_parts(r);
    json_name("metadata");
    json_open('{');
    for (int64_t k = 0; k < i->metadata_count; k++) {
        const pith_metadata pair = pith_checkpoint_metadata(r->c, k);
        json_name(pair.key), json_text(pair.value);
    }
    json_close('}');
}

int show_json(pith_scope *s, const rows *r, bool statistics) {
    int code = SAME;
    json_open('{');
    put_head(r);
    json_name("nodes");
    json_open('[');
    for (int64_t i = 0; i < r->info->node_count; i++) {
        pith_scope *inner = pith_scope_open_in(s); /* limits memory for paths */
        const int one = put_node(inner, r, i, statistics);
        pith_scope_close(inner);
        code = one > code ? one : code;
    }
    json_close(']');
    json_close('}');
    return code;
}
