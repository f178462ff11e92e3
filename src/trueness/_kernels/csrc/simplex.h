/* One row of class probabilities. Define REAL, INTEGER and NATURAL (of its width), ONE (the bits of 1) and
 * ROW(name) before including this file. */

INLINE INTEGER ROW(bits)(REAL x)
{
    INTEGER bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Looks closer at a row that may hold something outside [0, 1]; -0.0 is fine. */
RARE int ROW(inspect)(const REAL *row, int64_t n_classes)
{
    for (int64_t j = 0; j < n_classes; j++)
        if (!(row[j] >= 0 && row[j] <= 1))
            return BAD_SCORE;
    return 0;
}

/* Status of a row. *at is the column of its largest entry, or where the chunk of CHUNK columns that holds it
 * begins; of equals, the first. chunk_top, if given, receives the bits of the largest entry of each chunk, or 0. */
INLINE int ROW(check)(const REAL *row, int64_t n_classes, double tolerance, int64_t *at, INTEGER *chunk_top)
{
    double lane[8] = {0}, sum = 0;
    NATURAL signs = 0;
    INTEGER top = 0, here = 0;
    int64_t j = 0, where = 0;
    for (; j + CHUNK <= n_classes; j += CHUNK) {
        here = 0;
        for (int k = 0; k < CHUNK; k++) {
            INTEGER bits = ROW(bits)(row[j + k]);
            signs |= (NATURAL)bits | ((NATURAL)ONE - (NATURAL)bits);
            here = bits > here ? bits : here;
        }
        for (int k = 0; k < CHUNK; k += 8)
            for (int l = 0; l < 8; l++)
                lane[l] += row[j + k + l];
        if (chunk_top)
            chunk_top[j / CHUNK] = here;
        where = here > top ? j : where;
        top = here > top ? here : top;
    }
    here = 0;
    for (; j < n_classes; j++) {
        INTEGER bits = ROW(bits)(row[j]);
        signs |= (NATURAL)bits | ((NATURAL)ONE - (NATURAL)bits);
        sum += row[j];
        here = bits > here ? bits : here;
        where = bits > top ? j : where;
        top = bits > top ? bits : top;
    }
    *at = where;
    if (chunk_top)
        chunk_top[n_classes / CHUNK] = here;
    if ((INTEGER)signs < 0 && ROW(inspect)(row, n_classes))
        return BAD_SCORE;
    if (n_classes >= CHUNK)
        for (int l = 0; l < 8; l++)
            sum += lane[l];
    return sum - 1 <= tolerance && 1 - sum <= tolerance ? 0 : BAD_SUM;
}

INLINE int ROW(top_rows)(const REAL *row, const int64_t *y, int64_t n, int64_t n_classes, double tolerance,
                         REAL *confidence, int64_t *predicted, uint8_t *correct)
{
    int status = 0;
    for (int64_t i = 0; i < n; i++, row += n_classes) {
        int64_t at;
        if (y[i] < 0 || y[i] >= n_classes)
            status |= BAD_LABEL;
        status |= ROW(check)(row, n_classes, tolerance, &at, NULL);
        int64_t end = at < n_classes / CHUNK * CHUNK ? at + CHUNK : at;
        for (int64_t j = at + 1; j < end; j++)
            at = row[j] > row[at] ? j : at;
        confidence[i] = row[at] == 0 ? 0 : row[at];
        predicted[i] = at;
        correct[i] = at == y[i];
    }
    return status;
}

/* Adds to bin 0 and label 0 of each class whatever the columns hold: in 32 bits for a few rows at a time,
 * then to the table. */
INLINE void ROW(add_columns)(const REAL *RESTRICT row, int64_t n_classes, uint32_t *RESTRICT hi,
                             uint32_t *RESTRICT lo)
{
    for (int64_t j = 0; j < n_classes; j++) {
        double scaled = (double)row[j] * 0x1p26;
        int32_t whole = (int32_t)scaled;
        hi[j] += (uint32_t)whole;
        lo[j] += (uint32_t)(int32_t)((scaled - whole) * 0x1p27);
    }
}

/* Moves the entries that belong elsewhere from bin 0 and label 0 to their bin, and the row's own class to
 * label 1. A row that sums to one has at most n_bins entries from 1 / n_bins up. */
INLINE void ROW(move_entries)(const REAL *row, int64_t n_classes, int64_t n_bins, int64_t own, INTEGER large,
                              const INTEGER *chunk_top, int64_t *table)
{
    for (int64_t c = 0; c * CHUNK < n_classes; c++) {
        if (chunk_top[c] < large)
            continue;
        int64_t end = smaller(n_classes, (c + 1) * CHUNK);
        for (int64_t j = c * CHUNK; j < end; j++) {
            if (ROW(bits)(row[j]) < large)
                continue;
            int64_t *bins = table + j * n_bins * BIN, bin = place_width(row[j], n_bins);
            parts part = parts_of(row[j]);
            add_sums(bins, part, -1);
            add_sums(bins + bin * BIN, part, 1);
        }
    }
    int64_t *cell = table + (own * n_bins + place_width(row[own], n_bins)) * BIN;
    parts part = parts_of(row[own]);
    add_sums(cell, part, -1);
    add_sums(cell + COLUMNS, part, 1);
}

INLINE int ROW(many_classes)(const REAL *row, const int64_t *y, int64_t n, int64_t n_classes, int64_t n_bins,
                             double tolerance, int64_t *table)
{
    uint32_t *column = calloc((size_t)n_classes, 2 * sizeof *column);
    INTEGER *chunk_top = malloc((size_t)(n_classes / CHUNK + 1) * sizeof *chunk_top);
    int status = 0, filled = 0;
    INTEGER large = ROW(bits)((REAL)(1.0 / (double)n_bins)) - 1; /* at most 1 / n_bins, however it was rounded */
    if (column == NULL || chunk_top == NULL) {
        status = NO_MEMORY;
        n = 0;
    }
    for (int64_t i = 0; i < n; i++, row += n_classes) {
        int64_t at;
        int found = ROW(check)(row, n_classes, tolerance, &at, chunk_top);
        if (y[i] < 0 || y[i] >= n_classes)
            found |= BAD_LABEL;
        status |= found;
        if (!found) {
            ROW(add_columns)(row, n_classes, column, column + n_classes);
            ROW(move_entries)(row, n_classes, n_bins, y[i], large, chunk_top, table);
            filled++;
        }
        if (filled == ROWS_PER_COLUMN_FILL || i + 1 == n) {
            empty_columns(column, n_classes, n_bins, filled, table);
            filled = 0;
        }
    }
    free(column);
    free(chunk_top);
    return status;
}

#undef REAL
#undef INTEGER
#undef NATURAL
#undef ONE
#undef ROW
