"""The families of golden cases, and the modules that make each, in order."""
FAMILIES = {
    "elementwise": ("elementwise", "elementwise_integer"),
    "transcendental": ("transcendental", ),
    "cast": ("cast", ),
    "reduce": ("reduce", ),
    "index": ("index", "index_update"),
    "shape": ("shape", "shape_make"),
    "order": ("order", "order_scan"),
    "random": ("random",),
    "product": ("product", ),
    "identities": ("identities", ),
    "autodiff": ("autodiff", ),
    "batch": ("batch", ),
    "tree": ("tree", "tree_structure"),
}
