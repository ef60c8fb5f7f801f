/* What the pith command prints for programs, and what it reads to answer. */
#include "command_test.h"

/* Run "pith ..." and have Python look at its JSON as `d`. */
static void python(int code, const char *arguments, const char *checks) {
    expect(code, arguments, "");
    ct_write("out.json", output, strlen(output));
    char script[2048];
    const int n =
        snprintf(script, sizeof script,
                 "import json, math\nd = json.load(open('out.json'))\n%s", checks);
    cr_assert((size_t)n < sizeof script);
    ct_write("check.py", script, (size_t)n);
    cr_assert(system("python3 check.py") == 0, "pith %s: %s:\n%s", arguments, checks,
              output);
}

Test(pith_json, shows_a_tree) {
    begin();
    const double odd[] = {1, (double)NAN, -(double)INFINITY, 0.25};
    const pith_save_options options = {
        .step = 42, .metadata = PITH_METADATA({"r\"u\n", "seventeen"})};
    const void *items[] = {
        sim_with(1, pith_array_copy(s, PITH_F64, PITH_SHAPE(2, 2), odd)),
        pith_full(s, PITH_U64, PITH_SHAPE(2), 3e18),
        pith_zeros(s, PITH_F32, PITH_SHAPE(0, 3)), pith_none_make(s)};
    pt_ok(s, pith_save(s, pith_list_make(s, 4, items), "a.json", &options));
    python(
        0, "show --json a.json",
        "assert d['file'] == 'a.json' and d['step'] == 42 and d['format'] >= 1\n"
        "assert d['metadata'] == {'r\"u\\n': 'seventeen'} and d['leaves'] == 6\n"
        "n = {x['path']: x for x in d['nodes']}\n"
        "assert d['nodes'][0]['kind'] == 'list' and 'parent' not in d['nodes'][0]\n"
        "sim = n['[0]']\n"
        "assert sim['kind'] == 'record' and sim['type'] == 'Sim' and sim['parent'] == 0\n"
        "assert sim['statics']['label'] == 'melt' and sim['statics']['timestep'] == 0.1\n"
        "p = n['[0].atoms.position']\n"
        "assert p['dtype'] == 'f64' and p['shape'] == [100, 3] and p['unit'] == 'sigma'\n"
        "assert p['bytes'] == 2400 and p['sidecar'] == 0 and len(p['checksum']) == 32\n"
        "assert p['statistics']['least'] < p['statistics']['mean']\n"
        "e = n['[0].extra']['statistics']\n"
        "assert e == {'least': '-inf', 'greatest': 1.0, 'mean': 0.625, 'nans': 1, "
        "'infinities': 1}\n"
        "assert n['[1]']['statistics']['least'] == 3 * 10**18\n"
        "assert n['[2]']['statistics'] == {'nans': 0, 'infinities': 0}\n"
        "assert n['[3]']['kind'] == 'none' and n['[0].spare']['kind'] == 'absent'\n"
        "assert len(d['nodes']) == len(n)\n");
    python(0, "show --json --no-stats a.json",
           "assert not any('statistics' in x for x in d['nodes'])\n");
    end();
}

Test(pith_json, shows_a_leaf) {
    begin();
    const pith_array *x =
        pith_reshape(s, pith_arange(s, PITH_I32, 120), PITH_SHAPE(4, 2, 3, 5));
    const double odd[] = {1, (double)NAN, -(double)INFINITY, -0.0};
    const uint64_t large[] = {UINT64_MAX, INT64_MAX, 5};
    const void *items[] = {x, pith_array_copy(s, PITH_F64, PITH_SHAPE(4), odd),
                           pith_array_copy(s, PITH_U64, PITH_SHAPE(3), large),
                           pith_bool(s, true), pith_zeros(s, PITH_F32, PITH_SHAPE(2, 0))};
    pt_ok(s, pith_save(s, pith_list_make(s, 5, items), "a.json", NULL));
    python(
        0, "show --json a.json [0]",
        "x = [[[[((i*2+j)*3+k)*5+l for l in range(5)] for k in range(3)] for j in range(2)] "
        "for i in range(4)]\n"
        "assert d['data'] == x and d['shape'] == [4, 2, 3, 5] and d['dtype'] == 'i32'\n");
    python(
        0, "show --json --rows 1:3 a.json [0]",
        "assert d['first'] == 1 and d['shape'][0] == 2 and d['data'][0][0][0][0] == 30\n"
        "assert len(d['data']) == 2 and d['data'][1][1][2][4] == 89\n");
    python(0, "show --json a.json [1]",
           "assert d['data'] == [1.0, 'nan', '-inf', -0.0]\n"
           "assert math.copysign(1, d['data'][3]) == -1\n");
    python(0, "show --json a.json [2]",
           "assert d['data'] == [str(2**64-1), 2**63-1, 5]\n");
    python(0, "show --json a.json [3]",
           "assert d['data'] is True and d['shape'] == []\n");
    python(0, "show --json a.json [4]",
           "assert d['data'] == [] and d['shape'] == [0, 0]\n");
    end();
}

Test(pith_json, tells_differences) {
    begin();
    pt_ok(s, pith_save(s, sim_with(1, NULL), "a.json", NULL));
    python(
        0, "diff --json a.json a.json",
        "assert d['differences'] == [] and d['leaves_equal'] == 3 and d['complete']\n");
    Sim other = *make_sim(s, 100, 1);
    double x[300];
    pt_ok(s, pith_read(s, other.atoms->position, x, sizeof x));
    x[77] += 1e-3, x[299] = (double)NAN;
    const Atoms atoms = {pith_array_copy(s, PITH_F64, PITH_SHAPE(100, 3), x),
                         pith_zeros(s, PITH_I8, PITH_SHAPE(100))};
    other.atoms = pith_freeze(s, Atoms, &atoms);
    other.timestep = 0.2;
    pt_ok(s, pith_save(s, pith_freeze(s, Sim, &other), "b.json",
                       &(pith_save_options){.step = 3}));
    python(
        1, "diff --json --worst 5 a.json b.json",
        "assert d['a'] == {'file': 'a.json', 'step': 0} and d['b']['step'] == 3\n"
        "w = {x['path']: x for x in d['differences']}\n"
        "assert w['.timestep'] == {'kind': 'changed', 'path': '.timestep', 'a': '0.1', "
        "'b': '0.2'}\n"
        "assert w['.atoms.charge']['a'] == 'absent'\n"
        "v = w['.atoms.position']\n"
        "assert v['kind'] == 'value' and v['different'] == 2 and v['elements'] == 300\n"
        "assert [y['index'] for y in v['worst']] == [[99, 2], [25, 2]]\n"
        "assert v['worst'][0]['apart'] == 'inf' and abs(v['worst'][1]['apart']-1e-3) < 1e-9\n"
        "assert d['structure_differences'] == 2 and d['leaves_different'] == 1\n");
    const char *const keys[] = {"a", "b"}, *const others[] = {"b", "c"};
    const void *items[] = {pith_f64(s, 1), pith_f64(s, 2)};
    pt_ok(s, pith_save(s, pith_dict_make(s, 2, keys, items), "a.json", NULL));
    pt_ok(s, pith_save(s, pith_dict_make(s, 2, others, items), "b.json", NULL));
    python(
        1, "diff --json a.json b.json",
        "k = sorted((x['kind'], x['path'], x.get('a'), x.get('b')) for x in "
        "d['differences'] if x['kind'] != 'value')\n"
        "assert k == [('added', \"['c']\", None, 'f64'), ('removed', \"['a']\", 'f64', "
        "None)]\n");
    end();
}

Test(pith_json, tells_verdicts_and_series) {
    begin();
    pt_ok(s, pith_save(s, sim_with(1, NULL), "a.json", &(pith_save_options){.step = 5}));
    pt_ok(s, pith_save(s, sim_with(2, NULL), "b.json", &(pith_save_options){.step = 6}));
    python(0, "log --json a.json b.json",
           "assert [x['step'] for x in d] == [5, 6] and 'changed' not in d[0]\n"
           "assert d[1]['changed'] == ['.atoms.position', '.neighbour', '.energy']\n"
           "assert d[1]['same_structure'] and d[0]['time'].endswith('Z')\n"
           "assert d[0]['bytes'] > 4000 and d[0]['leaves'] == 3\n");
    python(0, "verify --json a.json",
           "assert d == [{'file': 'a.json', 'damage': [], "
           "'verdict': 'intact', 'step': 5}]\n");
    pt_ok(s, pith_save(s, pith_f64(s, 1), "b.json", NULL)); /* takes its sidecar away */
    ct_write("b.json", "{}", 2);
    const char *sidecar = ct_find(".safetensors");
    const ct_file f = ct_read(sidecar);
    f.bytes[f.n - 1] ^= 1;
    ct_write(sidecar, f.bytes, f.n);
    python(1, "verify --json a.json b.json",
           "assert [x['verdict'] for x in d] == ['damaged', 'damaged']\n"
           "assert d[0]['damage'][0]['path'] == '.neighbour'\n"
           "assert 'not a pith checkpoint' in d[1]['damage'][0]['message']\n");
    python(1, "log --json b.json", "assert 'not a pith checkpoint' in d[0]['damaged']\n");
    free(f.bytes);
    end();
}

/* Bytes that this process and the children it waited for have read; -1: not known. */
static long long bytes_read(void) {
    long long bytes = -1;
    char line[128];
    FILE *f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "rchar: %lld", &bytes) == 1)
            break;
    if (f)
        fclose(f);
    return bytes;
}

Test(pith_command, reads_no_leaf_that_it_does_not_show) {
    begin();
    enum { LARGE = 64 << 20 };
    const pith_array *x = pith_zeros(s, PITH_U8, PITH_SHAPE(LARGE));
    const void *items[] = {x, pith_f64(s, 2)};
    pt_ok(s, pith_save(s, pith_list_make(s, 2, items), "a.json", NULL));
    const char *const commands[] = {"show --no-stats a.json",
                                    "show --no-stats --json a.json",
                                    "show a.json [1]",
                                    "log a.json a.json",
                                    "show --no-stats --rows 5:9 a.json [0]",
                                    "diff a.json a.json"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const long long before = bytes_read();
        expect(0, commands[i], "");
        const long long after = bytes_read();
        cr_assert(before < 0 || after - before < LARGE / 16, "pith %s reads %lld bytes",
                  commands[i], after - before);
    }
    const long long before = bytes_read();
    expect(0, "verify a.json", "intact");
    cr_assert(before < 0 || bytes_read() - before > LARGE, "and verify reads all");
    end();
}
