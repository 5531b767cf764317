"""Repositories for what lies outside the clone: LibTorch and the CUDA toolkit."""

_TORCH_VERSION = "2.11.0"

def _cache_dir(ctx):
    env = ctx.os.environ
    if env.get("LEVIN_CACHE"):
        return env["LEVIN_CACHE"]
    if env.get("XDG_CACHE_HOME"):
        return env["XDG_CACHE_HOME"] + "/levin"
    return env.get("HOME", "/root") + "/.cache/levin"

def _cuda_home(ctx):
    return ctx.os.environ.get("CUDA_HOME") or "/usr/local/cuda"

def _libtorch_impl(ctx):
    root = ctx.os.environ.get("TORCH_ROOT")
    if not root:
        root = "%s/libtorch-%s/torch" % (_cache_dir(ctx), _TORCH_VERSION)
    if not ctx.path(root + "/include/torch/headeronly/version.h").exists:
        fail("LibTorch is not at %s. Run scripts/setup, or set TORCH_ROOT to a LibTorch %s." % (root, _TORCH_VERSION))
    ctx.symlink(root + "/include", "include")
    ctx.symlink(root + "/lib", "lib")
    ctx.template("BUILD", Label("//third_party/libtorch:libtorch.BUILD"), {
        "{LIB_DIR}": root + "/lib",
        "{CUDA_LIB_DIR}": _cuda_home(ctx) + "/lib64",
    })

libtorch_repository = repository_rule(
    implementation = _libtorch_impl,
    environ = ["TORCH_ROOT", "CUDA_HOME", "LEVIN_CACHE", "XDG_CACHE_HOME", "HOME"],
    local = True,
)

def _cuda_impl(ctx):
    root = _cuda_home(ctx)
    if ctx.path(root + "/include/cuda_runtime_api.h").exists:
        ctx.symlink(root + "/include", "include")
        ctx.template("BUILD", Label("//third_party/libtorch:cuda.BUILD"), {})
    else:
        ctx.template("BUILD", Label("//third_party/libtorch:no_cuda.BUILD"), {"{ROOT}": root})

cuda_repository = repository_rule(
    implementation = _cuda_impl,
    environ = ["CUDA_HOME"],
    local = True,
)
