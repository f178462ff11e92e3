#include "loops.h"

/* Contiguous, aligned and in the machine's byte order. */
enum { READABLE = 0x1 | 0x100 | 0x200, WRITEABLE = 0x400 };

static int is_readable(const array *a, int64_t length)
{
    int64_t entries = 1;
    for (int k = 0; k < a->nd; k++)
        entries *= a->shape[k];
    return (a->flags & READABLE) == READABLE && entries == length;
}

int is_array(const array *a, char kind, int itemsize, int64_t length)
{
    return a->typekind == kind && a->itemsize == itemsize && is_readable(a, length);
}

int is_output(const array *a, char kind, int itemsize, int64_t length)
{
    return is_array(a, kind, itemsize, length) && a->flags & WRITEABLE;
}

int are_scores(const array *p, int64_t length)
{
    return p->typekind == 'f' && (p->itemsize == 4 || p->itemsize == 8) && is_readable(p, length);
}

int is_matrix(const array *P)
{
    return P->nd == 2 && P->shape[1] > 0 && are_scores(P, P->shape[0] * P->shape[1]);
}

int are_labels(const array *y, int64_t length)
{
    int whole = y->typekind == 'b' || y->typekind == 'i' || y->typekind == 'u';
    int known = y->itemsize == 4 || y->itemsize == 8 || (y->itemsize == 1 && whole);
    return (whole || y->typekind == 'f') && known && is_readable(y, length);
}
