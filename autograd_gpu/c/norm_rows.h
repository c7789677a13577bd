/* Layer norm and RMS norm of rows, in one type: included for each with REAL, and with NAME to tell
   the functions apart.  Rows are read again while the cache has them. */

#include "lanes.h"

/* The average of a row. */
WIDE static double
NAME(average)(npy_intp width, const REAL *x)
{
    double sum = 0;
    npy_intp i, start, end;
    for (start = 0; start < width; start = end) {
        REAL parts[LANES] = {0};
        int k;
        end = width - start > STRETCH ? start + STRETCH : width;
        for (i = start; i + LANES <= end; i += LANES)
            for (k = 0; k < LANES; k++)
                parts[k] += x[i + k];
        for (k = 0; i < end; i++, k++)
            parts[k] += x[i];
        sum += NAME(total)(parts);
    }
    return sum / (double)width;
}

/* The average of the squares of what is left of a row without `mean`, less the square of the average
   of that, which is set: `mean` has been rounded. */
WIDE static double
NAME(variance)(npy_intp width, const REAL *x, REAL mean, REAL *rest)
{
    double sum = 0, squares = 0;
    npy_intp i, start, end;
    for (start = 0; start < width; start = end) {
        REAL parts[LANES] = {0}, twos[LANES] = {0}, d;
        int k;
        end = width - start > STRETCH ? start + STRETCH : width;
        for (i = start; i + LANES <= end; i += LANES)
            for (k = 0; k < LANES; k++) {
                d = x[i + k] - mean;
                parts[k] += d;
                twos[k] += d * d;
            }
        for (k = 0; i < end; i++, k++) {
            d = x[i] - mean;
            parts[k] += d;
            twos[k] += d * d;
        }
        sum += NAME(total)(parts);
        squares += NAME(total)(twos);
    }
    sum /= (double)width;
    *rest = (REAL)sum;
    return squares / (double)width - sum * sum;
}

/* The rows less their means, unless `means` is NULL, over their deviations, times w, plus b. */
WIDE static void
NAME(normalise)(npy_intp rows, npy_intp width, const REAL *x, const REAL *w, const REAL *b,
                REAL *restrict y, REAL *means, REAL *inverses, double eps)
{
    npy_intp r, i;
    for (r = 0; r < rows; r++, x += width, y += width) {
        REAL mean = 0, rest, inverse;
        double variance;
        if (means != NULL)
            mean = means[r] = (REAL)NAME(average)(width, x);
        variance = NAME(variance)(width, x, mean, &rest);
        if (means == NULL) {
            variance += (double)rest * rest;
            rest = 0;
        }
        inverse = inverses[r] = (REAL)(1 / sqrt(variance + eps));
        if (w == NULL)
            for (i = 0; i < width; i++)
                y[i] = (x[i] - mean - rest) * inverse;
        else if (b == NULL)
            for (i = 0; i < width; i++)
                y[i] = (x[i] - mean - rest) * inverse * w[i];
        else
            for (i = 0; i < width; i++)
                y[i] = (x[i] - mean - rest) * inverse * w[i] + b[i];
    }
}

/* Of h and of h * (x - mean), h being g * w, the averages. */
WIDE static void
NAME(averages)(npy_intp width, const REAL *g, const REAL *x, const REAL *w, REAL mean, double *of_h,
               double *along)
{
    double sum = 0, products = 0;
    npy_intp i, start, end;
    for (start = 0; start < width; start = end) {
        REAL parts[LANES] = {0}, twos[LANES] = {0}, h;
        int k;
        end = width - start > STRETCH ? start + STRETCH : width;
        for (i = start; i + LANES <= end; i += LANES)
            for (k = 0; k < LANES; k++) {
                h = w != NULL ? g[i + k] * w[i + k] : g[i + k];
                parts[k] += h;
                twos[k] += h * (x[i + k] - mean);
            }
        for (k = 0; i < end; i++, k++) {
            h = w != NULL ? g[i] * w[i] : g[i];
            parts[k] += h;
            twos[k] += h * (x[i] - mean);
        }
        sum += NAME(total)(parts);
        products += NAME(total)(twos);
    }
    *of_h = sum / (double)width;
    *along = products / (double)width;
}

/* With h = g * w, d = x - mean and r the inverse deviation: writes
   (h - average(h) - d * r^2 * average(h * d)) * r to dx, and adds g * d * r to dw and g to db; each
   may be NULL. */
WIDE static void
NAME(normalise_back)(npy_intp rows, npy_intp width, const REAL *g, const REAL *x, const REAL *w,
                     const REAL *means, const REAL *inverses, REAL *restrict dx,
                     REAL *restrict dw, REAL *restrict db)
{
    npy_intp r, i;
    for (r = 0; r < rows; r++, x += width, g += width) {
        REAL mean = means != NULL ? means[r] : 0, inverse = inverses[r];
        if (dx != NULL) {
            double average, along;
            REAL level, slope, h;
            NAME(averages)(width, g, x, w, mean, &average, &along);
            level = means != NULL ? (REAL)average : 0;
            slope = (REAL)along * inverse * inverse;
            for (i = 0; i < width; i++) {
                h = w != NULL ? g[i] * w[i] : g[i];
                dx[i] = (h - level - (x[i] - mean) * slope) * inverse;
            }
            dx += width;
        }
        if (dw != NULL)
            for (i = 0; i < width; i++)
                dw[i] += g[i] * ((x[i] - mean) * inverse);
        if (db != NULL)
            for (i = 0; i < width; i++)
                db[i] += g[i];
    }
}
