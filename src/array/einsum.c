/* Einstein summation. Letters name the axes of every operand. First each operand loses
 * repeated letters (diagonals) and letters that occur nowhere else (sums). Then pairs
 * are multiplied greedily: the pair first whose product is smallest relative to its
 * operands. */
#include "array/array_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Letters, a to z before A to Z, then axes of the ellipsis, from the last one. */
enum { LETTERS = 52, LABELS = LETTERS + PITH_MAX_RANK, MOST_OPERANDS = 64 };

/* An operand, or a partial product, with the label of each axis. */
typedef struct term {
    const pith_array *array;
    int rank;
    int8_t labels[PITHP_MAX_RANK];
} term;

typedef struct sum {
    pith_scope *s;
    const char *text;
    int count;
    term terms[MOST_OPERANDS];
    term out; /* no array */
    int64_t extents[LABELS];
    int8_t first[LABELS]; /* operand that gave the extent, from 1; 0: none */
} sum;

static const char function[] = "pith_einsum";

/* ---- The text ---- */

static int label_of(char c) {
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1;
}

static char letter_of(int label) {
    return (char)(label < 26 ? 'a' + label : 'A' + label - 26);
}

/* Parse one list of letters, up to a comma, an arrow or the end: of the operand (from 1),
 * or (0) of the result, where ... stands for `dots` axes. */
static const char *
parse_list(sum *e, const char *at, term *to, int operand, int dots, bool *dotted) {
    int letters = 0;
    if (operand)
        dots = pithp_array_spec(to->array)->rank;
    *dotted = false;
    to->rank = 0;
    for (const char *p = at; *p && *p != ',' && *p != '-'; p++)
        letters += label_of(*p) >= 0;
    if (operand)
        dots -= letters;
    for (; *at && *at != ',' && *at != '-'; at++) {
        const int label = label_of(*at);
        int more = 1;
        if (*at == ' ')
            continue;
        if (label < 0) {
            if (strncmp(at, "...", 3) != 0 || *dotted) {
                pithp_fail(
                    e->s, PITH_E_ARG, NULL,
                    "%s: \"%s\": expected letters and one ... at most, got '%c' at "
                    "position %d",
                    function, e->text, *at, (int)(at - e->text) + 1);
                return NULL;
            }
            *dotted = true;
            at += 2;
            more = dots;
        }
        if (more < 0 || to->rank + more > PITH_MAX_RANK)
            break;
        for (int i = 0; i < more; i++)
            to->labels[to->rank++] = (int8_t)(label < 0 ? LETTERS + more - 1 - i : label);
    }
    if (*at && *at != ',' && *at != '-') { /* too many axes */
        pithp_fail(e->s, PITH_E_SHAPE, NULL, "%s: \"%s\" names too many axes of %s %d",
                   function, e->text, operand ? "operand" : "the result, beyond",
                   operand ? operand : PITH_MAX_RANK);
        return NULL;
    }
    return at;
}

/* Set the extent of a label: letters must agree, ellipsis axes broadcast. */
static bool set_extent(sum *e, int operand, int label, int64_t extent) {
    char text[PITHP_SPEC_TEXT_BYTES];
    int64_t *known = &e->extents[label];
    if (!e->first[label] || (label >= LETTERS && *known == 1)) {
        *known = extent;
        e->first[label] = (int8_t)(operand + 1);
        return true;
    }
    if (*known == extent || (label >= LETTERS && extent == 1))
        return true;
    const char letter[2] = {label < LETTERS ? letter_of(label) : 0};
    pithp_fail(e->s, PITH_E_SHAPE, NULL,
               "%s: \"%s\", operand %d of %s: expected extent %lld of %s as in operand "
               "%d, got %lld",
               function, e->text, operand + 1,
               pithp_spec_print(pithp_array_spec(e->terms[operand].array), text),
               (long long)*known, *letter ? letter : "...", e->first[label],
               (long long)extent);
    return false;
}

static bool fits(sum *e, int operand, const term *t) {
    char text[PITHP_SPEC_TEXT_BYTES];
    const pith_spec *spec = pithp_array_spec(t->array);
    if (t->rank != spec->rank) {
        pithp_fail(e->s, PITH_E_SHAPE, NULL,
                   "%s: \"%s\" names %d axes of operand %d, which is %s", function,
                   e->text, t->rank, operand + 1, pithp_spec_print(spec, text));
        return false;
    }
    for (int d = 0; d < t->rank; d++)
        if (!set_extent(e, operand, t->labels[d], spec->shape[d]))
            return false;
    return true;
}

static bool has(const term *t, int label) {
    for (int d = 0; d < t->rank; d++)
        if (t->labels[d] == label)
            return true;
    return false;
}

/* Without an arrow: the ellipsis axes, then the letters that occur once, capitals
 * first. */
static bool imply_output(sum *e, int dots) {
    int times[LETTERS] = {0};
    for (int k = 0; k < e->count; k++)
        for (int d = 0; d < e->terms[k].rank; d++)
            if (e->terms[k].labels[d] < LETTERS)
                times[e->terms[k].labels[d]]++;
    for (int i = dots - 1; i >= 0; i--)
        e->out.labels[e->out.rank++] = (int8_t)(LETTERS + i);
    for (int i = 0; i < LETTERS; i++) {
        const int label = i < 26 ? i + 26 : i - 26;
        if (times[label] != 1)
            continue;
        if (e->out.rank == PITH_MAX_RANK) {
            pithp_fail(e->s, PITH_E_SHAPE, NULL,
                       "%s: the result of \"%s\" has more than "
                       "%d axes",
                       function, e->text, PITH_MAX_RANK);
            return false;
        }
        e->out.labels[e->out.rank++] = (int8_t)label;
    }
    return true;
}

static bool check_output(sum *e, int dots, bool dotted) {
    for (int d = 0; d < e->out.rank; d++) {
        const int label = e->out.labels[d];
        bool twice = false;
        for (int i = 0; i < d; i++)
            twice |= e->out.labels[i] == label;
        if (label < LETTERS && (twice || !e->first[label])) {
            pithp_fail(e->s, PITH_E_ARG, NULL, "%s: \"%s\": %c of the result %s",
                       function, e->text, letter_of(label),
                       twice ? "is named twice" : "is in no operand");
            return false;
        }
    }
    if (dots > 0 && !dotted) {
        pithp_fail(e->s, PITH_E_ARG, NULL,
                   "%s: \"%s\": the result lacks ..., which operands have", function,
                   e->text);
        return false;
    }
    return true;
}

static bool parse(sum *e) {
    const char *at = e->text;
    int dots = 0;
    bool dotted = false;
    for (int k = 0; k < e->count; k++) {
        term *t = &e->terms[k];
        at = parse_list(e, at, t, k + 1, 0, &dotted);
        if (!at || !fits(e, k, t))
            return false;
        for (int d = 0; d < t->rank; d++)
            if (t->labels[d] >= LETTERS + dots)
                dots = t->labels[d] - LETTERS + 1;
        if (k + 1 < e->count ? *at != ',' : *at == ',') {
            pithp_fail(e->s, PITH_E_ARG, NULL, "%s: \"%s\" does not have %d operands",
                       function, e->text, e->count);
            return false;
        }
        at += *at == ',';
    }
    if (!*at)
        return imply_output(e, dots);
    if (at[1] == '>')
        at = parse_list(e, at + 2, &e->out, 0, dots, &dotted);
    if (at && *at) {
        pithp_fail(e->s, PITH_E_ARG, NULL, "%s: \"%s\": expected one -> and one result",
                   function, e->text);
        return false;
    }
    return at && check_output(e, dots, dotted);
}

/* ---- One operand ---- */

static const pith_array *
under(pith_scope *s, const pith_array *a, int rank, const int64_t *shape) {
    const pith_spec *spec = pithp_spec(s, pithp_array_spec(a)->dtype, rank, shape);
    return spec ? pithp_alias(s, a, spec) : NULL;
}

/* Axis d becomes the former axis order[d]. */
static bool permute(sum *e, term *t, const int *order) {
    pithp_transpose_params params = {0};
    const term before = *t;
    bool same = true;
    for (int d = 0; d < t->rank; d++) {
        params.permutation[d] = order[d];
        t->labels[d] = before.labels[order[d]];
        same &= order[d] == d;
    }
    if (!same)
        t->array = pithp_bind(e->s, PITHP_OP_TRANSPOSE, 1, &before.array, &params);
    return t->array != NULL;
}

static void forget_axis(term *t, int axis) {
    t->rank--;
    memmove(t->labels + axis, t->labels + axis + 1, (size_t)(t->rank - axis));
}

/* Replace axes p and q of one label by their diagonal, as the last axis. */
static bool take_diagonal(sum *e, term *t, int p, int q) {
    int order[PITHP_MAX_RANK], count = 0;
    for (int d = 0; d < t->rank; d++)
        if (d != p && d != q)
            order[count++] = d;
    order[count++] = p;
    order[count] = q;
    if (!permute(e, t, order))
        return false;
    t->rank--;
    t->array = pith_diagonal(e->s, t->array, 0);
    return t->array != NULL;
}

/* The last axis with the label of axis d. */
static int last_like(const term *t, int d) {
    int last = t->rank - 1;
    while (t->labels[last] != t->labels[d])
        last--;
    return last;
}

static bool take_diagonals(sum *e, term *t) {
    for (int d = 0; d < t->rank;) {
        const int other = last_like(t, d);
        if (other == d)
            d++;
        else if (!take_diagonal(e, t, d, other))
            return false;
    }
    return true;
}

/* Whether the result or a term other than these two has the label. */
static bool is_needed(const sum *e, int label, int one, int two) {
    if (has(&e->out, label))
        return true;
    for (int k = 0; k < e->count; k++)
        if (k != one && k != two && has(&e->terms[k], label))
            return true;
    return false;
}

/* Remove the axes of `mask`: by a sum, or (extent 1) by dropping. */
static bool reduce(sum *e, term *t, uint32_t mask, bool drop) {
    int64_t shape[PITHP_MAX_RANK];
    const pith_spec *spec = pithp_array_spec(t->array);
    int rank = 0;
    for (int d = 0; d < spec->rank; d++)
        if (!(mask >> d & 1))
            shape[rank++] = spec->shape[d];
    for (int d = t->rank - 1; d >= 0; d--)
        if (mask >> d & 1)
            forget_axis(t, d);
    if (!mask)
        return true;
    t->array =
        drop ? under(e->s, t->array, rank, shape)
             : pithp_bind(e->s, spec->dtype == PITH_BOOL ? PITHP_OP_ANY : PITHP_OP_SUM, 1,
                          &t->array, &(pithp_reduce_params){mask});
    return t->array != NULL;
}

/* Drop broadcast axes of extent 1, and sum labels that only this operand has. */
static bool prepare(sum *e, int k) {
    term *t = &e->terms[k];
    uint32_t repeated = 0, alone = 0;
    if (!take_diagonals(e, t))
        return false;
    for (int d = 0; d < t->rank; d++)
        if (pithp_array_spec(t->array)->shape[d] != e->extents[t->labels[d]])
            repeated |= 1u << d;
    if (!reduce(e, t, repeated, true))
        return false;
    for (int d = 0; d < t->rank; d++)
        if (!is_needed(e, t->labels[d], k, k))
            alone |= 1u << d;
    return reduce(e, t, alone, false);
}

/* ---- Pairs ---- */

/* The labels of a product, and its contractions. */
typedef struct pairing {
    term result; /* shared labels that are needed, then the rest of one and two */
    pithp_dot_params params;
} pairing;

static int axis_of(const term *t, int label) {
    int d = 0;
    while (t->labels[d] != label)
        d++;
    return d;
}

/* false: the result would have too many axes. */
static bool pair(const sum *e, int one, int two, pairing *p) {
    const term *a = &e->terms[one], *b = &e->terms[two];
    int8_t labels[2 * PITHP_MAX_RANK];
    int count = 0;
    memset(p, 0, sizeof *p);
    for (int d = 0; d < a->rank; d++) {
        const int label = a->labels[d];
        if (!has(b, label))
            continue;
        const bool batch = is_needed(e, label, one, two);
        int32_t *at = batch ? &p->params.batches : &p->params.contracts;
        int8_t(*pairs)[PITHP_MAX_RANK] = batch ? p->params.batch : p->params.contract;
        pairs[0][*at] = (int8_t)d;
        pairs[1][(*at)++] = (int8_t)axis_of(b, label);
        if (batch)
            labels[count++] = (int8_t)label;
    }
    for (int k = 0; k < 2; k++) {
        const term *mine = k ? b : a, *other = k ? a : b;
        for (int d = 0; d < mine->rank; d++)
            if (!has(other, mine->labels[d]))
                labels[count++] = mine->labels[d];
    }
    if (count > PITH_MAX_RANK)
        return false;
    memcpy(p->result.labels, labels, (size_t)count);
    p->result.rank = count;
    return true;
}

static bool same_labels(const term *a, const term *b) {
    return a->rank == b->rank && memcmp(a->labels, b->labels, (size_t)a->rank) == 0;
}

static double size_of(const sum *e, const term *t) {
    double size = 1;
    for (int d = 0; d < t->rank; d++)
        size *= (double)e->extents[t->labels[d]];
    return size;
}

/* Choose the next pair, in the operand order that gives the result's axes if possible. */
static bool choose(const sum *e, int *one, int *two, pairing *best) {
    double least = 0;
    bool found = false;
    pairing p;
    for (int i = 0; i < e->count; i++)
        for (int j = i + 1; j < e->count; j++) {
            if (!pair(e, i, j, &p))
                continue;
            const double cost = size_of(e, &p.result) - size_of(e, &e->terms[i]) -
                                size_of(e, &e->terms[j]);
            if (found && cost >= least)
                continue;
            found = true;
            least = cost;
            *one = i;
            *two = j;
            *best = p;
        }
    if (found && e->count == 2 && !same_labels(&best->result, &e->out) &&
        pair(e, *two, *one, &p) && same_labels(&p.result, &e->out)) {
        const int keep = *one;
        *one = *two;
        *two = keep;
        *best = p;
    }
    return found;
}

/* t with axes in the order of `labels`; extent 1 for missing labels. */
static const pith_array *spread(sum *e, const term *t, const term *labels) {
    int order[PITHP_MAX_RANK], count = 0;
    int64_t shape[PITHP_MAX_RANK];
    term it = *t;
    for (int d = 0; d < labels->rank; d++) {
        const bool there = has(t, labels->labels[d]);
        shape[d] = there ? e->extents[labels->labels[d]] : 1;
        if (there)
            order[count++] = axis_of(t, labels->labels[d]);
    }
    return permute(e, &it, order) ? under(e->s, it.array, labels->rank, shape) : NULL;
}

static bool multiply(sum *e, int one, int two, const pairing *p) {
    term result = p->result;
    const pith_array *operands[] = {e->terms[one].array, e->terms[two].array};
    if (p->params.contracts > 0) {
        result.array = pithp_bind(e->s, PITHP_OP_DOT_GENERAL, 2, operands, &p->params);
    } else {
        if (e->count == 2)
            result = e->out;
        operands[0] = spread(e, &e->terms[one], &result);
        operands[1] = operands[0] ? spread(e, &e->terms[two], &result) : NULL;
        result.array =
            operands[1] ? pithp_multiply(e->s, operands[0], operands[1]) : NULL;
    }
    const int low = one < two ? one : two, high = one < two ? two : one;
    e->terms[low] = result;
    e->terms[high] = e->terms[--e->count];
    return result.array != NULL;
}

static const pith_array *evaluate(sum *e) {
    for (int k = 0; k < e->count; k++)
        if (!prepare(e, k))
            return NULL;
    while (e->count > 1) {
        pairing p;
        int one = 0, two = 1;
        if (!choose(e, &one, &two, &p)) {
            pithp_fail(e->s, PITH_E_SHAPE, NULL,
                       "%s: \"%s\": every order of products passes rank %d", function,
                       e->text, PITH_MAX_RANK);
            return NULL;
        }
        if (!multiply(e, one, two, &p))
            return NULL;
    }
    return spread(e, &e->terms[0], &e->out);
}

const pith_array *pith_einsum(pith_scope *s,
                              const char *subscripts,
                              int64_t count,
                              const pith_array *const *operands) {
    const pith_array *cast[MOST_OPERANDS], *result = NULL;
    if (!pithp_enter(s))
        return NULL;
    if (!subscripts || !operands || count < 1 || count > MOST_OPERANDS) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: expected subscripts and 1 to %d operands, got %s and %" PRId64,
                   function, MOST_OPERANDS, subscripts ? subscripts : "NULL", count);
        return NULL;
    }
    for (int k = 0; k < count; k++) {
        char name[24];
        snprintf(name, sizeof name, "operands[%d]", k);
        if (pithp_operand_check(s, operands[k], function, name) != PITH_OK)
            return NULL;
        cast[k] = operands[k];
    }
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    sum e = {.s = work, .text = subscripts, .count = (int)count};
    if (pithp_promote_all(work, function, e.count, cast) == PITH_OK) {
        for (int k = 0; k < count; k++)
            e.terms[k].array = cast[k];
        result = parse(&e) ? evaluate(&e) : NULL;
    }
    return pithp_temporaries_close(s, work, result);
}
