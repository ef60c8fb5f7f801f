/* Validation of declarations of sharded leaves. */
#include "tree/shard/text.h"
#include "tree/type_internal.h"

#include <string.h>

static const pithp_field *field_named(const pith_type *t, const char *name) {
    for (int32_t i = 0; i < t->field_count; i++)
        if (t->fields[i].declared.kind != PITH_FIELD_HOOK &&
            strcmp(t->fields[i].declared.name, name) == 0)
            return &t->fields[i];
    return NULL;
}

/* The leaf that counts the rows of another one. */
static void check_rows(pith_type *t, const pith_field *d, const char *axes) {
    const char *name = d->options.rows;
    const pithp_field *f = field_named(t, name);
    char first[PITHP_SHARD_TEXT], own[PITHP_SHARD_TEXT] = "";
    pithp_shard_text_list(axes, 0, first);
    if (f && f->declared.options.shard)
        pithp_shard_text_read(f->declared.options.shard, own);
    if (!f || f->declared.kind != PITH_FIELD_LEAF)
        pithp_type_refuse(t, d->name, ".rows = \"%s\" names no leaf of the record", name);
    else if (f->leaf.rule != PITHP_DTYPE_FIXED || f->leaf.dtype != PITH_I64 ||
             f->leaf.any_shape || f->leaf.rank)
        pithp_type_refuse(t, d->name, ".rows: expected %s to be \"i64[]\", got \"%s\"",
                          name, f->declared.spec);
    else if (!first[0] || strcmp(first, own) != 0)
        pithp_type_refuse(t, d->name,
                          ".rows: expected %s to be sharded over \"%s\", got \"%s\"",
                          name, first, own);
}

void pithp_type_check_shard(pith_type *t, const pithp_field *f) {
    const pith_field *d = &f->declared;
    const pith_field_options *o = &d->options;
    char axes[PITHP_SHARD_TEXT];
    if (!o->shard && !o->rows)
        return;
    if (d->kind != PITH_FIELD_LEAF) {
        pithp_type_refuse(t, d->name, ".shard and .rows are for leaves");
        return;
    }
    if (!o->shard) {
        pithp_type_refuse(t, d->name, ".rows is for sharded leaves: it needs .shard");
        return;
    }
    const char *wrong = pithp_shard_text_read(o->shard, axes);
    const int lists = pithp_shard_text_lists(axes);
    if (wrong)
        pithp_type_refuse(t, d->name, ".shard = \"%.80s\": %s", o->shard, wrong);
    else if (!f->leaf.any_shape && lists > (f->leaf.rank ? f->leaf.rank : 1))
        pithp_type_refuse(t, d->name, ".shard = \"%s\" is for %d axes, the leaf has %d",
                          axes, lists, f->leaf.rank);
    else if (o->rows && !f->leaf.any_shape && !f->leaf.rank)
        pithp_type_refuse(t, d->name, ".rows: the leaf has no rows");
    else if (o->rows)
        check_rows(t, d, axes);
}
