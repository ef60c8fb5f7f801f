/* The pith command as its users meet it: output, messages and exit codes of every verb.
 */
#include "command_test.h"

Test(pith_command, shows_a_tree_with_what_is_in_its_leaves) {
    begin();
    const double odd[] = {1, (double)NAN, -(double)INFINITY, 0.25};
    const pith_save_options options = {.step = 42,
                                       .metadata = PITH_METADATA({"run", "seventeen"})};
    const Sim *sim = sim_with(1, pith_array_copy(s, PITH_F64, PITH_SHAPE(2, 2), odd));
    pt_ok(s, pith_save(s, sim, "a.json", &options));
    expect(0, "show a.json", "a.json step 42, 4 leaves, 3.95 KiB", "run: seventeen\n",
           "least greatest", "\u251c\u2500 .label = \"melt\"\n",
           "\u2502 \u2514\u2500 .units = Units\n",
           "\u2502 \u251c\u2500 .position f64[100,3] 2.34 KiB sigma -9.9",
           ".neighbour i32[100,4] 1.56 KiB 0 99 49.5\n", ".energy f64 = -5.77 8 B\n",
           ".spare absent\n", "f64[2,2] 32 B -inf 1 0.625 1 NaN, 1 infinite");
    cr_assert(!strstr(output, "\033["), "no colours where there is no terminal");
    cr_assert(
        strstr(
            output,
            "\u251c\u2500 .neighbour     i32[100,4]   1.56 KiB                0        99   49.5\n"),
        "%s", output);
    expect(0, "show --no-stats a.json", ".position f64[100,3] 2.34 KiB sigma\n");
    cr_assert(!strstr(output, "greatest"));
    expect(0, "--color always show a.json", "\033[1ma.json\033[0m");
    end();
}

Test(pith_command, cuts_large_trees_where_it_hurts_least) {
    begin();
    enum { COUNT = 1000 };
    const void *items[COUNT];
    for (int i = 0; i < COUNT; i++)
        items[i] = pith_i32(s, i);
    pt_ok(s, pith_save(s, pith_list_make(s, COUNT, items), "a.json", NULL));
    expect(0, "show a.json", "list of 1000", "[0] i32 = 0", "[999] i32 = 999",
           "\u251c\u2500 \u2026 952 more\n");
    expect(0, "show --lines 10 a.json", "\u2026 992 more");
    expect(0, "show --all a.json", "[500] i32 = 500");
    const void *chain = pith_f64(s, 1);
    for (int i = 0; i < 5000; i++)
        chain = pith_list_make(s, PITH_ITEMS(chain, pith_none_make(s)));
    pt_ok(s, pith_save(s, chain, "a.json", NULL));
    expect(0, "show a.json", "list of 2", "\u2026");
    cr_assert(strlen(output) < 10000);
    end();
}

Test(pith_command, makes_what_it_shows_harmless) {
    begin();
    const char *const keys[] = {"\033[31m\n"};
    const void *items[] = {pith_f64(s, 1)};
    const pith_save_options options = {.metadata = PITH_METADATA({"\r", "\xc2\x9b"
                                                                        "31m\a"})};
    pt_ok(s, pith_save(s, pith_dict_make(s, 1, keys, items), "a.json", &options));
    expect(0, "show a.json", "['\\x1b[31m\\x0a']", "\\x0d: \\x9b31m\\x07");
    cr_assert(!strchr(output, '\033') && !strchr(output, '\r') &&
              !strstr(output, "\xc2\x9b"));
    end();
}

Test(pith_command, finds_differences) {
    begin();
    pt_ok(s, pith_save(s, sim_with(1, NULL), "a.json", NULL));
    pt_ok(s, pith_save(s, sim_with(1, NULL), "b.json", &(pith_save_options){.step = 7}));
    expect(0, "diff a.json b.json", "no difference: 3 leaves");
    Sim other = *make_sim(s, 100, 1);
    double x[300];
    pt_ok(s, pith_read(s, other.atoms->position, x, sizeof x));
    x[77] += 1e-3, x[299] += 2e-3;
    const Atoms atoms = {pith_array_copy(s, PITH_F64, PITH_SHAPE(100, 3), x),
                         pith_zeros(s, PITH_I8, PITH_SHAPE(100))};
    other.atoms = pith_freeze(s, Atoms, &atoms);
    other.timestep = 0.2;
    pt_ok(s, pith_save(s, pith_freeze(s, Sim, &other), "b.json", NULL));
    expect(1, "diff a.json b.json", "- a.json step 0\n+ b.json step 0\n",
           "~ .timestep 0.1 \u2192 0.2\n",
           "\u2260 .atoms.position f64[100,3] 2 of 300 |a-b| 0.002 [99,2] ",
           "~ .atoms.charge absent \u2192 i8[100]\n",
           "2 leaves are equal, 1 differs in value; the structure differs in 2 places");
    expect(1, "diff --worst 2 a.json b.json", "|a-b| 0.002 [99,2]", "|a-b| 0.001 [25,2]");
    expect(1, "diff --atol 0.0015 a.json b.json", "1 of 300 |a-b| 0.002");
    expect(1, "diff --atol=0.01 a.json b.json", "3 leaves are equal, 0 differ in value");
    expect(1, "diff --rtol 1 a.json b.json", "0 differ in value");
    end();
}

static int diff_of(const void *a, const void *b, const char *options) {
    char arguments[256];
    pt_ok(s, pith_save(s, a, "a.json", NULL) && pith_save(s, b, "b.json", NULL));
    snprintf(arguments, sizeof arguments, "diff %s a.json b.json", options);
    return run(arguments);
}

Test(pith_command, knows_which_values_are_equal) {
    begin();
    const double zero[] = {0, (double)NAN}, minus[] = {-0.0, -(double)NAN};
    const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(2), zero);
    const pith_array *b = pith_array_copy(s, PITH_F64, PITH_SHAPE(2), minus);
    cr_assert(diff_of(a, b, "") == 0 && diff_of(a, b, "--bits") == 1);
    cr_assert(diff_of(a, pith_full(s, PITH_F64, PITH_SHAPE(2), 0), "--atol 1e300") == 1,
              "NaN");
    cr_assert(diff_of(pith_i64(s, INT64_MAX), pith_i64(s, INT64_MAX - 1), "") == 1);
    cr_assert(diff_of(pith_i64(s, INT64_MAX), pith_i64(s, INT64_MAX - 1), "--atol 1") ==
              0);
    cr_assert(diff_of(pith_i64(s, INT64_MAX), pith_i64(s, INT64_MIN), "--atol 1e18") ==
              1);
    cr_assert(diff_of(pith_f64(s, (double)INFINITY), pith_f64(s, 1), "--rtol 1e300") ==
              1);
    cr_assert(diff_of(pith_f32(s, 1), pith_f64(s, 1), "") == 1);
    cr_assert(strstr(output, "f32 \u2192 f64"), "%s", output);
    const char *const keys[] = {"a", "b", "c"}, *const others[] = {"b", "c", "d"};
    const void *items[] = {pith_f64(s, 1), pith_f64(s, 2), pith_f64(s, 3)};
    cr_assert(diff_of(pith_dict_make(s, 3, keys, items),
                      pith_dict_make(s, 3, others, items), "") == 1);
    cr_assert(strstr(output, "-  ['a']") && strstr(output, "+  ['d']"), "%s", output);
    cr_assert(strstr(output, "2 of 2") == NULL && strstr(output, "2 \u2192 1") == NULL);
    end();
}

Test(pith_command, verifies) {
    begin();
    pt_ok(s, pith_save(s, sim_with(1, NULL), "a.json", NULL));
    pt_ok(s, pith_save(s, pith_f64(s, 1), "b.json", NULL));
    expect(0, "verify a.json b.json", "a.json: intact step 0, 3 leaves, 3.91 KiB\n",
           "b.json: intact step 0, 1 leaf, 8 B\n");
    const char *sidecar = ct_find(".safetensors");
    const ct_file f = ct_read(sidecar);
    f.bytes[f.n - 1] ^= 1;
    ct_write(sidecar, f.bytes, f.n);
    expect(1, "verify a.json b.json", "a.json: damaged .neighbour: damaged in",
           "b.json: intact");
    expect(1, "show a.json", "damaged", "pith show: .neighbour: damaged in");
    unlink(sidecar);
    expect(1, "verify a.json", "it is not in the folder of the document");
    expect(2, "show a.json", "unreadable", "it is not in the folder");
    expect(0, "show --no-stats a.json", ".neighbour");
    ct_write("b.json", "{}", 2);
    expect(1, "verify b.json", "b.json: damaged \"b.json\" is not a pith checkpoint");
    expect(2, "verify b.json nothing.json", "cannot open \"nothing.json\": No such file");
    free(f.bytes);
    end();
}

Test(pith_command, shows_the_elements_of_a_leaf) {
    begin();
    const pith_array *x =
        pith_reshape(s, pith_arange(s, PITH_I32, 24), PITH_SHAPE(4, 2, 3));
    const void *items[] = {sim_with(1, NULL),
                           x,
                           pith_f64(s, 0.1),
                           pith_arange(s, PITH_U8, 3),
                           pith_zeros(s, PITH_F32, PITH_SHAPE(1000000, 0)),
                           pith_full(s, PITH_F64, PITH_SHAPE(2), (double)NAN)};
    pt_ok(s, pith_save(s, pith_list_make(s, 6, items), "a.json",
                       &(pith_save_options){.inline_bytes = -1}));
    expect(0, "show a.json [1]", "i32[4,2,3]\n[0, 0] 0 1 2\n[0, 1] 3 4 5\n[1, 0] 6 7 8\n",
           "[3, 1] 21 22 23\n");
    expect(0, "show a.json --rows 1:2 [1]", "]\n[1, 0] 6 7 8\n[1, 1] 9 10 11\n");
    cr_assert(!strstr(output, "[2, 0]") && !strstr(output, "[0, 0]"));
    expect(0, "show --rows 3: a.json [1]", "]\n[3, 0] 18 19 20\n[3, 1] 21 22 23\n");
    expect(0, "show --rows 4:9 a.json [1]", "i32[4,2,3]\n");
    cr_assert(!strchr(output, ' '));
    expect(0, "show --lines 2 a.json [1]", "[0, 1] 3 4 5\n\u2026 6 more\n");
    expect(0, "show a.json [2]", "f64\n0.1\n");
    expect(0, "show a.json [3]", "u8[3]\n[0] 0\n[1] 1\n[2] 2\n");
    expect(0, "show a.json [4]", "f32[1000000,0]\n");
    expect(0, "show a.json [5]", "[0] nan\n[1] nan\n");
    expect(0, "show a.json [0].atoms.position", "f64[100,3] sigma\n[0] ", "\n[99] ");
    expect(2, "show a.json [0].atoms", "\"[0].atoms\" is not a leaf");
    expect(2, "show a.json .x", "pith show: there is no \".x\" in \"a.json\"");
    const ct_file f = ct_read(ct_find(".safetensors"));
    memset(f.bytes + f.n - 200, 1, 200);
    ct_write(ct_find(".safetensors"), f.bytes, f.n);
    free(f.bytes);
    expect(1, "show a.json [1]", "[1]: damaged in", "its checksum does not match");
    expect(0, "show --no-stats a.json [1]", "[0, 0]");
    end();
}

Test(pith_command, logs_what_members_share) {
    begin();
    const pith_save_options options = {.keep = 9, .incremental = true};
    Sim sim = *make_sim(s, 1000, 1); /* 24,000 bytes of positions, 16,000 of neighbours */
    pt_ok(s, pith_save(s, pith_freeze(s, Sim, &sim), "a.json", &options));
    sim.atoms = make_sim(s, 1000, 2)->atoms;
    pt_ok(s, pith_save(s, pith_freeze(s, Sim, &sim), "a.json", &options));
    expect(0, "log a.json", " KiB, 39.3 KiB shared .atoms.position\n");
    expect(0, "log --json a.json", "\"shared_bytes\": 0", "\"shared_bytes\": 40256");
    expect(0, "show a.000002.json", ", sidecar a.", " 39.3 KiB, sidecar a.");
    expect(0, "verify a.000001.json a.000002.json", "a.000002.json: intact");
    expect(0, "diff a.000002.json a.000002.json", "");
    expect(1, "diff a.000001.json a.000002.json", ".atoms.position");
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.000002.json");
    pith_checkpoint_sidecar shared;
    cr_assert(pith_checkpoint_get_sidecar(c, 0, &shared) && unlink(shared.file) == 0);
    expect(1, "verify a.000002.json", "a.000002.json: damaged cannot open the sidecar");
    end();
}

Test(pith_command, reads_compressed_leaves) {
    begin();
    const Sim *sim = make_sim(s, 1000, 1);
    pt_ok(s, pith_save(s, sim, "a.json", NULL));
    pt_ok(s, pith_save(s, sim, "b.json", &(pith_save_options){.compress = 3}));
    expect(0, "show b.json", ".neighbour i32[1000,4] 15.6 KiB in ", " KiB 0 999 ",
           "position f64[1000,3] 23.4 KiB sigma");
    expect(0, "show --json b.json", "\"compressed\":true");
    expect(0, "show --rows 2:3 b.json .neighbour", "i32[1000,4]\n[2] 57 64 71 78\n");
    expect(0, "diff --bits a.json b.json", "");
    expect(0, "verify b.json", "b.json: intact");
    const pith_checkpoint *c = pith_checkpoint_open(s, "b.json");
    pith_checkpoint_sidecar sidecar;
    pt_ok(s, pith_checkpoint_get_sidecar(c, 0, &sidecar));
    const ct_file f = ct_read(sidecar.file);
    f.bytes[f.n - 10] ^= 1;
    ct_write(sidecar.file, f.bytes, f.n);
    free(f.bytes);
    expect(1, "verify b.json", "b.json: damaged .neighbour: damaged in \"b.");
    end();
}

static bool save_member(const Sim *sim, int64_t step) {
    return pith_save(s, sim, "a.json", &(pith_save_options){.keep = 9, .step = step});
}

Test(pith_command, knows_the_log_of_a_run) {
    begin();
    static const char text[] =
        "{\"step\":1,\"x\":0.5,\"y\":1}\n{\"step\":20,\"x\":\"NaN\"}\n";
    ct_write("run.jsonl", text, sizeof text - 1);
    ct_write("run.log", text, sizeof text - 1);
    ct_write("empty.jsonl", "", 0);
    pt_ok(s, pith_save(s, pith_f64(s, 1), "a.json", NULL));
    expect(0, "log a.json run.jsonl a.json run.log empty.jsonl", "a.json step 0 20",
           "run.jsonl step 20 20", " 47 B the log of a run: 2 rows of x, y\n",
           "a.json step 0 20", "nothing changed\n", "run.log step 20 20",
           "empty.jsonl 20", " 0 B the log of a run: 0 rows\n");
    expect(0, "log --json run.jsonl", "\"step\": 20", "\"rows\": 2", "\"first_step\": 1",
           "\"columns\": [\"step\",\"x\",\"y\"]");
    static const char *const others[] = {"show run.jsonl", "verify run.jsonl",
                                         "diff a.json run.jsonl", "show run.log"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect(2, others[i], "is the log of a run, not a checkpoint: pith log, plot and");
    ct_write("run.jsonl", "{\"step\":1,\"x\":0.5}\n{\"step\":}\n", 29);
    expect(1, "log run.jsonl", "run.jsonl damaged: \"run.jsonl\"");
    end();
}

Test(pith_command, logs_a_series) {
    begin();
    Sim sim = *make_sim(s, 100, 1);
    pt_ok(s, save_member(pith_freeze(s, Sim, &sim), 0));
    pt_ok(s, save_member(pith_freeze(s, Sim, &sim), 10));
    sim.energy = pith_f64(s, 3);
    sim.timestep = 0.25;
    pt_ok(s, save_member(pith_freeze(s, Sim, &sim), 20));
    const Sim *other = make_sim(s, 100, 2);
    sim.atoms = other->atoms;
    sim.neighbour = other->neighbour;
    sim.energy = other->energy;
    sim.label = "other";
    pt_ok(s, save_member(pith_freeze(s, Sim, &sim), 30));
    sim.spare = other->atoms;
    pt_ok(s, save_member(pith_freeze(s, Sim, &sim), 40));
    expect(0, "log a.*.json", "a.000001.json step 0 20", " KiB 3 leaves\n",
           "a.000002.json step 10 20", " KiB shared nothing changed\n",
           "a.000003.json step 20 ", " KiB shared .timestep, .energy\n",
           "a.000004.json step 30 ", " .label, .atoms.position, .neighbour and 1 more\n",
           "a.000005.json step 40 ", " another structure\n");
    expect(0, "log a.json", "a.000001.json step 0 20", "a.000005.json step 40 ");
    expect(0, "log ./a", "./a.000001.json step 0 20", "./a.000005.json step 40 ");
    expect(0, "verify a.json", "a.000001.json: intact", "a.000005.json: intact");
    expect(0, "show a.json", "a.000005.json step 40,"); /* the newest one */
    expect(1, "diff a.000003.json a.json",
           "- a.000003.json step 20\n+ a.000005.json step 40\n");
    ct_write("a.000002.json", "{}", 2);
    expect(1, "verify a.json", "a.000002.json: damaged", "a.000005.json: intact");
    expect(1, "log a.*.json",
           "a.000002.json damaged: \"a.000002.json\" is not a pith checkpoint",
           "a.000003.json step 20 ", " .timestep, .energy\n");
    expect(2, "log a.000001.json nothing.json", "cannot open \"nothing.json\"",
           "a.000001.json step 0");
    expect(2, "log", "pith log: takes files");
    expect(2, "log --frob a", "unknown option \"--frob\"");
    end();
}

Test(pith_command, says_what_is_wrong_with_its_arguments) {
    begin();
    expect(0, "--help", "pith show FILE [PATH]", "Exit codes:\n 0 success",
           "\n 2 an error:");
    expect(0, "-h", "pith diff A B");
    expect(0, "show --help", "usage: pith show [options] FILE [PATH]", "\n --rows A:B ",
           "Exit codes:");
    expect(0, "diff --help a b", "usage: pith diff [options] A B", "--rtol X");
    expect(0, "log -h", "usage: pith log");
    expect(0, "verify --help", "usage: pith verify");
    expect(0, "--version", "pith 0.1.0\n");
    expect(0, "show --version", "pith 0.1.0\n");
    expect(2, "", "pith: takes a verb; pith --help lists them\n");
    expect(2, "frob x", "pith: there is no verb \"frob\"");
    expect(2, "show", "pith show: takes one file, and optionally the path of a leaf");
    expect(2, "show a b c",
           "pith show: takes one file, and optionally the path of a leaf");
    expect(2, "show --rows 1:2 a", "--rows needs the path of a leaf");
    expect(2, "show --rows 2:1 a .x", "--rows takes A:B or A:, got \"2:1\"");
    expect(2, "show --rows 1 a .x", "--rows takes A:B or A:, got \"1\"");
    expect(2, "show --rows -1:2 a .x", "--rows takes A:B");
    expect(2, "show --rows 1:x a .x", "--rows takes A:B");
    expect(2, "show --frob a", "unknown option \"--frob\"");
    expect(2, "show --lines many a",
           "--lines takes an integer of at least 1, got \"many\"");
    expect(2, "show --lines 0 a", "--lines takes an integer of at least 1");
    expect(2, "show --lines 99999999999999999999 a", "--lines takes an integer");
    expect(2, "show a --lines", "--lines takes N, got nothing");
    expect(2, "show a --all=1", "--all takes no value");
    expect(2, "diff --worst 101 a b", "--worst takes an integer from 1 to 100");
    expect(2, "--json", "pith: there is no verb \"--json\"");
    expect(2, "show nothing.json",
           "pith show: cannot open \"nothing.json\": No such file or directory\n");
    expect(2, "diff a", "pith diff: takes two files");
    expect(2, "diff a b c", "pith diff: takes two files");
    expect(2, "diff --rtol -1 a b", "--rtol takes a number of at least 0");
    expect(2, "diff --rtol 1x a b", "--rtol takes a number of at least 0");
    expect(2, "diff --bits --atol 1 a b", "--bits leaves no room for a tolerance");
    expect(2, "diff a b", "pith diff: cannot open \"a\"");
    expect(2, "verify", "pith verify: takes files");
    expect(2, "--color sometimes show a", "--color takes auto, always or never");
    expect(2, "verify -- --help", "cannot open \"--help\"");
    pt_ok(s, pith_save(s, pith_f64(s, 1), "a.json", NULL));
    expect(2, "show a.json >/dev/full", "the output could not be written");
    ct_write("b.json", "x", 1);
    expect(1, "show b.json", "pith show: \"b.json\" is not a pith checkpoint\n");
    end();
}
