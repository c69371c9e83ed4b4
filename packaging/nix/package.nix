# stemma, for Nix: nix-build -E 'with import <nixpkgs> { }; callPackage ./packaging/nix/package.nix { }'
{ lib, stdenv, meson, ninja, pkg-config, python3, curl, elfutils, jansson, libmicrohttpd, libseccomp, openssl, pcre2, serd
, sqlite, xxHash }:

stdenv.mkDerivation {
  pname = "stemma";
  version = "0.1.0";
  src = lib.cleanSource ../..;

  nativeBuildInputs = [ meson ninja pkg-config python3 ];
  buildInputs = [ curl elfutils jansson libmicrohttpd libseccomp openssl pcre2 serd sqlite xxHash ];

  # Libraries lie in no folder that a program would look in by itself, so they are linked.
  mesonFlags = [
    "-Dtests=false"
    "-Dlate=false"
    "-Djava=disabled"
    "-Dbpf=disabled"
    "-Dspec=disabled"
    "-Dhdf5_vol=disabled"
  ];
  postPatch = "patchShebangs tools t";

  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/stemma --version
  '';

  meta = {
    description = "Ask any file where it came from";
    license = lib.licenses.asl20;
    platforms = [ "x86_64-linux" ];
    mainProgram = "stemma";
  };
}
