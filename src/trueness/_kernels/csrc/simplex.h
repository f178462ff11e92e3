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

/* Status of a row. chunk_top receives the bits of the largest entry of every CHUNK columns, or 0; *last is the column
 * of the largest one after the last whole chunk. The sum has LANES parts, since an addition waits for the one before. */
INLINE int ROW(check)(const REAL *row, int64_t n_classes, double tolerance, INTEGER *chunk_top, int64_t *last)
{
    double lane[LANES] = {0}, sum = 0;
    NATURAL signs = 0;
    INTEGER top;
    int64_t j = 0;
    for (; j + CHUNK <= n_classes; j += CHUNK) {
        top = 0;
        for (int k = 0; k < CHUNK; k++) {
            INTEGER bits = ROW(bits)(row[j + k]);
            signs |= (NATURAL)bits | ((NATURAL)ONE - (NATURAL)bits);
            top = bits > top ? bits : top;
        }
        for (int k = 0; k < CHUNK; k += LANES)
            for (int l = 0; l < LANES; l++)
                lane[l] += row[j + k + l];
        *chunk_top++ = top;
    }
    top = 0;
    *last = j;
    for (; j < n_classes; j++) {
        INTEGER bits = ROW(bits)(row[j]);
        signs |= (NATURAL)bits | ((NATURAL)ONE - (NATURAL)bits);
        sum += row[j];
        *last = bits > top ? j : *last;
        top = bits > top ? bits : top;
    }
    *chunk_top = top;
    if ((INTEGER)signs < 0 && ROW(inspect)(row, n_classes))
        return BAD_SCORE;
    if (n_classes >= CHUNK)
        for (int l = 0; l < LANES; l++)
            sum += lane[l];
    return sum - 1 <= tolerance && 1 - sum <= tolerance ? 0 : BAD_SUM;
}

/* The column of the largest entry; of equals, the first. */
INLINE int64_t ROW(find_top)(const REAL *row, int64_t n_classes, const INTEGER *chunk_top, int64_t last)
{
    const int64_t n_whole = n_classes / CHUNK;
    int64_t top = 0, at = 0;
    for (int64_t c = 1; c <= n_whole; c++)
        top = chunk_top[c] > chunk_top[top] ? c : top;
    if (top == n_whole || chunk_top[top] == 0) /* in the rest, or nowhere: of zeros, the first */
        return top == n_whole ? last : 0;
    for (int k = CHUNK - 1; k >= 0; k--) /* to the end: a way out would be mispredicted */
        at = ROW(bits)(row[top * CHUNK + k]) == chunk_top[top] ? top * CHUNK + k : at;
    return at;
}

INLINE int ROW(top_rows)(const REAL *row, const int64_t *y, int64_t n, int64_t n_classes, double tolerance,
                         REAL *confidence, int64_t *predicted, uint8_t *correct)
{
    INTEGER *chunk_top = malloc((size_t)(n_classes / CHUNK + 1) * sizeof *chunk_top);
    int status = 0;
    if (chunk_top == NULL)
        return NO_MEMORY;
    for (int64_t i = 0; i < n; i++, row += n_classes) {
        if (y[i] < 0 || y[i] >= n_classes)
            status |= BAD_LABEL;
        int64_t last;
        status |= ROW(check)(row, n_classes, tolerance, chunk_top, &last);
        int64_t at = ROW(find_top)(row, n_classes, chunk_top, last);
        confidence[i] = row[at] == 0 ? 0 : row[at];
        predicted[i] = at;
        correct[i] = at == y[i];
    }
    free(chunk_top);
    return status;
}

/* Adds to bin 0 and label 0 of each class whatever the columns hold: in 32 bits for a few rows at a time,
 * then to the table. */
INLINE void ROW(add_columns)(const REAL *RESTRICT row, int64_t n_classes, uint32_t *RESTRICT hi,
                             uint32_t *RESTRICT lo)
{
    for (int64_t j = 0; j < n_classes; j++) {
        REAL scaled = row[j] * (REAL)0x1p26; /* as parts_of; each step is exact in either width */
        int32_t whole = (int32_t)scaled;
        hi[j] += (uint32_t)whole;
        lo[j] += (uint32_t)(int32_t)((scaled - (REAL)whole) * (REAL)0x1p27);
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
        int64_t last;
        int found = ROW(check)(row, n_classes, tolerance, chunk_top, &last);
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
