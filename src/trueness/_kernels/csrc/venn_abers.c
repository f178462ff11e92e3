/* Venn-Abers prediction: isotonic regression with one more row, for every cell that the row may join.
 *
 * The corners of the cumulative sum diagram are P_i = (W_i, E_i). When an event joins cell j, the corners before it
 * are, seen from the others, one unit further to the left and below: Q_i = P_i - (unit, unit) for i < j, P_i for i >= j.
 * The fitted value is the slope of the bridge: the one edge of the lower hull that leads from some Q_a to some P_b.
 *
 * Going from j to j + 1, Q_j joins the left side. If it is not below the bridge, the bridge stays. If it is, the bridge
 * starts there, since slopes never fall, and ends at the same corner of the hull as before or at a later one. So every
 * corner is left behind once, and the sweep is linear.
 *
 * A row that is no event is an event in the mirror, where corners are counted from the other end. The hull is the same.
 */
#include "exact.h"

typedef struct {
    const int64_t *W, *E;
    int64_t m, unit;
    int mirrored; /* corners are counted from the other end, and what is no event is counted for events */
} diagram;

/* Weight, and events, from corner a to corner b. */
INLINE int64_t run(const diagram *d, int64_t a, int64_t b)
{
    return d->mirrored ? d->W[d->m - a] - d->W[d->m - b] : d->W[b] - d->W[a];
}

INLINE int64_t rise(const diagram *d, int64_t a, int64_t b)
{
    return d->mirrored ? run(d, a, b) - (d->E[d->m - a] - d->E[d->m - b]) : d->E[b] - d->E[a];
}

/* Whether the way from Q_a to P_b is not flatter than from P_b to P_c. */
INLINE int no_left_turn(const diagram *d, int64_t a, int64_t b, int64_t c)
{
    return product_not_below(rise(d, a, b) + d->unit, run(d, b, c), rise(d, b, c), run(d, a, b) + d->unit);
}

/* Whether Q_j is below the line from Q_a to P_b. */
INLINE int below(const diagram *d, int64_t j, int64_t a, int64_t b)
{
    return !product_not_below(rise(d, a, j), run(d, a, b) + d->unit, rise(d, a, b) + d->unit, run(d, a, j));
}

/* The lower hull of P_0 .. P_m; returns how many corners it has. */
static int64_t lower_hull(const int64_t *W, const int64_t *E, int64_t m, int64_t *hull)
{
    int64_t n = 0;
    for (int64_t i = 0; i <= m; i++) {
        while (n > 1) {
            int64_t b = hull[n - 1], a = hull[n - 2];
            if (!product_not_below(E[b] - E[a], W[i] - W[b], E[i] - E[b], W[b] - W[a]))
                break;
            n--;
        }
        hull[n++] = i;
    }
    return n;
}

/* A bridge is written down where it is a new one: for the row in cell first[i] (1 .. m) and in those after it, up to the
 * next entry, it leads from corner left[i] to corner right[i]. Returns how many there are. P_0 is never where a bridge
 * ends: from Q_0 it is as steep as can be. */
INLINE int64_t sweep(const diagram *d, const int64_t *hull, int64_t n_hull, int64_t *bridges)
{
    int64_t *first = bridges, *left = bridges + d->m, *right = bridges + 2 * d->m, n = 0, a = 0, h = 0, b = 0;
    for (int64_t j = 1; j <= d->m; j++) {
        if (j > 1 && !below(d, j - 1, a, b))
            continue;
        a = j - 1;
        for (; h + 1 < n_hull; h++) {
            int64_t c = d->mirrored ? d->m - hull[n_hull - 2 - h] : hull[h + 1];
            if (!no_left_turn(d, a, b, c))
                break;
            b = c;
        }
        first[n] = j;
        left[n] = a;
        right[n++] = b;
    }
    return n;
}

/* with_event and without hold three rows of m numbers each: first, left, right; counts says how many of them are used.
 * hull is workspace of m + 1. */
EXPORT int venn_abers(const array *corner_weight, const array *corner_events, const array *with_event,
                      const array *without, const array *counts, const array *hull, int64_t unit)
{
    const int64_t m = hull->shape[0] - 1;
    if (!is_array(corner_weight, 'i', 8, m + 1) || !is_array(corner_events, 'i', 8, m + 1) ||
        !is_array(with_event, 'i', 8, 3 * m) || !is_array(without, 'i', 8, 3 * m) || !is_array(counts, 'i', 8, 2) ||
        !is_array(hull, 'i', 8, m + 1))
        return WRONG_ARRAY;
    diagram d = {corner_weight->data, corner_events->data, m, unit, 0};
    int64_t *n = counts->data, n_hull = lower_hull(d.W, d.E, m, hull->data);
    n[0] = sweep(&d, hull->data, n_hull, with_event->data);
    d.mirrored = 1;
    n[1] = sweep(&d, hull->data, n_hull, without->data);
    return 0;
}
