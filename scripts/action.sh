#!/usr/bin/env bash
# The step of action.yml. Inputs are variables, so that nothing in them is executed. Started in the root of the repository.
set -euo pipefail

fail() {
  echo "::error::$1"
  exit 2
}

for value in "$INPUT_INSTALL" "$INPUT_VERIFY" "$INPUT_CHECK"; do
  case "$value" in
    true | false) ;;
    *) fail 'the inputs install, verify and check must be true or false' ;;
  esac
done
[[ "$INPUT_MAX_TOKENS" =~ ^[0-9]*$ ]] || fail 'the input max-tokens must be a number'
# Not a flag.
case "$INPUT_DIRECTORY" in
  /*) directory="$INPUT_DIRECTORY" ;;
  *) directory="./$INPUT_DIRECTORY" ;;
esac
[[ -d "$directory" ]] || fail 'the input directory does not name a directory'
[[ "$INPUT_SARIF" = '' || "$INPUT_CHECK" = true ]] || fail 'the input sarif needs check: true'

if [[ "$INPUT_VERSION" = installed ]]; then
  command -v wield >/dev/null || fail 'wield is not on the PATH; leave the input version out'
else
  command -v npm >/dev/null || fail 'npm is not on the PATH; use actions/setup-node before this action'
  version="${INPUT_VERSION:-$(node -p 'require(process.argv[1]).version' "$GITHUB_ACTION_PATH/package.json")}"
  [[ "$version" =~ ^[0-9A-Za-z.-]+$ ]] || fail 'the input version must be a version, such as 0.1.0'
  prefix="$RUNNER_TEMP/wield-$version"
  npm install --global --prefix "$prefix" --ignore-scripts --no-audit --no-fund --loglevel=error "wield@$version"
  PATH="$prefix/bin:$PATH"
fi

failed=()
# part NAME COMMAND…: goes on after a failure, so that one run shows everything. What it prints may contain names of files of a
# pull request, which the runner must not take for commands.
part() {
  local name=$1 end
  shift
  end="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
  echo "::group::wield $name"
  echo "::stop-commands::$end"
  "$@" || failed+=("$name")
  echo "::$end::"
  echo '::endgroup::'
}

sarif() {
  local status=0
  wield check "$directory" --sarif >"$INPUT_SARIF" || status=$?
  # For people; the exit status is that of the first one.
  wield check "$directory" || true
  return "$status"
}

inside=(wield --cwd "$directory")
[[ "$INPUT_INSTALL" = false ]] || part install "${inside[@]}" install --frozen --yes
[[ "$INPUT_VERIFY" = false ]] || part verify "${inside[@]}" check --installed
if [[ "$INPUT_SARIF" != '' ]]; then
  part check sarif
elif [[ "$INPUT_CHECK" = true ]]; then
  part check wield check "$directory"
fi
[[ "$INPUT_MAX_TOKENS" = '' ]] || part tokens "${inside[@]}" list --tokens --max "$INPUT_MAX_TOKENS"

if ((${#failed[@]} > 0)); then
  echo "::error::failed: ${failed[*]}"
  exit 1
fi
