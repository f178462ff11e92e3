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

typedef struct {
    int64_t run, rise; /* weight, and events, from one corner to another */
} way;

INLINE way way_between(const diagram *d, int64_t a, int64_t b)
{
    const int64_t from = d->mirrored ? d->m - b : a, to = d->mirrored ? d->m - a : b;
    const int64_t run = d->W[to] - d->W[from], events = d->E[to] - d->E[from];
    return (way){run, d->mirrored ? run - events : events};
}

/* The way from Q_a to P_b, if a row joins in between. */
INLINE way bridge_between(const diagram *d, int64_t a, int64_t b)
{
    way found = way_between(d, a, b);
    return (way){found.run + d->unit, found.rise + d->unit};
}

/* Whether x is not flatter than y. */
INLINE int not_flatter(way x, way y)
{
    return product_not_below(x.rise, y.run, y.rise, x.run);
}

/* The lower hull of P_0 .. P_m; returns how many corners it has. */
INLINE int64_t lower_hull(const diagram *d, int64_t *hull)
{
    int64_t n = 0;
    for (int64_t i = 0; i <= d->m; i++) {
        while (n > 1) {
            int64_t b = hull[n - 1], a = hull[n - 2];
            if (!not_flatter(way_between(d, a, b), way_between(d, b, i)))
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
    way bridge = {0, 0};
    for (int64_t j = 1; j <= d->m; j++) {
        if (j > 1 && not_flatter(way_between(d, a, j - 1), bridge))
            continue;
        a = j - 1;
        bridge = bridge_between(d, a, b);
        for (; h + 1 < n_hull; h++) {
            int64_t c = d->mirrored ? d->m - hull[n_hull - 2 - h] : hull[h + 1];
            if (!not_flatter(bridge, way_between(d, b, c)))
                break;
            b = c;
            bridge = bridge_between(d, a, b);
        }
        first[n] = j;
        left[n] = a;
        right[n++] = b;
    }
    return n;
}

/* with_event and without hold three rows of m numbers each: first, left, right; counts says how many of them are used.
 * hull is workspace of m + 1. */
EXPORT int64_t venn_abers(const array *corner_weight, const array *corner_events, const array *with_event,
                          const array *without, const array *counts, const array *hull, int64_t unit)
{
    const int64_t m = length_of(hull) - 1;
    if (m < 0 || unit < 1 || !is_array(corner_weight, 'i', 8, m + 1) || !is_array(corner_events, 'i', 8, m + 1) ||
        !is_output(with_event, 'i', 8, 3 * m) || !is_output(without, 'i', 8, 3 * m) ||
        !is_output(counts, 'i', 8, 2) || !is_output(hull, 'i', 8, m + 1))
        return WRONG_ARRAY;
    const diagram d = {corner_weight->data, corner_events->data, m, unit, 0};
    const diagram mirror = {corner_weight->data, corner_events->data, m, unit, 1};
    const int64_t n_hull = lower_hull(&d, hull->data);
    int64_t *n = counts->data;
    n[0] = sweep(&d, hull->data, n_hull, with_event->data);
    n[1] = sweep(&mirror, hull->data, n_hull, without->data);
    return 0;
}
