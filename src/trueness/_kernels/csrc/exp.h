/* Powers of e. */
#ifndef TRUENESS_EXP_H
#define TRUENESS_EXP_H

#include "loops.h"

/* e^t for t <= 0, e^least below it; nan for nan. Taylor's polynomial of degree 12 on |r| <= ln 2 / 2,
 * off by less than 2^-51: a loop over it becomes vector instructions, which a call of exp() would not.
 *
 * least is -746 or more, where e^t rounds to 0. It travels as an argument: where compilers see the
 * constant, they branch on it, and a loop with branches does not become vector instructions. */
INLINE double exp_of(double t, double least)
{
    const double round = 0x1.8p52; /* adding it leaves the nearest whole number in the last bits */
    t = t < least ? least : t;
    double shifted = t * 0x1.71547652b82fep+0 + round;
    double n = shifted - round;
    double r = (t - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
    double q = 1.0 / 479001600;
    q = q * r + 1.0 / 39916800;
    q = q * r + 1.0 / 3628800;
    q = q * r + 1.0 / 362880;
    q = q * r + 1.0 / 40320;
    q = q * r + 1.0 / 5040;
    q = q * r + 1.0 / 720;
    q = q * r + 1.0 / 120;
    q = q * r + 1.0 / 24;
    q = q * r + 1.0 / 6;
    q = q * r + 0.5;
    q = q * r + 1.0;
    q = q * r + 1.0;
    /* 2^n in two steps, since it may be too small for one; only the last can round. */
    return q * double_of((bits_of(shifted) + 1023 + 64) << 52) * 0x1p-64;
}

#endif
