/* Text of lenses. */
#include "lens/lens_internal.h"

void pithp_lens_text(pithp_string *t, const pith_lens *lens) {
    for (int32_t i = 0; i < lens->part_count; i++)
        lens->parts[i].kind->text(t, &lens->parts[i]);
}

void pithp_slice_text(pithp_string *t, const pith_slice *slice) {
    const bool back = slice->step < 0;
    if (slice->start != (back ? -1 : 0))
        pithp_string_print(t, "%lld", (long long)slice->start);
    pithp_string_add(t, ":");
    if (slice->limit != (back ? INT64_MIN : INT64_MAX))
        pithp_string_print(t, "%lld", (long long)slice->limit);
    if (slice->step != 1)
        pithp_string_print(t, ":%lld", (long long)slice->step);
}

const char *pith_lens_text(pith_scope *s, const pith_lens *lens) {
    if (!pithp_enter(s) || pithp_lens_check(s, lens, "pith_lens_text", "lens") != PITH_OK)
        return NULL;
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    pithp_lens_text(&text, lens);
    return pithp_string_finish(s, &text);
}
