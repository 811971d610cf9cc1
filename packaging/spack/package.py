# Spack's recipe: copy this folder to packages/dllaunch of a repository of yours (spack repo create), then
# `spack install dllaunch`. MPI is a module of its own: `+mpi` builds it for Spack's, and
# `dllaunch build-mpi-module` for any other.
from spack.package import *

try:  # where Spack 1.0 has them
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
except ImportError:
    pass


class Dllaunch(CMakePackage):
    """Turns one YAML file into a bound, running, self-healing multi-GPU job on Slurm."""

    homepage = "https://dllaunch.example.org"
    git = "https://dllaunch.example.org/dllaunch.git"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=True, description="Build dltrain's MPI module")
    variant("onednn", default=True, description="Compute on CPUs with oneDNN")
    variant("cuda", default=False, description="Compute on NVIDIA GPUs, with NCCL")
    variant("rocm", default=False, description="Compute on AMD GPUs, with RCCL")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.23:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("mustache", type="build")

    depends_on("elfutils")  # opened by name, for stacks of ranks that hang
    depends_on("fmt@9:")
    depends_on("hwloc@2:")
    depends_on("libjpeg-turbo")
    depends_on("libmicrohttpd@0.9.70:")
    depends_on("libsodium@1.0.12:")
    depends_on("spdlog+fmt_external")
    depends_on("sqlite@3.35:")
    depends_on("xxhash")
    depends_on("yaml-cpp")
    depends_on("zlib-api")

    depends_on("mpi", when="+mpi")
    depends_on("onednn@2:3 cpu_runtime=omp", when="+onednn")
    with when("+cuda"):
        depends_on("cuda@12:")
        depends_on("cudnn@9:")
        depends_on("nccl")
    with when("+rocm"):
        depends_on("hip")
        depends_on("miopen-hip")
        depends_on("rocblas")
        depends_on("rccl")

    generator("ninja")
    requires("%gcc@12:", "%clang@16:", policy="one_of")

    def cmake_args(self):
        args = [
            self.define("DLLAUNCH_TESTS", False),
            self.define_from_variant("DLLAUNCH_MPI", "mpi"),
            self.define_from_variant("DLLAUNCH_ONEDNN", "onednn"),
            self.define_from_variant("DLLAUNCH_CUDA", "cuda"),
            self.define_from_variant("DLLAUNCH_NCCL", "cuda"),
            self.define_from_variant("DLLAUNCH_HIP", "rocm"),
            self.define_from_variant("DLLAUNCH_RCCL", "rocm"),
        ]
        if self.spec.satisfies("+onednn"):
            args.append(self.define("DNNL_DIR", self.spec["onednn"].prefix))
        return args

    def setup_build_environment(self, env):
        if self.spec.satisfies("+cuda"):
            env.set("CUDA_HOME", self.spec["cuda"].prefix)
            env.set("CUDNN_HOME", self.spec["cudnn"].prefix)
            env.set("NCCL_HOME", self.spec["nccl"].prefix)
