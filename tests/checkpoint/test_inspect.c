/* Looking into checkpoints without their types: rows, elements, statistics. */
#include "checkpoint_scope.h"

Test(inspect, gives_the_rows_of_the_tables) {
    begin();
    const pith_save_options options = {.step = 12,
                                       .metadata = PITH_METADATA({"a", "1"}, {"b", "2"})};
    pt_ok(s, pith_save(s, make_sim(s, 100, 1), "a.json", &options));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, c);
    const pith_checkpoint_info *about = pith_checkpoint_about(c);
    cr_assert(about->format == 2 && about->step == 12 && about->leaf_count == 3);
    cr_assert(about->node_count == 10 && about->metadata_count == 2);
    cr_assert(about->leaf_bytes == 300 * 8 + 400 * 4 + 8);
    pith_checkpoint_sidecar sidecar;
    cr_assert(about->sidecar_count == 1 && pith_checkpoint_get_sidecar(c, 0, &sidecar));
    cr_assert_str_eq(sidecar.file, ct_find(".safetensors"));
    cr_assert(sidecar.bytes == about->sidecar_bytes && sidecar.leaf_count == 2 &&
              sidecar.leaf_bytes == 300 * 8 + 400 * 4);
    cr_assert(!pith_checkpoint_get_sidecar(c, 1, &sidecar) &&
              !pith_checkpoint_get_sidecar(c, -1, &sidecar));
    cr_assert_str_eq(pith_checkpoint_metadata(c, 1).key, "b");
    cr_assert(!pith_checkpoint_metadata(c, 2).key &&
              !pith_checkpoint_metadata(c, -1).value);
    pith_checkpoint_node n;
    pith_checkpoint_leaf leaf;
    pith_checkpoint_static field;
    cr_assert(pith_checkpoint_get_node(c, 0, &n));
    cr_assert_str_eq(n.type, "Sim");
    cr_assert(n.kind == PITH_NODE_RECORD && n.version == 3 && n.child_count == 5 &&
              n.static_count == 10 && n.parent == -1 && n.depth == 0 && n.leaf == -1);
    cr_assert(pith_checkpoint_get_static(c, 0, 3, &field));
    cr_assert(field.kind == PITH_STATIC_KIND_TEXT && strcmp(field.text, "melt") == 0);
    cr_assert(pith_checkpoint_get_static(c, 0, 9, &field) &&
              field.kind == PITH_STATIC_KIND_RECORD);
    cr_assert(pith_checkpoint_get_node(c, field.node, &n) && n.is_static &&
              n.parent == 0);
    cr_assert_str_eq(pith_checkpoint_path(s, c, field.node), ".force");
    cr_assert(pith_checkpoint_get_node(c, 2, &n) && n.leaf == 0 && n.depth == 2);
    cr_assert_str_eq(pith_checkpoint_path(s, c, 2), ".atoms.position");
    cr_assert(pith_checkpoint_get_leaf(c, 0, &leaf));
    cr_assert(leaf.dtype == PITH_F64 && leaf.shape.rank == 2 &&
              leaf.shape.extents[0] == 100);
    cr_assert(leaf.sidecar == 0 && leaf.count == 300 && leaf.bytes == 2400 &&
              leaf.stored_bytes == 2400 && leaf.node == 2);
    cr_assert(strcmp(leaf.unit, "sigma") == 0 && strlen(leaf.checksum) == 32);
    cr_assert(!pith_checkpoint_get_node(c, 10, &n) &&
              !pith_checkpoint_get_node(c, -1, &n));
    cr_assert(!pith_checkpoint_get_leaf(c, 3, &leaf));
    cr_assert(!pith_checkpoint_get_static(c, 0, 10, &field) &&
              !pith_checkpoint_get_static(c, 2, 0, &field));
    end();
}

Test(inspect, reads_parts_of_leaves) {
    begin();
    double x[10];
    pt_ok(s, pith_save(s, pith_arange(s, PITH_F64, 1000000), "a.json", NULL));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, pith_checkpoint_read(s, c, 0, 999990, 10, x, sizeof x));
    cr_assert(x[0] == 999990 && x[9] == 999999);
    pt_ok(s, pith_checkpoint_read(s, c, 0, 5, 0, NULL, 0));
    pt_ok(s, pith_checkpoint_verify(s, c, 0));
    pt_fails(PITH_E_INDEX, s, pith_checkpoint_read(s, c, 0, 999991, 10, x, sizeof x));
    pt_fails(PITH_E_INDEX, s, pith_checkpoint_read(s, c, 0, -1, 10, x, sizeof x));
    pt_fails(PITH_E_INDEX, s, pith_checkpoint_read(s, c, 1, 0, 10, x, sizeof x));
    pt_fails(PITH_E_INDEX, s, pith_checkpoint_verify(s, c, -1));
    pt_fails(PITH_E_INDEX, s, pith_checkpoint_path(s, c, 1));
    pt_fails(PITH_E_ARG, s, pith_checkpoint_read(s, c, 0, 0, 10, x, sizeof x - 1));
    pt_says("expected room for 80 bytes, got 79");
    const pith_array *no_checkpoint = pith_f64(s, 1);
    pt_fails(PITH_E_ARG, s,
             pith_checkpoint_verify(s, (const pith_checkpoint *)no_checkpoint, 0));
    cr_assert(!pith_checkpoint_about((const pith_checkpoint *)no_checkpoint));
    end();
}

Test(inspect, stays_with_what_it_opened) {
    begin();
    pt_ok(s, pith_save(s, make_sim(s, 1000, 1), "a.json", NULL));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, pith_save(s, make_sim(s, 1000, 2), "a.json", NULL));
    cr_assert(ct_count_files() == 2);
    double x;
    pt_ok(s, pith_checkpoint_verify(s, c, 0) && pith_checkpoint_verify(s, c, 1));
    pt_ok(s, pith_checkpoint_read(s, c, 0, 0, 1, &x, sizeof x));
    cr_assert(x == sin(31) * 10);
    end();
}

static pith_leaf_statistics statistics_of(const pith_array *a) {
    pith_leaf_statistics m;
    pt_ok(s, pith_save(s, a, "a.json", NULL));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, pith_checkpoint_statistics(s, c, 0, &m));
    return m;
}

Test(inspect, computes_statistics) {
    begin();
    const double nan = (double)NAN, inf = (double)INFINITY;
    const double x[] = {nan, 2, -1, inf, 5, nan};
    pith_leaf_statistics m =
        statistics_of(pith_array_copy(s, PITH_F64, PITH_SHAPE(6), x));
    cr_assert(m.nans == 2 && m.infinities == 1 && m.least == -1 && isinf(m.greatest) &&
              m.mean == 2);
    const double y[] = {nan, nan};
    m = statistics_of(pith_array_copy(s, PITH_F64, PITH_SHAPE(2), y));
    cr_assert(m.nans == 2 && isnan(m.least) && isnan(m.greatest) && isnan(m.mean));
    m = statistics_of(pith_zeros(s, PITH_F32, PITH_SHAPE(0)));
    cr_assert(m.nans == 0 && isnan(m.least) && isnan(m.mean));
    const int64_t i[] = {INT64_MIN, INT64_MAX, 0};
    m = statistics_of(pith_array_copy(s, PITH_I64, PITH_SHAPE(3), i));
    cr_assert(m.least_i64 == INT64_MIN && m.greatest_i64 == INT64_MAX);
    const uint64_t u[] = {UINT64_MAX, 7, UINT64_MAX - 1};
    m = statistics_of(pith_array_copy(s, PITH_U64, PITH_SHAPE(3), u));
    cr_assert(m.least_u64 == 7 && m.greatest_u64 == UINT64_MAX);
    const int8_t b[] = {-128, 127, -1};
    m = statistics_of(pith_array_copy(s, PITH_I8, PITH_SHAPE(3), b));
    cr_assert(m.least == -128 && m.greatest == 127 && m.least_i64 == -128);
    const uint16_t h[] = {0x3c00, 0xc000, 0x7bff, 0x7e00};
    m = statistics_of(pith_array_copy(s, PITH_F16, PITH_SHAPE(4), h));
    cr_assert(m.least == -2 && m.greatest == 65504 && m.nans == 1);
    m = statistics_of(pith_arange(s, PITH_F64, 3000000)); /* many pieces */
    cr_assert(m.least == 0 && m.greatest == 2999999);
    cr_assert(fabs(m.mean - 1499999.5) < 1e-6);
    m = statistics_of(pith_bool(s, true));
    cr_assert(m.least_i64 == 1 && m.mean == 1);
    end();
}

Test(inspect, needs_the_sidecar_for_its_leaves_alone) {
    begin();
    pt_ok(s, pith_save(s, make_sim(s, 1000, 1), "a.json", NULL));
    unlink(ct_find(".safetensors"));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, c);
    cr_assert(pith_checkpoint_about(c)->leaf_count == 3);
    pt_ok(s, pith_checkpoint_verify(s, c, 2)); /* .energy is in the document */
    pt_fails(PITH_E_IO, s, pith_checkpoint_verify(s, c, 0));
    pt_says("it is not in the folder of the document");
    end();
}
