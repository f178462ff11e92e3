/* Bins of equal mass without sorting all rows.
 *
 * A first pass has counted the rows per cell of the grid, which tells the cells that hold a wanted rank. The
 * pass here adds the rows of all other cells straight to their bins, and hands out the keys of the rows in
 * those few cells, which alone have to be sorted.
 */
#include "grid.h"
#include "key.h"
#include "slots.h"

enum { COLUMNS = 5 };

/* Whether it has a number below `limit` for each cell of the grid. */
static int are_numbers_below(const array *number, int64_t limit)
{
    if (!is_array(number, 'u', 2, GRID_CELLS))
        return 0;
    const uint16_t *at = number->data;
    uint16_t greatest = 0;
    for (int c = 0; c < GRID_CELLS; c++)
        greatest = at[c] > greatest ? at[c] : greatest;
    return greatest < limit;
}

/* Adds each row to table[bin_of[its cell]]. The last bin of the table stands for the opened cells; the keys
 * of their rows are written out as well, *n_keys of them. The buffer has one key to spare. */
EXPORT int64_t grid_sums(const array *p, const array *y, const array *bin_of, const array *table,
                         const array *keys, int64_t start, int64_t stop, int moments, int64_t *n_keys)
{
    int64_t n = length_of(p), n_bins = length_of(table), room = length_of(keys);
    if (!are_scores(p, n) || !are_labels(y, n) || !are_rows(start, stop, n) || n_bins < 1 || n_bins > UINT16_MAX ||
        !is_output(table, 'i', 8, n_bins * 2 * COLUMNS) || !is_output(keys, 'u', 8, room) || room < 1 ||
        !are_numbers_below(bin_of, n_bins))
        return WRONG_ARRAY;
    rows block;
    slots s;
    uint32_t cell[BLOCK], offset[BLOCK];
    const uint16_t *bins = bin_of->data;
    const uint32_t opened = (uint32_t)n_bins - 1;
    uint64_t *key = keys->data, *last = key + room - 1;
    int status = 0;
    if (!slots_open(&s, 2 * n_bins, moments, table->data, COLUMNS))
        return NO_MEMORY;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start);
        int found = load_rows(&block, p, y, start, m);
        status |= found;
        if (found)
            continue;
        find_cells(block.score, m, cell);
        if (last - key < m) { /* the buffer may be full: count first */
            int64_t more = 0;
            for (int i = 0; i < m; i++)
                more += bins[cell[i]] == opened;
            if (last - key < more) {
                slots_close(&s);
                return WRONG_ARRAY;
            }
        }
        for (int i = 0; i < m; i++) {
            uint32_t bin = bins[cell[i]];
            offset[i] = (2 * bin + block.label[i]) * slot_stride(moments);
            /* Written first and then kept or not, so that there is no branch to mispredict. */
            *key = wide_key(block.score[i], block.label[i]);
            key += bin == opened;
        }
        slots_add(&s, offset, block.score, m);
    }
    slots_close(&s);
    *n_keys = key - (uint64_t *)keys->data;
    return status;
}

/* low[which[cell]] = least score of the rows in the cell, if below what is there; cells with which = 0 do
 * not matter. */
EXPORT int64_t grid_lowest(const array *p, const array *which, const array *low, int64_t start, int64_t stop)
{
    int64_t n = length_of(p), n_low = length_of(low);
    if (!are_scores(p, n) || !are_rows(start, stop, n) || !is_output(low, 'f', 8, n_low) ||
        !are_numbers_below(which, n_low))
        return WRONG_ARRAY;
    rows block;
    uint32_t cell[BLOCK];
    const uint16_t *wanted = which->data;
    double *least = low->data;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start);
        if (load_scores(&block, p, start, m))
            return BAD_SCORE;
        find_cells(block.score, m, cell);
        for (int i = 0; i < m; i++) {
            uint16_t w = wanted[cell[i]];
            if (w && block.score[i] < least[w])
                least[w] = block.score[i];
        }
    }
    return 0;
}

/* Adds the keys from ends[j-1] to ends[j] to table[j]. */
EXPORT int64_t key_sums(const array *keys, const array *ends, const array *table, int moments)
{
    int64_t n_keys = length_of(keys), n_ends = length_of(ends);
    if (!is_array(keys, 'u', 8, n_keys) || !is_array(ends, 'i', 8, n_ends) ||
        !is_output(table, 'i', 8, n_ends * 2 * COLUMNS))
        return WRONG_ARRAY;
    const uint64_t *key = keys->data;
    const int64_t *end = ends->data;
    int64_t *sums = table->data, i = 0;
    for (int64_t j = 0; j < n_ends; j++) {
        if (end[j] > n_keys)
            return WRONG_ARRAY;
        for (; i < end[j]; i++) {
            int64_t cell = 2 * j + (int64_t)(key[i] & 1);
            add_row(sums + cell * COLUMNS, double_of(key[i] >> 1), moments);
        }
    }
    return 0;
}
