/* Text of lenses. */
#include "lens/lens_internal.h"

#include <string.h>

void pithp_lens_text(pithp_text *t, const pith_lens *lens) {
    for (int32_t i = 0; i < lens->part_count; i++)
        pithp_lens_part_text(t, &lens->parts[i]);
}

static void add_each(pithp_text *t, const pith_slice *each) {
    const bool begins = each->start == 0, ends = each->limit == INT64_MAX;
    if (begins && ends && each->step == 1) {
        pithp_text_add(t, "[*]");
        return;
    }
    pithp_text_add(t, "[");
    pithp_slice_text(t, each);
    pithp_text_add(t, "]");
}

static void add_merged(pithp_text *t, const pithp_lens_part *part) {
    pithp_text_add(t, "(");
    for (int32_t i = 0; i < part->count; i++) {
        pithp_text_add(t, i ? ", " : "");
        pithp_lens_text(t, part->merged[i]);
    }
    pithp_text_add(t, ")");
}

void pithp_lens_part_text(pithp_text *t, const pithp_lens_part *part) {
    static const char *const asked[] = {[PITHP_LENS_ASK_NODES] = "[nodes where]",
                                        [PITHP_LENS_ASK_LEAVES] = "[leaves where]",
                                        [PITHP_LENS_ASK_TYPE] = "[all "};
    char spec[PITHP_SPEC_TEXT_BYTES];
    switch (part->kind) {
        case PITHP_LENS_PATH:
            pithp_text_add(t, part->text);
            return;
        case PITHP_LENS_CHECK:
            return;
        case PITHP_LENS_CONSTANT:
            pithp_text_add(t, "constant(");
            pithp_node_describe(t, part->constant);
            pithp_text_add(t, ")");
            return;
        case PITHP_LENS_FUNCTION:
            /* separated like a path element */
            pithp_text_print(t, "%s%s()",
                             t->length && !strchr("( ", t->bytes[t->length - 1]) ? "."
                                                                                 : "",
                             part->function.name);
            return;
        case PITHP_LENS_MERGE:
            add_merged(t, part);
            return;
        case PITHP_LENS_EACH:
            add_each(t, &part->each);
            return;
        case PITHP_LENS_WHERE:
            pithp_text_add(t, asked[part->where.asked]);
            if (part->where.asked == PITHP_LENS_ASK_TYPE)
                pithp_text_print(t, "%s]", part->where.type->name);
            return;
        case PITHP_LENS_AT:
            pithp_text_print(t, ".at(%s)",
                             pithp_spec_print(pithp_array_spec(part->at.index), spec));
            return;
        case PITHP_LENS_SLICE:
            pithp_text_add(t, ".slice(");
            for (int32_t i = 0; i < part->count; i++) {
                pithp_text_add(t, i ? ", " : "");
                pithp_slice_text(t, &part->slices[i]);
            }
            pithp_text_add(t, ")");
            return;
    }
}

void pithp_slice_text(pithp_text *t, const pith_slice *slice) {
    const bool back = slice->step < 0;
    if (slice->start != (back ? -1 : 0))
        pithp_text_print(t, "%lld", (long long)slice->start);
    pithp_text_add(t, ":");
    if (slice->limit != (back ? INT64_MIN : INT64_MAX))
        pithp_text_print(t, "%lld", (long long)slice->limit);
    if (slice->step != 1)
        pithp_text_print(t, ":%lld", (long long)slice->step);
}

const char *pith_lens_text(pith_scope *s, const pith_lens *lens) {
    if (!pithp_enter(s) || pithp_lens_check(s, lens, "pith_lens_text", "lens") != PITH_OK)
        return NULL;
    pithp_text text;
    pithp_text_begin(&text, s->runtime);
    pithp_lens_text(&text, lens);
    return pithp_text_finish(s, &text);
}
