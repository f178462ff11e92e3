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

/* Adds each row to table[bin_of[its cell]]. The last bin of the table stands for the opened cells; the keys
 * of their rows are written out as well, *n_keys of them. The buffer has one key to spare. */
EXPORT int grid_sums(const array *p, const array *y, const array *bin_of, const array *table,
                     const array *keys, int64_t start, int64_t stop, int moments, int64_t *n_keys)
{
    if (!are_scores(p, p->shape[0]) || !are_labels(y, p->shape[0]))
        return WRONG_ARRAY;
    rows block;
    slots s;
    uint32_t cell[BLOCK], offset[BLOCK];
    const uint16_t *bins = bin_of->data;
    const uint32_t opened = (uint32_t)table->shape[0] - 1;
    uint64_t *key = keys->data;
    int status = 0;
    if (!slots_open(&s, 2 * table->shape[0], moments, table->data, COLUMNS))
        return NO_MEMORY;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start);
        int found = load_rows(&block, p, y, start, m);
        status |= found;
        if (found)
            continue;
        find_cells(block.score, m, cell);
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
 * not matter. Scores must be valid. */
EXPORT void grid_lowest(const array *p, const array *which, const array *low, int64_t start, int64_t stop)
{
    rows block;
    uint32_t cell[BLOCK];
    const uint16_t *wanted = which->data;
    double *least = low->data;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start);
        load_scores(&block, p, start, m);
        find_cells(block.score, m, cell);
        for (int i = 0; i < m; i++) {
            uint16_t w = wanted[cell[i]];
            if (w && block.score[i] < least[w])
                least[w] = block.score[i];
        }
    }
}

/* Adds the keys from ends[j-1] to ends[j] to table[j]. */
EXPORT void key_sums(const array *keys, const array *ends, const array *table, int moments)
{
    const uint64_t *key = keys->data;
    const int64_t *end = ends->data;
    int64_t *sums = table->data, i = 0;
    for (int64_t j = 0; j < ends->shape[0]; j++)
        for (; i < end[j]; i++) {
            int64_t cell = 2 * j + (int64_t)(key[i] & 1);
            add_row(sums + cell * COLUMNS, double_of(key[i] >> 1), moments);
        }
}
