#!/bin/sh
# @description Detect the project type from files in a directory.
# @param path string The directory to look at; the workdir by default
# @readonly
. "$(dirname "$0")/lib.sh"
detect_type "${1:-${WIELD_PARAM_PATH:-.}}"
