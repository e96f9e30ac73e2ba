#!/bin/sh
# Installs wield with a Node of its own, on Linux, into PREFIX/lib/wield and PREFIX/bin/wield. Nothing else is written.
#
#   sh install.sh [--prefix DIR] [--version VERSION] [--from ADDRESS-OR-DIRECTORY]
#
# The archive must have the checksum that SHA256SUMS of the release names. To uninstall: rm -r PREFIX/lib/wield PREFIX/bin/wield
set -eu

releases=https://github.com/wield-dev/wield/releases
prefix=${HOME:-}/.local
version=
from=

fail() {
  echo "error  $1" >&2
  [ $# -lt 2 ] || echo "  hint  $2" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --help | -h)
      sed -n '2,6s/^# \{0,1\}//p' "$0"
      exit
      ;;
    --prefix | --version | --from) [ $# -gt 1 ] || fail "$1 needs a value" ;;
    *) fail "unknown argument $1" 'sh install.sh --help' ;;
  esac
  case $1 in
    --prefix) prefix=$2 ;;
    --version) version=${2#v} ;;
    --from) from=${2%/} ;;
  esac
  shift 2
done

case $prefix in
  /.local) fail 'HOME is not set' 'name a directory: sh install.sh --prefix DIR' ;;
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
if [ -z "$from" ]; then
  if [ -n "$version" ]; then from=$releases/download/v$version; else from=$releases/latest/download; fi
fi

[ "$(uname -s)" = Linux ] || fail "there is no archive for $(uname -s)" 'with Node: npm install --global wield'
case $(uname -m) in
  x86_64 | amd64) name=wield-linux-x64 ;;
  aarch64 | arm64) name=wield-linux-arm64 ;;
  *) fail "there is no archive for $(uname -m)" 'with Node: npm install --global wield' ;;
esac

lib=$prefix/lib/wield
command=$prefix/bin/wield
target=../lib/wield/bin/wield
if [ -e "$command" ] || [ -h "$command" ]; then
  [ "$(readlink "$command")" = "$target" ] ||
    fail "$command exists and was not installed by this script" 'remove it, or name another directory: sh install.sh --prefix DIR'
fi
if [ -e "$lib" ] && [ ! -x "$lib/lib/node" ]; then
  fail "$lib exists and was not installed by this script" 'remove it, or name another directory: sh install.sh --prefix DIR'
fi

mkdir -p "$prefix/lib" "$prefix/bin"
work=$(mktemp -d "$prefix/lib/.wield-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

get() {
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null; then
        # Also after a redirection.
        case $from in
          https://*) allowed='=https' ;;
          *) allowed='=http,https' ;;
        esac
        curl --fail --silent --show-error --location --proto "$allowed" --output "$work/$1" "$from/$1"
      else
        wget --quiet --output-document="$work/$1" "$from/$1"
      fi
      ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac || fail "cannot get $from/$1"
}

get SHA256SUMS
get "$name.tar.gz"
expected=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$work/SHA256SUMS")
[ -n "$expected" ] || fail "$from/SHA256SUMS does not name $name.tar.gz"
if command -v sha256sum >/dev/null; then
  actual=$(sha256sum "$work/$name.tar.gz")
else
  actual=$(shasum -a 256 "$work/$name.tar.gz")
fi
[ "${actual%% *}" = "$expected" ] ||
  fail "$name.tar.gz has the checksum ${actual%% *}, expected $expected" 'nothing was installed; download it again, or report it'

tar -xzf "$work/$name.tar.gz" -C "$work"
# With a home of its own, so that its caches go away too.
installed=$(HOME=$work WIELD_HOME=$work/home "$work/$name/bin/wield" version) ||
  fail 'wield does not start on this machine' 'it needs glibc 2.28 and libstdc++; with Node: npm install --global wield'
if [ -n "$version" ] && [ "$installed" != "$version" ]; then
  fail "$from has version $installed, expected $version"
fi
[ ! -e "$lib" ] || mv "$lib" "$work/last"
mv "$work/$name" "$lib"
ln -sf "$target" "$command"

echo "  installed  wield $installed  $command"
case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) echo "  next       export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
