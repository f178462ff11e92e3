/* Natural logarithms. */
#ifndef TRUENESS_LOG_H
#define TRUENESS_LOG_H

#include "loops.h"

/* -log(m + rest) for m in (0, 1], off by less than one unit in the last place; rest is what rounding took from m when
 * it was computed as 1 - p, else 0. A loop over it becomes vector instructions, which a call of log() would not.
 *
 * m = 2^k (1 + f) with 1 + f between the roots of 1/2 and 2. With s = f / (2 + f), log(1 + f) is 2 artanh(s), written
 * so that what is rounded is small beside f; the coefficients are those of FreeBSD's e_log.c. */
INLINE double minus_log(double m, double rest)
{
    const uint64_t root = 0x3FE6A09E667F3BCDu, one = 0x3FF0000000000000u;
    const double whole = 0x1p52; /* the last bits of 2^52 + a whole number are that number */
    uint64_t bits = bits_of(m * 0x1p54) + (one - root); /* 2^54: no number is subnormal then */
    double k = double_of((bits >> 52) | bits_of(whole)) - (whole + (1023 + 54));
    /* Only from 1/2 on, where k is 0 or -1, can there be a rest. */
    double f = double_of((bits & 0xFFFFFFFFFFFFFu) + root) - 1 + rest * (1 - k);
    double s = f / (2 + f), z = s * s, w = z * z;
    double even = w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
    double odd = w * (0x1.2492494229359p-2 + w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3));
    odd = z * (0x1.5555555555593p-1 + odd);
    double half = 0.5 * f * f;
    double small = half - (s * (half + (even + odd)) + k * 0x1.a39ef35793c76p-33);
    return (small - f) - k * 0x1.62e42fee00000p-1;
}

#endif
