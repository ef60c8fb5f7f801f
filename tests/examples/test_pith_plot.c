/* pith plot: what is drawn of logs, series and leaves, on the terminal and in files. */
#include "command_test.h"

/* Have Python look at "x.svg": `texts`, `points` of each curve, `bars` besides the paper.
 */
static void svg(const char *arguments, const char *checks) {
    char script[4096];
    expect(0, arguments, "");
    cr_assert(output[0] == 0, "%s", output);
    const int n = snprintf(
        script, sizeof script,
        "import xml.etree.ElementTree as E\n"
        "r = E.parse('x.svg').getroot(); ns = '{http://www.w3.org/2000/svg}'\n"
        "texts = [t.text for t in r.iter(ns + 'text')]\n"
        "points = [[tuple(map(float, p.split(','))) for p in c.get('points').split()]"
        " for c in r.iter(ns + 'polyline')]\n"
        "bars = [[float(b.get(k)) for k in ('x', 'y', 'width', 'height')]"
        " for b in list(r.iter(ns + 'rect'))[1:]]\n"
        "w, h = float(r.get('width')), float(r.get('height'))\n"
        "for t in r.iter(ns + 'text'): assert -1 < float(t.get('x')) < w and -1 < float(t.get('y')) "
        "< h, t.text\n"
        "for c in points:\n"
        "    for x, y in c: assert 0 < x < w and 0 < y < h\n"
        "def numbers(): return [float(t) for t in texts if t.replace('.', '').replace('-', "
        "'').isdigit()]\n"
        "%s",
        checks);
    cr_assert((size_t)n < sizeof script);
    ct_write("check.py", script, (size_t)n);
    cr_assert(system("python3 check.py") == 0, "pith %s: %s", arguments, checks);
}

static void write_log(void) {
    FILE *f = fopen("run.jsonl", "w");
    cr_assert(f);
    for (int i = 0; i <= 10; i++)
        fprintf(f, "{\"step\":%d,\"line\":%d,\"flat\":3,\"large\":%g,\"small\":%g%s}\n",
                i * 100, i, 1e9 + i * 1e6, i * 1e-7, i == 4 ? "" : ",\"gap\":1.5");
    cr_assert(fclose(f) == 0);
}

Test(pith_plot, draws_a_log_on_the_terminal) {
    begin();
    write_log();
    expect(
        0, "plot run.jsonl line", "run.jsonl step 0 to 1000, 11 points\n",
        "line \u2581\u2581\u2582\u2583\u2584\u2585\u2585\u2586\u2587\u2588\u2588 0 to 10 last 10\n");
    expect(0, "plot run.jsonl", "\nflat ", "\ngap ", "\nlarge ", "\nline ", "\nsmall ",
           "1 missing");
    cr_assert(!strstr(output, "\033["), "no colours where there is no terminal");
    expect(0, "plot --color always run.jsonl line", "\033[");
    end();
}

Test(pith_plot, draws_a_log_as_svg) {
    begin();
    write_log();
    svg("plot run.jsonl line --output x.svg",
        "p = points[0]\n"
        "assert len(points) == 1 and len(p) == 11\n"
        "for (x, y), (x2, y2) in zip(p, p[1:]): assert abs(x2 - x - (p[1][0] - p[0][0])) < 0.02 and "
        "abs(y2 - y - (p[1][1] - p[0][1])) < 0.02 and x2 > x and y2 < y\n"
        "assert 'step' in texts and 'line' in texts and 'run.jsonl' in texts\n"
        "assert {0, 200, 400, 600, 800, 1000, 2, 4, 6, 8, 10} <= set(numbers()), texts\n");
    svg("plot run.jsonl line -o x.svg", "assert len(points[0]) == 11\n");
    svg("plot -ox.svg run.jsonl flat", "assert 'flat' in texts\n");
    svg("plot run.jsonl gap line --output x.svg",
        "assert sorted(map(len, points)) == [4, 6, 11]\n"
        "assert texts.count('gap') == 1 and texts.count('line') == 1\n");
    svg("plot run.jsonl flat --output x.svg",
        "assert len(set(y for x, y in points[0])) == 1\n"
        "assert {3} <= set(numbers()) and len(set(numbers())) == len(numbers())\n");
    svg("plot run.jsonl large --output x.svg",
        "assert 'large (\u00d7 1e+9)' in texts and 1.002 in numbers(), texts\n");
    svg("plot run.jsonl small --output x.svg --size 300x200",
        "assert w == 300 and h == 200 and 'small (\u00d7 1e-6)' in texts, texts\n");
    ct_write("run.jsonl", "{\"step\":5,\"<&>\":-1e300}\n", 24);
    svg("plot run.jsonl --output x.svg",
        "assert '<&>' in ''.join(texts) and len(bars) == 1, texts\n");
    end();
}

Test(pith_plot, draws_long_logs_without_their_every_point) {
    begin();
    FILE *f = fopen("run.jsonl", "w");
    cr_assert(f);
    for (int i = 0; i < 30000; i++) /* one peak each way, a row wide */
        fprintf(f, "{\"step\":%d,\"x\":%d}\n", i,
                i == 12345   ? 50
                : i == 20001 ? -50
                             : i % 7);
    cr_assert(fclose(f) == 0);
    svg("plot run.jsonl x --output x.svg",
        "p = points[0]\n"
        "assert len(points) == 1 and 1000 < len(p) < 4000, len(p)\n"
        "left, right = p[0][0], p[-1][0]\n"
        "high = min(p, key=lambda q: q[1]); low = max(p, key=lambda q: q[1])\n"
        "assert abs((high[0] - left) / (right - left) - 12345 / 29999) < 0.003\n"
        "assert abs((low[0] - left) / (right - left) - 20001 / 29999) < 0.003\n"
        "rest = sorted(y for x, y in p)[1:-1]\n"
        "assert abs((low[1] - high[1]) / (rest[-1] - rest[0]) - 100 / 6) < 0.2\n");
    end();
}

Test(pith_plot, draws_a_series) {
    begin();
    for (int i = 0; i < 5; i++) {
        Sim sim = *make_sim(s, 100, i);
        sim.energy = pith_f64(s, i * i);
        pt_ok(s, pith_save(s, pith_freeze(s, Sim, &sim), "a.json",
                           &(pith_save_options){.keep = 9, .step = 10 * i}));
    }
    expect(0, "plot a.json .energy", ".energy step 0 to 40, 5 points\n",
           "0 to 16 last 16\n");
    expect(0, "plot a.000002.json a.000004.json .energy", "step 10 to 30, 2 points",
           "1 to 9");
    svg("plot a.json .energy --output x.svg",
        "p = points[0]\n"
        "h = [(p[0][1] - y) / (p[0][1] - p[4][1]) for x, y in p]\n"
        "assert all(abs(a - b) < 1e-3 for a, b in zip(h, [0, 1/16, 4/16, 9/16, 1])), h\n");
    expect(0, "plot a.json .atoms.position",
           "mean of .atoms.position (sigma) step 0 to 40");
    expect(2, "plot a.json .atoms", "\".atoms\" is not a leaf of \"a.000001.json\"");
    expect(2, "plot a.json .x", "there is no \".x\"");
    end();
}

Test(pith_plot, draws_a_histogram) {
    begin();
    double x[1000];
    for (int i = 0; i < 1000; i++)
        x[i] = i < 100 ? 0.05 : i < 400 ? 0.55 : 1;
    x[0] = (double)NAN, x[999] = (double)INFINITY, x[1] = 0;
    const int32_t whole[] = {3, 3, 3, 7, 5, 5};
    const void *items[] = {
        pith_array_copy(s, PITH_F64, PITH_SHAPE(10, 100), x),
        pith_array_copy(s, PITH_I32, PITH_SHAPE(6), whole), pith_f64(s, 4),
        pith_full(s, PITH_F32, PITH_SHAPE(2), (double)NAN),
        pith_array_copy(s, PITH_F64, PITH_SHAPE(2), (double[]){-1.7e308, 1.7e308})};
    pt_ok(s, pith_save(s, pith_list_make(s, 5, items), "a.json", NULL));
    svg("plot --bins 10 a.json [0] --output x.svg",
        "assert len(bars) == 3 and any('2 not finite' in t for t in texts), (bars, texts)\n"
        "h = [b[3] for b in bars]\n"
        "assert abs(h[1] / h[0] - 300 / 99) < 0.02 and abs(h[2] / h[0] - 599 / 99) < 0.02, h\n"
        "assert bars[0][0] < bars[1][0] < bars[2][0]\n");
    svg("plot a.json [1] --output x.svg",
        "h = [b[3] for b in bars]\n"
        "assert len(h) == 3 and abs(h[0] / h[2] - 3) < 0.02 and abs(h[1] / h[2] - 2) < 0.02\n"
        "assert abs((bars[1][0] - bars[0][0]) / (bars[2][0] - bars[0][0]) - 0.5) < 0.01\n");
    svg("plot a.json [2] --output x.svg", "assert len(bars) == 1\n");
    expect(0, "plot a.json [1]", "a.json i32[6]\n", "2.5 to 7.5 at most 3 in a bin\n");
    expect(2, "plot a.json [3]", "\"[3]\" of \"a.json\" has no finite element");
    expect(2, "plot a.json [4]", "overflows");
    end();
}

Test(pith_plot, writes_png) {
    begin();
    write_log();
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* fontconfig keeps what it has found */
    if (run("plot run.jsonl line --output x.png --size 640x400") == 2) {
        cr_assert(strstr(output, "this pith was built without cairo"), "%s", output);
        printf("SKIPPED: %s", output);
    } else {
        const ct_file f = ct_read("x.png");
        const unsigned char *b = (const unsigned char *)f.bytes;
        cr_assert(f.n > 1000 && memcmp(b, "\x89PNG\r\n\x1a\n", 8) == 0);
        cr_assert(b[18] == 640 >> 8 && b[19] == (640 & 255) && b[22] == 400 >> 8 &&
                  b[23] == (400 & 255));
        free(f.bytes);
        expect(2, "plot run.jsonl line --output nowhere/x.png",
               "cannot write \"nowhere/x.png\": No such file");
        cr_assert(symlink("/dev/full", "full.png") == 0);
        expect(2, "plot run.jsonl line --output full.png",
               "cannot write \"full.png\": No space left");
    }
    end();
}

Test(pith_plot, says_what_is_wrong) {
    begin();
    write_log();
    expect(2, "plot", "pith plot: takes a log and names of columns, or checkpoints");
    expect(
        2, "plot run.jsonl nothing",
        "\"run.jsonl\" has no column \"nothing\"; it has flat, gap, large, line, small\n");
    expect(2, "plot nothing.jsonl", "cannot open \"nothing.jsonl\"");
    expect(2, "plot a.json", "takes the path of a leaf after the checkpoints");
    expect(2, "plot a.json .x", "cannot open \"a.json\"");
    expect(2, "plot run.jsonl line --output x.gif",
           "ends with .svg or .png, got \"x.gif\"");
    expect(2, "plot run.jsonl line --output nowhere/x.svg",
           "cannot write \"nowhere/x.svg\"");
    expect(2, "plot run.jsonl line --output /dev/full", "--output takes a name");
    expect(2, "plot run.jsonl line -o", "--output takes FILE, got nothing");
    expect(2, "plot run.jsonl line -x 3", "unknown option \"-x\"");
    expect(2, "plot run.jsonl line -o x.svg -", "has no column \"-\"");
    expect(2, "plot run.jsonl line --size 1x1",
           "--size takes WIDTHxHEIGHT, from 200x150");
    expect(2, "plot run.jsonl line --size 300x200x", "--size takes WIDTHxHEIGHT");
    expect(2, "plot run.jsonl line --bins 0", "--bins takes an integer from 1 to 1000");
    cr_assert(symlink("/dev/full", "full.svg") == 0);
    expect(2, "plot run.jsonl line --output full.svg",
           "cannot write \"full.svg\": No space left");
    ct_write("bad.jsonl", "hello\n", 6);
    expect(1, "plot bad.jsonl", "\"bad.jsonl\" is not a log of a run: line 1");
    ct_write("empty.jsonl", "", 0);
    expect(2, "plot empty.jsonl", "it has only the step");
    end();
}
