/* Sums over rows that consist of pieces, and what is done with them, in one type: included for each
   with REAL and NAME. */

#include "lanes.h"

/* The sum of the FEW parts that what is left of a piece has, and of the last elements. */
static inline double
NAME(few)(const REAL *parts, REAL last)
{
    return (double)(((parts[0] + parts[4]) + (parts[2] + parts[6]))
                    + ((parts[1] + parts[5]) + (parts[3] + parts[7])) + last);
}

/* The sum of a piece. */
WIDE static double
NAME(sum)(npy_intp length, const REAL *x)
{
    npy_intp i, start, end, whole = length - length % LANES;
    REAL rest[FEW] = {0}, last = 0;
    double sum = 0;
    int k;
    for (start = 0; start < whole; start = end) {
        REAL parts[LANES] = {0};
        end = whole - start > STRETCH ? start + STRETCH : whole;
        for (i = start; i < end; i += LANES)
            for (k = 0; k < LANES; k++)
                parts[k] += x[i + k];
        sum += NAME(total)(parts);
    }
    for (i = whole; i + FEW <= length; i += FEW)
        for (k = 0; k < FEW; k++)
            rest[k] += x[i + k];
    for (; i < length; i++)
        last += x[i];
    return sum + NAME(few)(rest, last);
}

/* Adds up g, and g times x - mean; without `g` x - mean takes its place. */
WIDE static void
NAME(products)(npy_intp length, const REAL *g, const REAL *x, REAL mean, double *sum,
               double *along)
{
    npy_intp i, start, end, whole = length - length % LANES;
    REAL rest[FEW] = {0}, rests[FEW] = {0}, last = 0, lasts = 0, d, h;
    int k;
    for (start = 0; start < whole; start = end) {
        REAL parts[LANES] = {0}, twos[LANES] = {0};
        end = whole - start > STRETCH ? start + STRETCH : whole;
        for (i = start; i < end; i += LANES)
            for (k = 0; k < LANES; k++) {
                d = x[i + k] - mean;
                h = g != NULL ? g[i + k] : d;
                parts[k] += h;
                twos[k] += h * d;
            }
        *sum += NAME(total)(parts);
        *along += NAME(total)(twos);
    }
    for (i = whole; i + FEW <= length; i += FEW)
        for (k = 0; k < FEW; k++) {
            d = x[i + k] - mean;
            h = g != NULL ? g[i + k] : d;
            rest[k] += h;
            rests[k] += h * d;
        }
    for (; i < length; i++) {
        d = x[i] - mean;
        h = g != NULL ? g[i] : d;
        last += h;
        lasts += h * d;
    }
    *sum += NAME(few)(rest, last);
    *along += NAME(few)(rests, lasts);
}

/* Means and variances of rows, in float64.  What rounding left out of a mean, in `rests`, is the
   average of what is left of the row without it. */
WIDE static void
NAME(moments)(const Pieces *s, const REAL *x, double *means, double *variances, double *rests)
{
    double n = (double)s->pieces * (double)s->length;
    npy_intp r, p;
    for (r = 0; r < s->rows; r++)
        means[r] = variances[r] = rests[r] = 0;
    EACH_PIECE(s, r, p)
        means[r] += NAME(sum)(s->length, x + PLACE(s, r, p));
    for (r = 0; r < s->rows; r++)
        means[r] = (REAL)(means[r] / n);
    EACH_PIECE(s, r, p)
        NAME(products)(s->length, NULL, x + PLACE(s, r, p), (REAL)means[r], rests + r, variances + r);
    for (r = 0; r < s->rows; r++) {
        double rest = rests[r] / n, variance = variances[r] / n - rest * rest;
        means[r] += rest;
        variances[r] = variance < 0 ? 0 : variance; /* NaN stays */
    }
}

/* y = (x - mean) * a + b */
WIDE static void
NAME(scaled)(const Pieces *s, const REAL *x, REAL *y, const REAL *means, const REAL *a,
             const REAL *b)
{
    npy_intp r, p, i;
    EACH_PIECE(s, r, p) {
        const REAL *from = x + PLACE(s, r, p);
        REAL *restrict to = y + PLACE(s, r, p);
        REAL mean = means[r], scale = a[COLUMN(s, r, p)], shift = b[COLUMN(s, r, p)];
        for (i = 0; i < s->length; i++)
            to[i] = (from[i] - mean) * scale + shift;
    }
}

/* The sums of g and of g * (x - mean), in float64: of each piece, or of whole rows. */
WIDE static void
NAME(sums)(const Pieces *s, const REAL *g, const REAL *x, const REAL *means, double *total,
           double *along)
{
    npy_intp r, p, place;
    for (r = 0; r < s->rows * s->columns; r++)
        total[r] = along[r] = 0;
    EACH_PIECE(s, r, p) {
        place = PLACE(s, r, p);
        NAME(products)(s->length, g + place, x + place, means[r], total + COLUMN(s, r, p),
                       along + COLUMN(s, r, p));
    }
}

/* dx = g * a - level - (x - mean) * slope */
WIDE static void
NAME(combined)(const Pieces *s, const REAL *g, const REAL *x, REAL *dx, const REAL *means,
               const REAL *a, const REAL *levels, const REAL *slopes)
{
    npy_intp r, p, i;
    EACH_PIECE(s, r, p) {
        const REAL *from = x + PLACE(s, r, p), *upstream = g + PLACE(s, r, p);
        REAL *restrict to = dx + PLACE(s, r, p);
        REAL mean = means[r], level = levels[r], slope = slopes[r], scale = a[COLUMN(s, r, p)];
        for (i = 0; i < s->length; i++)
            to[i] = upstream[i] * scale - level - (from[i] - mean) * slope;
    }
}
