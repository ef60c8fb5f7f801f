/* Checkpoints that N ranks write and M ranks read: the same rows on every number of
 * ranks, one complete checkpoint after a failure at any place, and errors that name the
 * part. */
#include "checkpoint/save/parted.h"
#include "mesh/parts_memory.h"
#include "mesh/parts_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void load_fails(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *a = pith_load(r->s, PartAtoms, j->path);
    FAKE_CHECK(r, !a->position && pith_failed(r->s));
    FAKE_CHECK(r, strstr(pith_message(r->s), j->text) != NULL);
    if (!strstr(pith_message(r->s), j->text))
        fprintf(stderr, "%s\n", pith_message(r->s));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}

/* ---- Reading by other numbers of ranks ---- */

Test(parts, n_ranks_write_and_m_read) {
    for (int n = 1; n <= 4; n++) {
        job j = begin();
        j.seed = n;
        run(&j, n, save);
        cr_assert(count_files(j.folder, ".r0") == 2 * n, "parts with their sidecars");
        for (int m = 1; m <= 4; m++)
            run(&j, m, load);
        remove_folder(j.folder);
    }
}

Test(parts, one_process_reads_the_whole) {
    job j = begin();
    run(&j, 3, save);
    cr_assert(alone_is(&j, 1, ROWS));
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    const pith_checkpoint *c = pith_checkpoint_open(s, j.path);
    const pith_checkpoint_info *about = pith_checkpoint_about(c);
    cr_assert(about->format == 3 && about->step == 17 && about->leaf_count == 5);
    for (int64_t k = 0; k < about->leaf_count; k++)
        cr_assert(pith_checkpoint_verify(s, c, k), "%s", pith_message(s));
    const PartAtoms *want = whole_of(s, 1, ROWS);
    pt_ok(s, pith_tree_equal(s, pith_checkpoint_array(s, c, ".field"), want->field));
    const pith_array *some = pith_checkpoint_rows(s, c, ".position", 330, 10);
    cr_assert(pith_tree_equal(
        s, some, pith_slice_array(s, want->position, 1, &PITH_SLICE(330, 340, 1))));
    /* its structure, for other formats, is that of one file */
    const char *text = pith_checkpoint_structure(s, c);
    cr_assert(pith_checkpoint_parse(s, text, strlen(text)) != NULL, "%s",
              pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    remove_folder(j.folder);
}

/* Limit the number of open files. Returns the limit before. */
static rlim_t limit_files(rlim_t most) {
    struct rlimit limit;
    cr_assert(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = most;
    cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return before;
}

/* A process that may open few files reads any number of parts. */
Test(parts, few_files_may_be_open) {
    job j = begin();
    run(&j, 8, save);
    const rlim_t before = limit_files(32);
    const bool read = alone_is(&j, 1, ROWS);
    limit_files(before);
    cr_assert(read);
    remove_folder(j.folder);
}

/* A part that cannot be read is not one that is gone. */
Test(parts, why_a_part_is_not_found) {
    char room[100];
    job j = begin();
    run(&j, 1, save);
    const int folder = open(j.folder, O_RDONLY | O_DIRECTORY);
    pithp_doc_part row;
    cr_assert(pithp_part_find(folder, "melt.json", &row) == 0 && row.bytes > 100);
    cr_assert_eq(pithp_part_find(folder, "fluid.json", &row), ENOENT);
    const rlim_t before = limit_files(3);
    const int many = pithp_part_find(folder, "melt.json", &row);
    limit_files(before);
    cr_assert_str_eq(pithp_part_trouble(many, room, sizeof room), "Too many open files");
    cr_assert_eq(truncate(j.path, 100), 0);
    const int cut = pithp_part_find(folder, "melt.json", &row);
    cr_assert_str_eq(pithp_part_trouble(cut, room, sizeof room), "it is not whole");
    close(folder);
    remove_folder(j.folder);
}

/* As many ranks get the shards that they had; others divide the rows evenly. */
static void load_uneven(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *a = pith_load(r->s, PartAtoms, j->path);
    const PartAtoms *own = pith_unshard_local(r->s, a);
    FAKE_CHECK(r, pith_read_i64(r->s, own->count) == (r->rank == 0   ? 7
                                                      : r->rank == 1 ? 0
                                                                     : 3));
    FAKE_CHECK(r, a->max == (ROWS + 2) / 3);
}
static void load_even(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *a = pith_load(r->s, PartAtoms, j->path);
    const PartAtoms *own = pith_unshard_local(r->s, a);
    FAKE_CHECK(r, pith_read_i64(r->s, own->count) == 5);
    FAKE_CHECK(r, a->max == (3 * ((ROWS + 2) / 3) + 1) / 2);
    const PartAtoms *whole = pith_unshard(r->s, a, -1), *all = whole_of(r->s, 1, ROWS);
    const int64_t begin = 2 * ((ROWS + 2) / 3) - 1;
    const pith_array *parts[] = {
        pith_slice_array(r->s, all->position, 1, &PITH_SLICE(0, 7, 1)),
        pith_slice_array(r->s, all->position, 1, &PITH_SLICE(begin, begin + 3, 1))};
    FAKE_CHECK(
        r, pith_tree_equal(r->s, whole->position, pith_concatenate(r->s, 2, parts, 0)));
}
Test(parts, counted_rows_are_divided_evenly) {
    job j = begin();
    j.local = true;
    run(&j, 3, save);
    run(&j, 3, load_uneven);
    run(&j, 2, load_even);
    remove_folder(j.folder);
}

/* ---- Other meshes ---- */

static void save_two_axes(fake_rank *r) {
    const job *j = r->closure;
    FAKE_CHECK(r, fake_open(r, r->s, PITH_MESH_AXES({"x", 2}, {"y", 2})));
    const pith_array *a =
        pith_add(r->s, pith_iota(r->s, PITH_F64, PITH_SHAPE(12, 8), 0),
                 pith_mul(r->s, pith_iota(r->s, PITH_F64, PITH_SHAPE(12, 8), 1), 0.01));
    const pith_list *list = pith_list_make(
        r->s, PITH_ITEMS(pith_shard(r->s, a, PITH_SPECS({"", "x;y", NULL})),
                         pith_shard(r->s, a, PITH_SPECS({"", "y", NULL})),
                         pith_shard(r->s, a, PITH_SPECS({"", "y,x", NULL})),
                         pith_shard_local(r->s, pith_f64(r->s, 3),
                                          PITH_SPECS({"", "x", NULL}))));
    FAKE_CHECK(r, pith_save(r->s, list, j->path, NULL));
}
static void load_two_axes(fake_rank *r) {
    const job *j = r->closure;
    const int sizes[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
    const int *size = r->job ? sizes[(int)j->seed] : NULL;
    FAKE_CHECK(r, fake_open(r, r->s, PITH_MESH_AXES({"y", size[0]}, {"x", size[1]})));
    const pith_array *a =
        pith_add(r->s, pith_iota(r->s, PITH_F64, PITH_SHAPE(12, 8), 0),
                 pith_mul(r->s, pith_iota(r->s, PITH_F64, PITH_SHAPE(12, 8), 1), 0.01));
    const pith_list *list = pith_load_any(r->s, NULL, j->path, NULL);
    FAKE_CHECK(r, !pith_failed(r->s));
    for (int64_t i = 0; i < 3; i++)
        FAKE_CHECK(r,
                   pith_tree_equal(r->s, pith_unshard(r->s, pith_child(list, i), -1), a));
    FAKE_CHECK(r, pith_read_f64(r->s, pith_unshard(r->s, pith_child(list, 3), -1)) == 3);
}
static void load_without_an_axis(fake_rank *r) {
    const job *j = r->closure;
    FAKE_CHECK(r, !pith_load_any(r->s, NULL, j->path, NULL));
    FAKE_CHECK(r, strstr(pith_message(r->s), "[0]: pith_load: axes \"y\": no such axis"));
    pith_clear(r->s);
    /* each rank the whole, in a scope without a mesh */
    pith_scope *apart = pith_scope_open(r->runtime);
    const pith_list *whole = pith_load_any(apart, NULL, j->path, NULL);
    const pith_array *a = pith_child(whole, 1),
                     *own = pith_shard(r->s, a, PITH_SPECS({"", "x"}));
    FAKE_CHECK(r, own && pith_array_sharding(own).whole.extents[0] == 12);
    FAKE_CHECK(r, pith_tree_equal(r->s, pith_unshard(r->s, own, -1), a));
    FAKE_CHECK(r, !pith_failed(apart));
    pith_scope_close(apart);
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(parts, meshes_of_two_axes) {
    job j = begin();
    run(&j, 4, save_two_axes);
    run(&j, 2, load_without_an_axis);
    static const int ranks[] = {1, 2, 2, 4};
    for (int i = 0; i < 4; i++) {
        j.seed = i;
        run(&j, ranks[i], load_two_axes);
    }
    remove_folder(j.folder);
}

/* ---- One checkpoint at a time ---- */

/* The document would have the axes of the scope's mesh, which the shards do not. */
static void save_in_another_mesh(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, 1, ROWS), NULL);
    fake_open(r, r->s, PITH_MESH_AXES({"other", 0}));
    FAKE_CHECK(r, !pith_save(r->s, a, j->path, NULL));
    FAKE_CHECK(r, pith_code(r->s) == PITH_E_ARG &&
                      strstr(pith_message(r->s), "sharded over another mesh"));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}

Test(parts, a_save_in_another_mesh_is_refused) {
    job j = begin();
    run(&j, 2, save_in_another_mesh);
    run(&j, 1, save_in_another_mesh);
    cr_assert(count_files(j.folder, "") == 0);
    remove_folder(j.folder);
}

Test(parts, a_save_replaces_the_parts_of_the_one_before) {
    job j = begin();
    run(&j, 3, save);
    j.seed = 2;
    run(&j, 2, save);
    cr_assert(count_files(j.folder, ".r0") == 4, "%d", count_files(j.folder, ".r0"));
    run(&j, 3, load);
    cr_assert(alone_is(&j, 2, ROWS));
    remove_folder(j.folder);
}

/* Rank 1 ends at some place of a save: the old checkpoint is complete, and the next save
 * removes what was left. */
static void save_and_fail(fake_rank *r) {
    job *j = r->closure;
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, j->seed, j->rows), NULL);
    if (r->rank == 1) {
        char path[300];
        snprintf(path, sizeof path, "%s/nowhere/melt.json", j->folder);
        FAKE_CHECK(r, !pith_save(r->s, a, path, NULL));
    } else {
        FAKE_CHECK(r, !pith_save(r->s, a, j->path, NULL));
    }
    FAKE_CHECK(r, pith_failed(r->s));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(parts, a_failed_save_leaves_the_old_checkpoint) {
    job j = begin();
    run(&j, 3, save);
    j.seed = 2;
    run(&j, 3, save_and_fail);
    cr_assert(alone_is(&j, 1, ROWS));
    cr_assert(count_files(j.folder, ".r0") == 6);
    /* parts of a save that was killed */
    char left[320];
    snprintf(left, sizeof left, "%s/melt.0123456789abcdef.r0001of0003.json", j.folder);
    FILE *file = fopen(left, "w");
    fputs("{\"pith\":\"checkpoint\",\n\"format\":2", file);
    fclose(file);
    run(&j, 3, save);
    cr_assert(access(left, F_OK) != 0 && count_files(j.folder, ".r0") == 6);
    cr_assert(alone_is(&j, 2, ROWS));
    remove_folder(j.folder);
}

/* The process of every rank ends after its n-th call of the engine. */
static void save_until_killed(fake_rank *r) {
    job *j = r->closure;
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, j->seed, j->rows), NULL);
    pith_save(r->s, a, j->path, NULL);
}
enum { JOINED = 8 }; /* calls of the engine before the ranks are watched */
Test(parts, a_kill_between_parts_leaves_one_complete_checkpoint) {
    bool ended = true;
    int old = 0, new = 0;
    for (int64_t n = JOINED; ended; n++) {
        job j = begin();
        run(&j, 3, save);
        j.seed = 2;
        const fake_result result = fake_run(
            &(fake_options){
                .size = 3, .timeout = 5, .closure = &j, .refuse_rank = 1, .refuse_at = n},
            save_until_killed);
        ended = result.ended != 0;
        const bool is_old = alone_is(&j, 1, ROWS),
                   is_new = !is_old && alone_is(&j, 2, ROWS);
        cr_assert(is_old || is_new, "call %d", (int)n);
        old += is_old;
        new += is_new;
        run(&j, 2, save); /* sweeps what is left */
        cr_assert(count_files(j.folder, ".r0") == 4, "call %d", (int)n);
        remove_folder(j.folder);
    }
    cr_assert(old > 3 && new > 0, "%d, %d", old, new);
}

/* ---- Damage ---- */

static void part_name(const job *j, int rank, char path[512]) {
    DIR *listing = opendir(j->folder);
    char with[32];
    snprintf(with, sizeof with, ".r%04dof", rank);
    path[0] = 0;
    for (struct dirent *e; (e = readdir(listing));)
        if (strstr(e->d_name, with) && strstr(e->d_name, ".json"))
            snprintf(path, 512, "%s/%s", j->folder, e->d_name);
    closedir(listing);
    cr_assert(path[0]);
}

static void sidecar_name(const job *j, int rank, char path[512]) {
    DIR *listing = opendir(j->folder);
    char with[32];
    snprintf(with, sizeof with, ".r%04dof", rank);
    for (struct dirent *e; (e = readdir(listing));)
        if (strstr(e->d_name, with) && strstr(e->d_name, ".safetensors"))
            snprintf(path, 512, "%s/%s", j->folder, e->d_name);
    closedir(listing);
}

Test(parts, damage_names_the_part) {
    char a[512], b[512], c[512];
    for (int how = 0; how < 5; how++) {
        job j = begin();
        run(&j, 3, save);
        part_name(&j, 1, a);
        part_name(&j, 2, b);
        sidecar_name(&j, 1, c);
        if (how == 0)
            unlink(a);
        if (how == 1)
            cr_assert(truncate(c, 100) == 0);
        if (how == 2) { /* swapped */
            char third[512];
            snprintf(third, sizeof third, "%s/third", j.folder);
            cr_assert(!rename(a, third) && !rename(b, a) && !rename(third, b));
        }
        if (how >= 3) {
            FILE *file = fopen(how == 3 ? c : a, "r+b");
            fseek(file, -20, SEEK_END);
            fputc(0x55, file);
            fclose(file);
        }
        j.text = how == 2 ? "is not the one that" : ".r0001of0003.";
        for (int m = 1; m <= 4; m++)
            run(&j, m, load_fails);
        cr_assert(!alone_is(&j, 1, ROWS));
        remove_folder(j.folder);
    }
}

/* A rank that writes elsewhere is named, with its host. */
static void save_apart(fake_rank *r) {
    job *j = r->closure;
    char path[300];
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, j->seed, j->rows), NULL);
    snprintf(path, sizeof path, "%s/apart", j->folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%smelt.json", j->folder,
             r->rank == 2 ? "apart/" : "");
    char there[256], *old = getcwd(there, sizeof there);
    (void)old;
    FAKE_CHECK(r, !pith_save(r->s, a, path, NULL));
    FAKE_CHECK(r, strstr(pith_message(r->s),
                         r->rank == 2 ? "calls pith_save" : "rank 2") != NULL);
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(parts, a_folder_of_its_own_is_refused) {
    job j = begin();
    run(&j, 3, save_apart);
    cr_assert(count_files(j.folder, ".r0") == 0);
    remove_folder(j.folder);
}

/* ---- Two jobs that save under one name ---- */

static void save_often(fake_rank *r) {
    const job *j = r->closure;
    for (int i = 0; i < 25; i++) {
        const PartAtoms *a = pith_shard(r->s, whole_of(r->s, j->seed, j->rows), NULL);
        const pith_save_options o = {.step = 17, .background = i % 2};
        if (!pith_save(r->s, a, j->path, &o) || !pith_save_wait(r->s)) {
            const pith_status code = pith_code(r->s);
            FAKE_CHECK(r, code == PITH_E_IO || code == PITH_E_PEER);
            FAKE_CHECK(r, strstr(pith_message(r->s), "melt.") != NULL);
            pith_clear(r->s);
        }
        FAKE_CHECK(r, pith_agree(r->s));
    }
}

static int failures_of(job *j, int size) {
    const fake_result result =
        fake_run(&(fake_options){.size = size, .timeout = 60, .closure = j}, save_often);
    if (result.failures || result.ended)
        fprintf(stderr, "%d ranks: %s\n", size, result.report);
    return result.failures || result.ended;
}

/* Each save is whole, or an error; the parts that a document names stay. */
Test(parts, two_jobs_save_under_one_name, .timeout = 120) {
    job j = begin();
    int status = 1;
    const pid_t other = fork();
    j.seed = other == 0 ? 2 : 1;
    if (other == 0)
        _exit(failures_of(&j, 2));
    const int failures = failures_of(&j, 3);
    cr_assert(waitpid(other, &status, 0) == other && status == 0 && failures == 0);
    cr_assert(alone_is(&j, 1, ROWS) || alone_is(&j, 2, ROWS));
    j.seed = 3;
    run(&j, 2, save);
    cr_assert(alone_is(&j, 3, ROWS));
    cr_assert(count_files(j.folder, ".r0") == 4, "%d", count_files(j.folder, ".r0"));
    remove_folder(j.folder);
}

/* A plain save removes the parts of the sharded one that it replaces. */
static void save_plain(fake_rank *r) {
    const job *j = r->closure;
    if (r->rank == 0)
        FAKE_CHECK(r, pith_save(r->s, whole_of(r->s, j->seed, j->rows), j->path, NULL));
}
Test(parts, a_plain_save_replaces_them) {
    job j = begin();
    run(&j, 3, save);
    j.seed = 2;
    run(&j, 2, save_plain);
    cr_assert(alone_is(&j, 2, ROWS) && count_files(j.folder, ".r0") == 0);
    remove_folder(j.folder);
}

/* ---- Compression ---- */

typedef struct {
    const pith_array *asks, *plain, *refuses;
    int64_t n;
} Packed;
PITH_NODE(Packed,
          PITH_LEAF(asks, "i64[n]", .shard = "x", .compress = 3),
          PITH_LEAF(plain, "i64[n]", .shard = "x"),
          PITH_LEAF(refuses, "i64[n]", .shard = "x", .compress = -1),
          PITH_STATIC(n))

/* Which leaves of a part are compressed: a bit for each, in the order of their paths. */
static int compressed_leaves(pith_scope *s, const job *j) {
    char path[600];
    pith_checkpoint_part part;
    int found = 0;
    const pith_checkpoint *c = pith_checkpoint_open(s, j->path);
    pith_checkpoint_get_part(c, pith_axis_rank(s, NULL), &part);
    snprintf(path, sizeof path, "%s/%s", j->folder, part.file);
    const pith_checkpoint *own = pith_checkpoint_open(s, path);
    pith_checkpoint_leaf row;
    for (int64_t k = 0; pith_checkpoint_get_leaf(own, k, &row); k++)
        found |= row.compressed << k;
    return found;
}

static void save_packed(fake_rank *r) {
    static const int32_t levels[] = {0, 1, -1};
    static const int want[] = {1, 3, 0};
    const job *j = r->closure;
    const pith_array *a = pith_zeros(r->s, PITH_I64, PITH_SHAPE(12000));
    const Packed *whole =
        pith_record(r->s, Packed, .asks = a, .plain = a, .refuses = a, .n = 12000);
    for (int i = 0; i < 3; i++) {
        const pith_save_options o = {.compress = levels[i]};
        FAKE_CHECK(r, pith_save(r->s, pith_shard(r->s, whole, NULL), j->path, &o));
        FAKE_CHECK(r, compressed_leaves(r->s, j) == want[i]);
        const void *back = pith_unshard(r->s, pith_load(r->s, Packed, j->path), -1);
        FAKE_CHECK(r, pith_tree_equal(r->s, back, whole));
    }
}
Test(parts, fields_ask_for_compression) {
    job j = begin();
    run(&j, 1, save_packed);
    run(&j, 3, save_packed);
    remove_folder(j.folder);
}

/* ---- Names ---- */

/* Any name of a file is one of a checkpoint of ranks. Another document of the folder
 * keeps its parts, also if the names of both cannot be those of parts. */
Test(parts, names_with_odd_characters, .timeout = 60) {
    char longest[240], longer[240]; /* the stem of the latter would do for its sidecar */
    snprintf(longest, sizeof longest, "%0230d.json", 0);
    snprintf(longer, sizeof longer, "%0190d.json", 0);
    const char *const names[] = {"a b.json",     "\"q'%s%n\\.json", "\xc3\xa9\n.json",
                                 "melt",         ".hidden.json",    "a.b.c.json",
                                 "-x.json",      "\xff\xfe.json",   longest,
                                 ".hiding.json", ".json",           longer};
    enum { NAMES = sizeof names / sizeof *names };
    job j = begin();
    for (int round = 1; round <= 2; round++)
        for (size_t i = 0; i < NAMES; i++) {
            snprintf(j.path, sizeof j.path, "%s/%s", j.folder, names[i]);
            j.seed = (double)i + round;
            run(&j, 1 + round, save);
        }
    for (size_t i = 0; i < NAMES; i++) {
        snprintf(j.path, sizeof j.path, "%s/%s", j.folder, names[i]);
        j.seed = (double)i + 2;
        run(&j, 2, load);
        cr_assert(alone_is(&j, j.seed, ROWS), "%s", names[i]);
    }
    cr_assert(count_files(j.folder, ".r0") == 6 * NAMES, "%d",
              count_files(j.folder, ".r0"));
    remove_folder(j.folder);
}

/* ---- Short memory ---- */

Test(parts, survive_short_memory) {
    survives_short_memory(NULL, 60, 0);
}
