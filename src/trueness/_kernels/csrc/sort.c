/* Rows in ascending order of score, and one cell per distinct score. */
#include "compensate.h"
#include "grid.h"
#include "key.h"

typedef struct {
    uint64_t key;
    double weight;
} record;

#define ITEM uint64_t
#define KEY(item) (item)
#define SORT sort_wide
#include "radix.h"

#define ITEM uint32_t
#define KEY(item) (item)
#define SORT sort_narrow
#include "radix.h"

#define ITEM record
#define KEY(item) ((item).key)
#define SORT sort_records
#include "radix.h"

/* Which rows of a block are in the grid cells first .. first + count - 1. */
INLINE void choose_rows(const double *score, int m, uint32_t first, uint32_t count, uint8_t *kept)
{
    uint32_t cell[BLOCK];
    if (count == GRID_CELLS) {
        memset(kept, 1, (size_t)m);
        return;
    }
    find_cells(score, m, cell);
    for (int i = 0; i < m; i++)
        kept[i] = cell[i] - first < count;
}

static int are_keys(const array *keys, int64_t length)
{
    return keys->nd == 1 && is_output(keys, 'u', keys->itemsize == 4 ? 4 : 8, length);
}

/* NumPy sets no flags for structured arrays, so their layout is read from strides and address. */
static int are_records(const array *records, int64_t length)
{
    return records->nd == 1 && records->typekind == 'V' && records->itemsize == sizeof(record) &&
           records->shape[0] == length && (length < 2 || records->strides[0] == sizeof(record)) &&
           (uintptr_t)records->data % sizeof(double) == 0;
}

/* Whether the kept rows of a block fit; they are counted only if the whole block might not. */
INLINE int have_room(int64_t room, const uint8_t *kept, int m)
{
    int64_t n = m;
    if (room < n) {
        n = 0;
        for (int i = 0; i < m; i++)
            n += kept[i];
    }
    return n <= room;
}

/* Writes the keys of the rows in grid cells low .. high-1, as wide as the buffer's items; *n_keys tells how
 * many. The buffer has one key to spare: each is written first and then kept or not, so that there is no
 * branch to mispredict. */
EXPORT int64_t pack_keys(const array *p, const array *y, const array *keys, int64_t low, int64_t high,
                         int64_t *n_keys)
{
    int64_t n = length_of(p), room = length_of(keys), k = 0;
    if (!are_scores(p, n) || !are_labels(y, n) || !are_rows(low, high, GRID_CELLS) || !are_keys(keys, room) || room < 1)
        return WRONG_ARRAY;
    rows block;
    uint8_t kept[BLOCK];
    uint64_t *wide = keys->data;
    uint32_t *narrow = keys->data;
    int status = 0;
    for (int64_t start = 0; start < n; start += BLOCK) {
        int m = (int)smaller(BLOCK, n - start);
        int found = load_rows(&block, p, y, start, m);
        status |= found;
        if (found)
            continue;
        choose_rows(block.score, m, (uint32_t)low, (uint32_t)(high - low), kept);
        if (!have_room(room - 1 - k, kept, m))
            return WRONG_ARRAY;
        if (keys->itemsize == 4)
            for (int i = 0; i < m; i++) {
                narrow[k] = narrow_key(block.score[i], block.label[i]);
                k += kept[i];
            }
        else
            for (int i = 0; i < m; i++) {
                wide[k] = wide_key(block.score[i], block.label[i]);
                k += kept[i];
            }
    }
    *n_keys = k;
    return status;
}

/* The same with weights; rows of weight 0 are left out. */
EXPORT int64_t pack_records(const array *p, const array *y, const array *w, const array *records, int64_t low,
                            int64_t high, int64_t *n_records)
{
    int64_t n = length_of(p), room = length_of(records), k = 0;
    if (!are_scores(p, n) || !are_labels(y, n) || !is_array(w, 'f', 8, n) || !are_rows(low, high, GRID_CELLS) ||
        !are_records(records, room) || room < 1)
        return WRONG_ARRAY;
    rows block;
    uint8_t kept[BLOCK];
    record *out = records->data;
    int status = 0;
    for (int64_t start = 0; start < n; start += BLOCK) {
        const double *weight = (const double *)w->data + start;
        int m = (int)smaller(BLOCK, n - start);
        int found = load_rows(&block, p, y, start, m) | bad_weights(weight, m);
        status |= found;
        if (found)
            continue;
        choose_rows(block.score, m, (uint32_t)low, (uint32_t)(high - low), kept);
        if (!have_room(room - 1 - k, kept, m))
            return WRONG_ARRAY;
        for (int i = 0; i < m; i++) {
            out[k] = (record){wide_key(block.score[i], block.label[i]), weight[i]};
            k += kept[i] & (weight[i] > 0);
        }
    }
    *n_records = k;
    return status;
}

/* Sorts the first n keys; returns 1 if the result lies in spare, else 0. */
EXPORT int64_t sort_keys(const array *keys, const array *spare, int64_t n)
{
    if (!are_keys(keys, length_of(keys)) || !is_output(spare, 'u', keys->itemsize, length_of(spare)) ||
        !are_rows(0, n, smaller(length_of(keys), length_of(spare))))
        return WRONG_ARRAY;
    if (keys->itemsize == 4)
        return sort_narrow(keys->data, spare->data, n) == spare->data;
    return sort_wide(keys->data, spare->data, n) == spare->data;
}

EXPORT int64_t sort_weighted(const array *records, const array *spare, int64_t n)
{
    if (!are_records(records, length_of(records)) || !are_records(spare, length_of(spare)) ||
        !are_rows(0, n, smaller(length_of(records), length_of(spare))))
        return WRONG_ARRAY;
    return sort_records(records->data, spare->data, n) == spare->data;
}

/* Two keys belong to one score if they differ in the label alone. */
#define COUNT_RUNS(sorted, key)                                                                       \
    do {                                                                                              \
        for (int64_t i = 1; i < n; i++)                                                               \
            n_cells += ((sorted)[i] key ^ (sorted)[i - 1] key) > 1;                                   \
    } while (0)

/* How many distinct scores the first n sorted keys, or records, have. */
EXPORT int64_t count_cells(const array *keys, int64_t n)
{
    int64_t n_cells = n > 0, n_keys = length_of(keys);
    if (!(are_keys(keys, n_keys) || are_records(keys, n_keys)) || !are_rows(0, n, n_keys))
        return WRONG_ARRAY;
    if (keys->itemsize == 4)
        COUNT_RUNS((const uint32_t *)keys->data, );
    else if (keys->itemsize == 8)
        COUNT_RUNS((const uint64_t *)keys->data, );
    else
        COUNT_RUNS((const record *)keys->data, .key);
    return n_cells;
}

#define COLLECT_RUNS(type, score_of)                                                                  \
    do {                                                                                              \
        const type *key = keys->data;                                                                 \
        for (int64_t i = 0, begin = 0; i < n; begin = i) {                                            \
            type ones = 0;                                                                            \
            for (; i < n && (key[i] ^ key[begin]) <= 1; i++)                                          \
                ones += key[i] & 1;                                                                   \
            if (--room < 0)                                                                           \
                return WRONG_ARRAY;                                                                   \
            *score_out++ = score_of(key[begin]);                                                      \
            *count_out++ = i - begin;                                                                 \
            *events_out++ = (int64_t)ones;                                                            \
        }                                                                                             \
    } while (0)

/* Cells of the first n sorted keys, written from index `first` on. With first = 0 the scores may be written over wide
 * keys: no key is read after a score took its place. */
EXPORT int64_t collect_cells(const array *keys, const array *score, const array *count, const array *events,
                              int64_t n, int64_t first)
{
    int64_t n_cells = length_of(score), room = n_cells - first;
    if (!are_keys(keys, length_of(keys)) || !are_rows(0, n, length_of(keys)) || !is_output(score, 'f', 8, n_cells) ||
        !is_output(count, 'i', 8, n_cells) || !is_output(events, 'i', 8, n_cells) || !are_rows(first, n_cells, n_cells))
        return WRONG_ARRAY;
    double *score_out = (double *)score->data + first;
    int64_t *count_out = (int64_t *)count->data + first, *events_out = (int64_t *)events->data + first;
    if (keys->itemsize == 4)
        COLLECT_RUNS(uint32_t, narrow_score);
    else
        COLLECT_RUNS(uint64_t, wide_score);
    return 0;
}

/* The same for records: sums[k, cell] with k = Σw, Σwy, Σw², Σw²y. */
EXPORT int64_t collect_weighted_cells(const array *records, const array *score, const array *count,
                                       const array *sums, int64_t n, int64_t first)
{
    int64_t n_cells = length_of(score), room = n_cells - first;
    if (!are_records(records, length_of(records)) || !are_rows(0, n, length_of(records)) ||
        !is_output(score, 'f', 8, n_cells) || !is_output(count, 'i', 8, n_cells) || sums->nd != 2 ||
        sums->shape[1] != n_cells || !is_output(sums, 'f', 8, 4 * n_cells) || !are_rows(first, n_cells, n_cells))
        return WRONG_ARRAY;
    const record *sorted = records->data;
    double *score_out = (double *)score->data + first, *sums_out = (double *)sums->data + first;
    int64_t *count_out = (int64_t *)count->data + first;
    for (int64_t i = 0, begin = 0, cell = 0; i < n; begin = i, cell++) {
        double sum[4][2] = {{0}};
        for (; i < n && (sorted[i].key ^ sorted[begin].key) <= 1; i++) {
            double w = sorted[i].weight, wy = sorted[i].key & 1 ? w : 0;
            add_compensated(sum[0], w);
            add_compensated(sum[1], wy);
            add_compensated(sum[2], w * w);
            add_compensated(sum[3], w * wy);
        }
        if (cell >= room)
            return WRONG_ARRAY;
        score_out[cell] = wide_score(sorted[begin].key);
        count_out[cell] = i - begin;
        for (int k = 0; k < 4; k++)
            sums_out[k * n_cells + cell] = sum[k][0] + sum[k][1];
    }
    return 0;
}
