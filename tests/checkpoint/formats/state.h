/* What the checkpoints of formats/ hold, and how each was saved. States of a format that
 * was released never change: what is new gets new rows. */
#ifndef FORMATS_STATE_H
#define FORMATS_STATE_H

#include <math.h>
#include <pith/pith.h>

typedef struct GoldenPart {
    const pith_array *mass;
    const char *name;
} GoldenPart;
PITH_NODE(GoldenPart, PITH_LEAF(mass, "f32[n]", .unit = "u"), PITH_STATIC(name))

static const char *const golden_modes[] = {"open", "closed", NULL};

typedef struct Golden {
    const GoldenPart *part, *none;
    const pith_array *x, *count;
    const void *any;
    int64_t width;
    double cutoff;
    bool on;
    int mode;
    pith_dtype real;
} Golden;
PITH_NODE(Golden,
          PITH_TYPE_VERSION(2),
          PITH_CHILD(part, GoldenPart),
          PITH_CHILD(none, GoldenPart, .optional = true),
          PITH_LEAF(x, "real[n,width]"),
          PITH_LEAF(count, "u64"),
          PITH_TREE(any),
          PITH_STATIC(width),
          PITH_STATIC(cutoff),
          PITH_STATIC(on),
          PITH_STATIC_ENUM(mode, golden_modes),
          PITH_STATIC_DTYPE(real))

static const Golden *golden_state(pith_scope *s) {
    double x[150];
    float mass[50];
    for (int i = 0; i < 150; i++)
        x[i] = i % 7 == 3 ? -0.0 : (i - 75) / 3.0;
    for (int i = 0; i < 50; i++)
        mass[i] = 1 + (float)i / 8;
    x[0] = (double)NAN, x[1] = (double)INFINITY, x[2] = 5e-324;
    const uint64_t top = UINT64_MAX;
    const GoldenPart part = {pith_array_copy(s, PITH_F32, PITH_SHAPE(50), mass),
                             "\u00c5ngstr\u00f6m"};
    const char *const keys[] = {"a", "b c"};
    const void *items[] = {
        pith_bool(s, true),
        pith_list_make(s, PITH_ITEMS(pith_none_make(s), pith_f32(s, 0.1f)))};
    const Golden golden = {.part = pith_freeze(s, GoldenPart, &part),
                           .x = pith_array_copy(s, PITH_F64, PITH_SHAPE(50, 3), x),
                           .count = pith_array_copy(s, PITH_U64, PITH_SCALAR, &top),
                           .any = pith_dict_make(s, 2, keys, items),
                           .width = 3,
                           .cutoff = 0.1,
                           .on = true,
                           .mode = 1,
                           .real = PITH_F64};
    return pith_freeze(s, Golden, &golden);
}

typedef enum formats_kind { GOLDEN, CHANGED, PACKED } formats_kind;

/* CHANGED: another count. PACKED: a list of the state and zeros, which compress. */
static const void *formats_state(pith_scope *s, formats_kind kind) {
    const Golden *golden = golden_state(s);
    if (kind == PACKED)
        return pith_list_make(
            s, PITH_ITEMS(golden, pith_zeros(s, PITH_I32, PITH_SHAPE(40, 50))));
    if (kind == GOLDEN)
        return golden;
    Golden changed = *golden;
    changed.count = pith_full(s, PITH_U64, PITH_SCALAR, 7);
    return pith_freeze(s, Golden, &changed);
}

typedef struct formats_row {
    int format;
    const char *file, *path; /* to load; that was saved to */
    formats_kind kind;
    pith_save_options options; /* but for the metadata, which are the same everywhere */
} formats_row;

static const formats_row formats_rows[] = {
    {1, "single.json", "single.json", GOLDEN, {.step = 100}},
    {1, "inline.json", "inline.json", GOLDEN, {.step = 200, .inline_all = true}},
    {2, "single.json", "single.json", GOLDEN, {.step = 100}},
    {2, "inline.json", "inline.json", GOLDEN, {.step = 200, .inline_all = true}},
    {2,
     "series.000001.json",
     "series.json",
     GOLDEN,
     {.step = 300, .keep = 2, .incremental = true, .inline_bytes = -1}},
    {2,
     "series.000002.json",
     "series.json",
     CHANGED,
     {.step = 301, .keep = 2, .incremental = true, .inline_bytes = -1}},
    {2, "packed.json", "packed.json", PACKED, {.step = 400, .compress = 1}},
};
enum {
    FORMATS_NEWEST = 2,
    FORMATS_ROWS = (int)(sizeof formats_rows / sizeof formats_rows[0])
};

static bool formats_save(pith_scope *s, const formats_row *row, const char *folder) {
    char path[1024];
    pith_save_options options = row->options;
    options.metadata = PITH_METADATA({"kept", "for ever"});
    snprintf(path, sizeof path, "%s/%s", folder, row->path);
    return pith_save(s, formats_state(s, row->kind), path, &options);
}

#endif
