/* Sums of each cell of the grid, in one pass over the rows.
 *
 * A slot (a cell and a label) has four words: count·2⁴⁴ + Σhi, Σlo, Σsq_hi, Σsq_lo, so that a row is one addition of
 * 32 bytes. All slots together stay in the second-level cache; copies of them, as few bins have, would not. They are
 * emptied into the caller's table before Σhi can reach the count.
 */
#include "grid.h"
#include "slots.h"

enum {
    WORDS = 4,
    COLUMNS = 5,
    COUNT_SHIFT = 44,
    ROWS_PER_FILL = (1 << 18) - BLOCK,
    WORTH_SLOTS = 1 << 13, /* fewer rows are added straight to the table */
};

#define ONE_ROW ((int64_t)1 << COUNT_SHIFT)
#define SLOTS_SIZE ((size_t)GRID_CELLS * 2 * WORDS * sizeof(int64_t))

static void empty_slots(int64_t *RESTRICT word, int64_t *RESTRICT row)
{
    for (int slot = 0; slot < 2 * GRID_CELLS; slot++, word += WORDS, row += COLUMNS) {
        row[0] += word[0] >> COUNT_SHIFT;
        row[1] += word[0] & (ONE_ROW - 1);
        row[2] += word[1];
        row[3] += word[2];
        row[4] += word[3];
        word[0] = word[1] = word[2] = word[3] = 0;
    }
}

INLINE int add_to_slots_body(int level, int64_t *RESTRICT words, const uint32_t *cell, const rows *block, int m)
{
    int64_t term[WORDS * BLOCK];
    for (int i = 0; i < m; i++) {
        parts part = parts_of(block->score[i]);
        parts square = parts_of(block->score[i] * block->score[i]);
        term[WORDS * i] = ONE_ROW + part.hi;
        term[WORDS * i + 1] = part.lo;
        term[WORDS * i + 2] = square.hi;
        term[WORDS * i + 3] = square.lo;
    }
    for (int i = 0; i < m; i++) {
        int64_t *word = words + WORDS * (2 * cell[i] + block->label[i]);
        for (int k = 0; k < WORDS; k++)
            word[k] += term[WORDS * i + k];
    }
    return 0;
}

/* Once a cell has seen some rows its ends hardly move: a branch that is rarely taken costs less than two stores. */
static void widen_ends(double *ends, const uint32_t *cell, const double *score, int m)
{
    for (int i = 0; i < m; i++) {
        double *end = ends + 2 * cell[i];
        if (score[i] < end[0])
            end[0] = score[i];
        if (score[i] > end[1])
            end[1] = score[i];
    }
}

AT_EVERY_LEVEL(add_to_slots, (int64_t *RESTRICT words, const uint32_t *cell, const rows *block, int m), words,
               cell, block, m)

/* Adds rows start .. stop-1 to table[cell, label, (count, Σhi, Σlo, Σsq_hi, Σsq_lo)], and widens ends[cell, (least,
 * greatest score)]. */
EXPORT int64_t sketch_sums(const array *p, const array *y, const array *table, const array *ends, int64_t start,
                           int64_t stop)
{
    int64_t n = length_of(p);
    if (!are_scores(p, n) || !are_labels(y, n) || !are_rows(start, stop, n) ||
        !is_output(table, 'i', 8, (int64_t)GRID_CELLS * 2 * COLUMNS) ||
        !is_output(ends, 'f', 8, (int64_t)GRID_CELLS * 2))
        return WRONG_ARRAY;
    rows block;
    uint32_t cell[BLOCK];
    int64_t *sums = table->data, rows_left = ROWS_PER_FILL;
    void *memory = stop - start >= WORTH_SLOTS ? calloc(1, SLOTS_SIZE + 64) : NULL;
    int64_t *words = (int64_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    int status = 0;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start);
        int found = load_rows(&block, p, y, start, m);
        status |= found;
        if (found)
            continue;
        find_cells(block.score, m, cell);
        widen_ends(ends->data, cell, block.score, m);
        if (memory == NULL) {
            for (int i = 0; i < m; i++)
                add_row(sums + COLUMNS * (2 * (int64_t)cell[i] + block.label[i]), block.score[i], 1);
            continue;
        }
        if (rows_left < m) {
            empty_slots(words, sums);
            rows_left = ROWS_PER_FILL;
        }
        rows_left -= m;
        add_to_slots(words, cell, &block, m);
    }
    if (memory != NULL)
        empty_slots(words, sums);
    free(memory);
    return status;
}
