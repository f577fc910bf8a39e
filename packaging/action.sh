#!/usr/bin/env bash
# The script of action.yml. All inputs come by environment variables: nothing of a workflow is ever part of this text.
#
#   action.sh install   fetches the release archive for this machine, holds it against SHA256SUMS, unpacks it
#   action.sh check     runs modelpatch check; its exit code is the step's
#
# MODELPATCH_VERSION    release to fetch (1.2.3), or "installed" for the modelpatch on PATH
# MODELPATCH_SHA256     optional SHA-256 of the archive. SHA256SUMS lies beside the archive and finds damage only; this finds exchange
# MODELPATCH_DOWNLOADS  where releases lie: the folder above v1.2.3/ (default: this project's releases)
# MODELPATCH_PATHS      files, folders and patterns to check, one a line
# MODELPATCH_POLICY     policy file
# MODELPATCH_BASELINE   baseline file
# MODELPATCH_FAIL_ON    error, warning or note
# MODELPATCH_SARIF      file for the SARIF report
# MODELPATCH_SUMMARY    "true" adds the Markdown report to the page of the run
set -euo pipefail

fail() { # MESSAGE
  # A newline would end the workflow command, and what follows could be another one.
  local message=${1//'%'/%25}
  message=${message//$'\r'/%0D}
  printf '::error title=modelpatch action::%s\n' "${message//$'\n'/%0A}"
  exit 2
}

sha256() { # FILE
  if command -v sha256sum >/dev/null; then sha256sum -- "$1"; else shasum -a 256 -- "$1"; fi | cut -d' ' -f1
}

install() {
  local version=${MODELPATCH_VERSION:-} system machine ending=tar.gz
  if [[ $version == installed ]]; then
    command -v modelpatch >/dev/null || fail "version: installed, but there is no modelpatch on PATH: install it in a step before, or name a version"
    return
  fi
  version=${version#v}
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-rc\.[0-9]+)?$ ]] || fail "version must be of the form 1.2.3, or installed; it is '$version'"
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    MINGW* | MSYS* | CYGWIN*) system=windows ending=zip ;;
    *) fail "there is no archive for $(uname -s): build with 'go install' and use version: installed" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=amd64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "there is no archive for $(uname -m): build with 'go install' and use version: installed" ;;
  esac
  local archive=modelpatch_${version}_${system}_${machine}.$ending
  local from=${MODELPATCH_DOWNLOADS:-https://github.com/modelpatch/modelpatch/releases/download}
  local to=${RUNNER_TEMP:?RUNNER_TEMP must name a folder}/modelpatch-$version
  rm -rf -- "$to"
  mkdir -p -- "$to/bin"
  local name
  for name in "$archive" SHA256SUMS; do
    curl --fail --silent --show-error --location --retry 3 --proto '=https,file' --output "$to/$name" -- "$from/v$version/$name" ||
      fail "$from/v$version/$name cannot be fetched: is there such a release?"
  done
  local stated have
  stated=$(awk -v name="$archive" '$2 == name { print $1 }' "$to/SHA256SUMS")
  have=$(sha256 "$to/$archive")
  [[ -n $stated ]] || fail "SHA256SUMS of $version does not name $archive"
  [[ $have == "$stated" ]] || fail "$archive is damaged: SHA-256 is $have, SHA256SUMS says $stated"
  [[ -z ${MODELPATCH_SHA256:-} || $have == "$MODELPATCH_SHA256" ]] || fail "$archive is another file than expected: SHA-256 is $have, the input sha256 says $MODELPATCH_SHA256"
  if [[ $ending == zip ]]; then unzip -q -- "$to/$archive" -d "$to/bin"; else tar -xzf "$to/$archive" -C "$to/bin"; fi
  printf '%s\n' "$to/bin" >>"${GITHUB_PATH:?GITHUB_PATH must name a file}"
}

check() {
  local formats=github paths=() arguments=() line
  while IFS= read -r line || [[ -n $line ]]; do
    line=${line%$'\r'}
    [[ -z $line ]] || paths+=("$line")
  done <<<"${MODELPATCH_PATHS:-}"
  ((${#paths[@]})) || fail "paths is empty: name files, folders or patterns, one a line"
  if [[ -n ${MODELPATCH_SARIF:-} ]]; then
    [[ $MODELPATCH_SARIF != *[,\"$'\n']* ]] || fail "sarif must not hold commas, quotes or newlines"
    formats+=,sarif=$MODELPATCH_SARIF
    printf 'sarif=%s\n' "$MODELPATCH_SARIF" >>"${GITHUB_OUTPUT:?GITHUB_OUTPUT must name a file}"
  fi
  if [[ ${MODELPATCH_SUMMARY:-} == true && -n ${GITHUB_STEP_SUMMARY:-} ]]; then formats+=,markdown=$GITHUB_STEP_SUMMARY; fi
  arguments=(--format "$formats")
  if [[ -n ${MODELPATCH_POLICY:-} ]]; then arguments+=("--policy=$MODELPATCH_POLICY"); fi
  if [[ -n ${MODELPATCH_BASELINE:-} ]]; then arguments+=("--baseline=$MODELPATCH_BASELINE"); fi
  if [[ -n ${MODELPATCH_FAIL_ON:-} ]]; then arguments+=("--fail-on=$MODELPATCH_FAIL_ON"); fi
  modelpatch check "${arguments[@]}" -- "${paths[@]}"
}

case ${1:-} in
  install | check) "$1" ;;
  *) fail "action.sh takes install or check" ;;
esac
