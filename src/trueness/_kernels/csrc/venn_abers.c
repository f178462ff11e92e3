/* Venn-Abers prediction: isotonic regression with one more event, for every cell that the event may join.
 *
 * The corners of the cumulative sum diagram are P_i = (W_i, E_i). When the event joins cell j, the corners before it
 * are, seen from the others, one unit further to the left and below: Q_i = P_i - (unit, unit) for i < j, P_i for i >= j.
 * The fitted value is the slope of the bridge: the one edge of the lower hull that leads from some Q_a to some P_b.
 *
 * Going from j to j + 1, Q_j joins the left side. If it is not below the bridge, the bridge stays. If it is, the bridge
 * starts there, since slopes never fall, and ends at the same corner of the hull as before or at a later one. So every
 * corner is left behind once, and the sweep is linear.
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

/* The lower hull of P_1 .. P_m; returns how many corners it has. */
INLINE int64_t lower_hull(const diagram *d, int64_t *hull)
{
    int64_t n = 0;
    for (int64_t i = 1; i <= d->m; i++) {
        while (n > 1) {
            int64_t b = hull[n - 1], a = hull[n - 2];
            if (!product_not_below(rise(d, a, b), run(d, b, i), rise(d, b, i), run(d, a, b)))
                break;
            n--;
        }
        hull[n++] = i;
    }
    return n;
}

INLINE int64_t sweep(const diagram *d, int64_t *first, int64_t *left, int64_t *right, int64_t *h)
{
    const int64_t *last = h + lower_hull(d, h) - 1;
    int64_t n = 0, a = 0;
    for (int64_t j = 1; j <= d->m; j++) {
        if (j > 1 && !below(d, j - 1, a, *h))
            continue;
        a = j - 1;
        while (h < last && no_left_turn(d, a, h[0], h[1]))
            h++;
        first[n] = j;
        left[n] = a;
        right[n++] = *h;
    }
    return n;
}

/* A bridge is written down where it is a new one: for the event in cell first[i] (1 .. m) and in those after it, up to
 * the next entry, it leads from corner left[i] to corner right[i]. hull is workspace. Returns how many there are. */
EXPORT int64_t venn_abers(const array *corner_weight, const array *corner_events, const array *first, const array *left,
                          const array *right, const array *hull, int64_t unit, int mirrored)
{
    const int64_t m = first->shape[0];
    if (!is_array(corner_weight, 'i', 8, m + 1) || !is_array(corner_events, 'i', 8, m + 1) ||
        !is_array(first, 'i', 8, m) || !is_array(left, 'i', 8, m) || !is_array(right, 'i', 8, m) ||
        !is_array(hull, 'i', 8, m))
        return WRONG_ARRAY;
    diagram d = {corner_weight->data, corner_events->data, m, unit, 0};
    if (!mirrored)
        return sweep(&d, first->data, left->data, right->data, hull->data);
    d.mirrored = 1;
    return sweep(&d, first->data, left->data, right->data, hull->data);
}
