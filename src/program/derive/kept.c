/* Rematerialisation: the values that a linearization keeps for its linear program. Groups
 * of instructions (pithp_remat) keep what they read from others. The rest is a choice by
 * bytes: a minimum cut. The nodes of the cut are values: known operands of linear
 * instructions, and what they are made of by elementwise instructions and data movement.
 * A value that is cut is kept and costs its bytes. A value between the cut and a linear
 * instruction is computed again, with the same bits, and costs a quarter of its bytes if
 * it is a transcendental function; other rows are free. Of equal cuts the one next to the
 * linear instructions is taken, with the fewest values to compute again. */
#include "program/derive/split.h"

#include <string.h>

enum { SOURCE, SINK, FIRST_NODE };

typedef struct edge {
    int32_t to, next; /* of the same node; -1: the last one */
    int64_t room;     /* what can still flow; edge k ^ 1 is the reverse */
} edge;

/* Values 0, 1... of the cut have the nodes 2 + 2 n, where they are made, and 3 + 2 n,
 * where they are read. */
typedef struct cut {
    const pithp_program *p;
    int32_t *numbers; /* of each value of the program; -1: not in the cut */
    int32_t node_count, edge_count;
    int32_t *first; /* edge of each node; -1: none */
    edge *edges;
    int32_t *level; /* of each node: distance to the sink, or -1 */
    int32_t *now;   /* of each node: the edge to try next */
    int32_t *list;  /* a queue of nodes, or a path of edges */
    int64_t steps;  /* that the search may still take */
} cut;

static const int64_t unlimited = INT64_MAX / 4;

/* ---- Rows ---- */

/* Whether an instruction is computed again at the cost of its elements. */
static bool is_cheap(const pithp_instruction *i) {
    const bool mark = pithp_op_has(i->primitive, PITHP_TRAIT_MARK);
    if (!pithp_is_lowered(i->primitive) || pithp_has_effects(i) ||
        pithp_has_refusals(i) || (i->remat.kept && !mark))
        return false;
    return mark || pithp_op_has(i->primitive, PITHP_TRAIT_POINTWISE) ||
           pithp_op_has(i->primitive, PITHP_TRAIT_VIEW) ||
           pithp_ops[i->primitive].arity == 0;
}

static int64_t bytes_of(const pithp_program *p, pithp_value v) {
    return (int64_t)pithp_value_spec(p, v)->bytes;
}

/* ---- Groups ---- */

/* Whether a reader of a group computes the results of an instruction again. */
static bool is_of_group(const pithp_instruction *i, int32_t group) {
    return i && group && i->remat.group == group && !i->remat.kept &&
           (i->remat.whole || (!pithp_has_effects(i) && !pithp_has_refusals(i)));
}

/* All readers of a value come after it: one walk back meets them first. Both programs can
 * have constants. */
void pithp_keep_groups(const pithp_program *p,
                       const bool *linear,
                       bool *crosses,
                       bool *again) {
    for (int64_t n = p->instruction_count; n-- > 0;) {
        const pithp_instruction *i = &p->instructions[n];
        bool reads = i->result_count && linear[i->result];
        for (int k = 0; k < i->result_count; k++) {
            again[i->result + k] &= !crosses[i->result + k];
            reads |= again[i->result + k];
        }
        for (int k = 0; reads && k < i->operand_count; k++) {
            const pithp_value v = pithp_operands(p, i)[k];
            if (linear[v] || p->values[v].origin == PITHP_FROM_CONSTANT)
                continue;
            if (is_of_group(pithp_maker(p, v), i->remat.group))
                again[v] = true;
            else
                crosses[v] = true;
        }
    }
}

/* ---- The graph ---- */

static void add_edge(cut *c, int32_t from, int32_t to, int64_t room) {
    c->edges[c->edge_count] = (edge){to, c->first[from], room};
    c->first[from] = c->edge_count++;
    c->edges[c->edge_count] = (edge){from, c->first[to], 0};
    c->first[to] = c->edge_count++;
}

/* Number the values of the cut: those that cross, and operands of cheap instructions that
 * make values of the cut. Values that groups compute again cost their bytes as others: if
 * the argument of one group came from them, all groups would be one chain, alive at once.
 * Returns a bound for the number of edges. */
static int64_t number_values(cut *c, const bool *crosses, int32_t *count) {
    const pithp_program *p = c->p;
    int64_t edges = 0;
    *count = 0;
    for (pithp_value v = 0; v < p->value_count; v++)
        c->numbers[v] = crosses[v] ? 0 : -1;
    for (int64_t v = p->value_count; v-- > 0;) {
        const pithp_instruction *i = pithp_maker(p, (pithp_value)v);
        if (c->numbers[v] < 0)
            continue;
        c->numbers[v] = (*count)++;
        edges += 3;
        for (int k = 0; i && is_cheap(i) && k < i->operand_count; k++, edges++)
            if (p->values[pithp_operands(p, i)[k]].origin != PITHP_FROM_CONSTANT)
                c->numbers[pithp_operands(p, i)[k]] = 0;
    }
    return edges;
}

static void add_value(cut *c, pithp_value v, bool crosses, bool taken) {
    const pithp_program *p = c->p;
    const pithp_instruction *i = pithp_maker(p, v);
    const int32_t made = FIRST_NODE + 2 * c->numbers[v];
    const bool cheap = i && is_cheap(i);
    add_edge(c, made, made + 1, taken ? 0 : 4 * bytes_of(p, v));
    if (!cheap)
        add_edge(c, SOURCE, made, unlimited);
    else if (pithp_op_has(i->primitive, PITHP_TRAIT_MATHS))
        add_edge(c, SOURCE, made, bytes_of(p, v));
    if (crosses)
        add_edge(c, made + 1, SINK, unlimited);
    for (int k = 0; cheap && k < i->operand_count; k++) {
        const int32_t n = c->numbers[pithp_operands(p, i)[k]];
        if (n >= 0)
            add_edge(c, FIRST_NODE + 2 * n + 1, made, unlimited);
    }
}

/* ---- Dinic's algorithm ---- */

/* Set the distance of each node to the sink, along edges with room. */
static void find_levels(cut *c) {
    int32_t head = 0, tail = 0;
    for (int32_t n = 0; n < c->node_count; n++)
        c->level[n] = -1;
    c->level[SINK] = 0;
    c->list[tail++] = SINK;
    while (head < tail) {
        const int32_t n = c->list[head++];
        for (int32_t e = c->first[n]; e >= 0; e = c->edges[e].next) {
            const int32_t from = c->edges[e].to;
            c->steps--;
            if (c->edges[e ^ 1].room <= 0 || c->level[from] >= 0)
                continue;
            c->level[from] = c->level[n] + 1;
            c->list[tail++] = from;
        }
    }
}

/* The next edge from a node on a shortest path to the sink; -1: none. */
static int32_t next_edge(cut *c, int32_t node) {
    int32_t *e = &c->now[node];
    while (*e >= 0 && !(c->edges[*e].room > 0 && c->level[c->edges[*e].to] >= 0 &&
                        c->level[c->edges[*e].to] == c->level[node] - 1)) {
        *e = c->edges[*e].next;
        c->steps--;
    }
    return *e;
}

/* Send as much as fits along the path of `count` edges. Returns the number of the first
 * edge that is full. */
static int32_t send(cut *c, int32_t count) {
    int64_t amount = unlimited;
    int32_t full = count;
    for (int32_t k = 0; k < count; k++)
        if (c->edges[c->list[k]].room < amount)
            amount = c->edges[c->list[k]].room;
    for (int32_t k = count; k-- > 0;) {
        c->edges[c->list[k]].room -= amount;
        c->edges[c->list[k] ^ 1].room += amount;
        if (!c->edges[c->list[k]].room)
            full = k;
    }
    c->steps -= count;
    return full;
}

/* Fill all shortest paths. */
static void fill_paths(cut *c) {
    int32_t node = SOURCE, count = 0;
    memcpy(c->now, c->first, (size_t)c->node_count * sizeof *c->now);
    while (c->steps > 0) {
        if (node == SINK) {
            count = send(c, count);
            node = c->edges[c->list[count] ^ 1].to;
        }
        const int32_t e = next_edge(c, node);
        if (e >= 0) {
            c->list[count++] = e;
            node = c->edges[e].to;
        } else if (count) {
            c->level[node] = -1; /* a dead end */
            node = c->edges[c->list[--count] ^ 1].to;
        } else {
            return;
        }
    }
}

/* Whether the flow is a maximum; false: the search was given up. The levels then tell the
 * side of the sink. */
static bool find_flow(cut *c) {
    for (find_levels(c); c->level[SOURCE] >= 0 && c->steps > 0; find_levels(c))
        fill_paths(c);
    return c->level[SOURCE] < 0;
}

/* ---- The choice ---- */

static void set_choice(const cut *c, bool *crosses, bool *again) {
    for (pithp_value v = 0; v < c->p->value_count; v++) {
        if (c->numbers[v] < 0)
            continue;
        const int32_t made = FIRST_NODE + 2 * c->numbers[v];
        again[v] |= c->level[made] >= 0;
        crosses[v] = c->level[made] < 0 && c->level[made + 1] >= 0;
    }
}

bool pithp_choose_kept(pith_scope *s,
                       const pithp_program *p,
                       const bool *taken,
                       bool *crosses,
                       bool *again) {
    enum { STEPS_PER_EDGE = 200 };
    cut c = {.p = p};
    int32_t count;
    const size_t values = ((size_t)p->value_count + 1) * sizeof *c.numbers;
    if (!(c.numbers = pithp_allocate(s->runtime, values))) {
        pithp_fail_memory(s, values);
        return false;
    }
    const int64_t edges = 2 * number_values(&c, crosses, &count);
    c.node_count = FIRST_NODE + 2 * count;
    c.steps = STEPS_PER_EDGE * (edges + 1);
    const size_t nodes = (size_t)c.node_count,
                 bytes = 4 * nodes * sizeof *c.first + (size_t)edges * sizeof *c.edges;
    c.edges = pithp_allocate(s->runtime, bytes);
    if (c.edges) {
        c.first = (int32_t *)(void *)(c.edges + edges);
        c.level = c.first + nodes;
        c.now = c.level + nodes;
        c.list = c.now + nodes;
        memset(c.first, 0xFF, nodes * sizeof *c.first);
        for (pithp_value v = 0; v < p->value_count; v++)
            if (c.numbers[v] >= 0)
                add_value(&c, v, crosses[v],
                          p->values[v].origin == PITHP_FROM_INPUT &&
                              taken[p->values[v].at]);
        if (find_flow(&c))
            set_choice(&c, crosses, again);
        pithp_release(s->runtime, c.edges, bytes);
    } else {
        pithp_fail_memory(s, bytes);
    }
    pithp_release(s->runtime, c.numbers, values);
    return s->error.code == PITH_OK;
}
