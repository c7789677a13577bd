"""scipy.spatial, scipy.cluster, scipy.constants."""

from third_party.data import Module, X, Y, f64, p, x, y

transform, distance = Module("scipy.spatial.transform"), Module("scipy.spatial.distance")
vq, hierarchy = Module("scipy.cluster.vq"), Module("scipy.cluster.hierarchy")
constants = Module("scipy.constants")


def rotation(r):
    return transform.Rotation.from_rotvec(r)


r, s = x[:3], x[3:6]
ROTATION = {
    "align_vectors": (lambda v: transform.Rotation.align_vectors(v, f64(Y))[0].as_matrix(), X),
    "apply": (lambda r, v: rotation(r).apply(v), r, y[:3]),
    "as_davenport": (
        lambda r: rotation(r).as_davenport(f64([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), "extrinsic"),
        r,
    ),
    "as_euler": (lambda r: rotation(r).as_euler("xyz"), r),
    "as_matrix": (lambda r: rotation(r).as_matrix(), r),
    "as_mrp": (lambda r: rotation(r).as_mrp(), r),
    "as_quat": (lambda r: rotation(r).as_quat(), r),
    "as_rotvec": (lambda q: transform.Rotation.from_quat(q).as_rotvec(), x[:4]),
    "from_euler": (lambda r: transform.Rotation.from_euler("xyz", r).as_matrix(), r),
    "from_matrix": (
        lambda r: transform.Rotation.from_matrix(rotation(r).as_matrix()).as_rotvec(),
        r,
    ),
    "from_mrp": (lambda r: transform.Rotation.from_mrp(r).as_quat(), r / 4),
    "inv": (lambda r: rotation(r).inv().as_quat(), r),
    "magnitude": (lambda r: rotation(r).magnitude(), r),
    "mean": (lambda r: rotation(r).mean().as_matrix(), X),
    "__mul__": (lambda r, s: (rotation(r) * rotation(s)).as_matrix(), r, s),
    "__pow__": (lambda r: (rotation(r) ** 0.5).as_matrix(), r),
}
WORKS = {
    **{f"scipy.spatial.transform.Rotation.{name}": case for name, case in ROTATION.items()},
    "scipy.spatial.transform.Slerp": (
        lambda r: transform.Slerp(f64([0.0, 1.0]), rotation(r))(f64([0.3])).as_matrix(),
        X[:2],
    ),
    "scipy.spatial.transform.RigidTransform.apply": (
        lambda v, r: transform.RigidTransform.from_components(v, rotation(r)).apply(v),
        r,
        s,
    ),
    "scipy.spatial.transform.RigidTransform.from_exp_coords": (
        lambda v: transform.RigidTransform.from_exp_coords(v).as_matrix(),
        x[:6],
    ),
    "scipy.cluster.vq.whiten": (lambda a: vq.whiten(a.reshape(6, 2)), x),
    "scipy.constants.convert_temperature": (
        lambda v: constants.convert_temperature(v, "Celsius", "K"),
        x,
    ),
    "scipy.constants.lambda2nu": (lambda v: constants.lambda2nu(v), p),
    "scipy.constants.nu2lambda": (lambda v: constants.nu2lambda(v), p),
}
REFUSES = {
    "scipy.spatial.transform.RotationSpline": (
        lambda r: transform.RotationSpline([0.0, 1.0, 2.0], rotation(r))(1.5).as_matrix(),
        X[:3],
    ),
    "scipy.spatial.distance.cdist": (lambda v: distance.cdist(v, v * 2), X),
    "scipy.spatial.distance.pdist": (lambda v: distance.pdist(v), X),
    "scipy.spatial.distance.euclidean": (lambda a, b: distance.euclidean(a, b), x, y),
    "scipy.cluster.vq.kmeans": (lambda v: vq.kmeans(v, 2, rng=0)[1], X),
    "scipy.cluster.vq.vq": (lambda v: vq.vq(v, f64(X[:2]))[1], X),
    "scipy.cluster.hierarchy.linkage": (lambda v: hierarchy.linkage(v)[:, 2], X),
}
