"""scikit-learn."""

import autograd_gpu as ag
from third_party.data import Module, X, Y, x, y

scale, parts = Module("sklearn.preprocessing"), Module("sklearn.decomposition")
linear, pairwise = Module("sklearn.linear_model"), Module("sklearn.metrics.pairwise")
discriminant, bayes = Module("sklearn.discriminant_analysis"), Module("sklearn.naive_bayes")
mixture, metrics = Module("sklearn.mixture"), Module("sklearn.metrics")
cluster = Module("sklearn.cluster")
w = y[:8]


def labels():
    return ag.asarray([0, 1] * 4)


def pca(**options):
    return parts.PCA(2, **{"svd_solver": "full", **options})


def ridge():
    return linear.Ridge(solver="svd")


def there_and_back(v):
    model = pca().fit(v)
    return model.inverse_transform(model.transform(v))


PAIRWISE = {
    name: (lambda a, b, name=name: getattr(pairwise, name)(a, b), X, Y)
    for name in (
        *("cosine_distances", "cosine_similarity", "euclidean_distances", "laplacian_kernel"),
        *("linear_kernel", "manhattan_distances", "paired_cosine_distances"),
        *("paired_euclidean_distances", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel"),
    )
}
ERRORS = {
    name: (lambda a, b, name=name: getattr(metrics, name)(a, b, multioutput="raw_values"), X, Y)
    for name in ("explained_variance_score", "mean_absolute_error", "mean_squared_error")
}
WORKS = {
    "sklearn.preprocessing.KernelCenterer": (
        lambda v: scale.KernelCenterer().fit_transform(v @ v.T),
        X,
    ),
    "sklearn.preprocessing.MaxAbsScaler": (lambda v: scale.MaxAbsScaler().fit_transform(v), X),
    "sklearn.preprocessing.MinMaxScaler": (lambda v: scale.MinMaxScaler().fit_transform(v), X),
    "sklearn.preprocessing.Normalizer": (lambda v: scale.Normalizer().fit_transform(v), X),
    "sklearn.preprocessing.PolynomialFeatures": (
        lambda v: scale.PolynomialFeatures(2).fit_transform(v),
        X,
    ),
    "sklearn.decomposition.PCA": (lambda v: ag.abs(pca(whiten=True).fit_transform(v)), X),
    "sklearn.decomposition.PCA.explained_variance_": (
        lambda v: pca(svd_solver="covariance_eigh").fit(v).explained_variance_,
        X,
    ),
    "sklearn.decomposition.PCA.inverse_transform": (there_and_back, X),
    "sklearn.linear_model.Ridge": (lambda v, w: ridge().fit(v, w).coef_, X, w),
    "sklearn.linear_model.Ridge.predict": (lambda v, w: ridge().fit(v, w).predict(v), X, w),
    "sklearn.linear_model.RidgeCV": (lambda v, w: linear.RidgeCV().fit(v, w).coef_, X, w),
    "sklearn.linear_model.RidgeClassifier": (
        lambda v: linear.RidgeClassifier(solver="svd").fit(v, labels()).decision_function(v),
        X,
    ),
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": (
        lambda v: discriminant.LinearDiscriminantAnalysis().fit(v, labels()).decision_function(v),
        X,
    ),
    "sklearn.naive_bayes.GaussianNB": (
        lambda v: bayes.GaussianNB().fit(v, labels()).predict_log_proba(v),
        X,
    ),
    "sklearn.mixture.GaussianMixture": (
        lambda v: (
            mixture.GaussianMixture(1, init_params="random", random_state=0).fit(v).covariances_
        ),
        X,
    ),
    **{f"sklearn.metrics.pairwise.{name}": case for name, case in PAIRWISE.items()},
    **{f"sklearn.metrics.{name}": case for name, case in ERRORS.items()},
}
WITH_NAN_SAFE = {
    "sklearn.preprocessing.StandardScaler": (lambda v: scale.StandardScaler().fit_transform(v), X),
}
REFUSES = {
    "sklearn.preprocessing.RobustScaler": (lambda v: scale.RobustScaler().fit_transform(v), X),
    "sklearn.decomposition.IncrementalPCA": (lambda v: parts.IncrementalPCA(2).fit_transform(v), X),
    "sklearn.linear_model.LinearRegression": (
        lambda v, w: linear.LinearRegression().fit(v, w).coef_,
        X,
        w,
    ),
    "sklearn.linear_model.LogisticRegression": (
        lambda v: linear.LogisticRegression().fit(v, labels()).coef_,
        X,
    ),
    "sklearn.cluster.KMeans": (lambda v: cluster.KMeans(2).fit(v).cluster_centers_, X),
}
NUMBERS = {
    "sklearn.metrics.r2_score": (lambda a, b: metrics.r2_score(a, b), x, y),
    "sklearn.metrics.mean_pinball_loss": (lambda a, b: metrics.mean_pinball_loss(a, b), x, y),
}
