# Copyright 2026 The stemma authors
#
# SPDX-License-Identifier: Apache-2.0
"""stemma, for Spack. `spack repo create` a folder, put this there as packages/stemma/package.py, and set the address of a release
or of a repository, for none is written down here: spack install stemma@main git=ADDRESS."""

from spack.package import *


class Stemma(MesonPackage):
    """Records which program read and wrote which version of which file, and answers where any file came from."""

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("daemon", default=False, description="The tracer of a whole node, stemmad")
    variant("http", default=True, description="Shipping records over HTTPS")
    variant("rdf", default=True, description="SPARQL, and reading Turtle")
    variant("spec", default=False, description="Specifications of programs and function traces")
    variant("stacks", default=True, description="Call stacks of programs as they are")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.7:", type=("build", "run"))
    depends_on("jansson")
    depends_on("libseccomp")
    depends_on("openssl")
    depends_on("sqlite")
    depends_on("xxhash")
    depends_on("elfutils@0.170:", when="+stacks")
    depends_on("elfutils", when="+daemon")
    depends_on("libbpf@1.0:", when="+daemon")
    depends_on("llvm@13: +clang", type=("build", "run"), when="+daemon")
    depends_on("llvm@13: +clang", when="+spec")
    depends_on("curl@7.85:", when="+http")
    depends_on("libmicrohttpd@0.9.70:", when="+http")
    depends_on("pcre2", when="+rdf")
    depends_on("serd", when="+rdf")

    def meson_args(self):
        def feature(option, variant):
            return f"-D{option}={'enabled' if self.spec.satisfies(variant) else 'disabled'}"

        # What a start would load later is linked: Spack's libraries are found by the program's own run path.
        return [
            "-Dtests=false",
            "-Dlate=false",
            "-Djava=disabled",
            "-Dhdf5_vol=disabled",
            feature("bpf", "+daemon"),
            feature("http", "+http"),
            feature("spec", "+spec"),
            feature("stacks", "+stacks"),
        ]

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.share.stemma.python)
