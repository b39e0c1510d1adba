#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing. Quick when nothing is.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

readonly list=tools/dev/packages.txt

wanted() {
  local groups=" $* " name group
  while read -r name group; do
    case $name in '' | '#'*) continue ;; esac
    case $groups in *" $group "*) say "$name" ;; esac
  done <"$list" | sort -u
}

# missing PACKAGE..: those that are not installed.
missing() {
  local installed
  # dpkg-query ends with 1 when it knows nothing of one of them.
  installed=$({ dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } |
    sed -n 's/^installed //p' | sort -u)
  comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$installed")
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

# The packages of Orthanc, Prometheus and Glewlwyd start services of their own; the tests and the demo start private ones instead.
install_packages() {
  local policy=/usr/sbin/policy-rc.d own=
  if [ ! -e "$policy" ]; then
    own=1
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
  fi
  local status=0
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
    install -y --no-install-recommends "$@" || status=$?
  [ -z "$own" ] || as_root rm -f "$policy"
  if [ -d /run/systemd/system ]; then
    local service
    for service in orthanc prometheus prometheus-node-exporter glewlwyd; do
      case " $* " in *" $service "*) as_root systemctl disable --now "$service" || true ;; esac
    done
  fi
  return "$status"
}

install_missing() {
  as_root apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 update || warn 'apt-get update failed; trying the lists at hand'
  install_packages "$@"
}

main() {
  local groups=("$@") names lacking
  [ ${#groups[@]} -gt 0 ] || groups=(build test demo check)
  local group
  for group in "${groups[@]}"; do
    case $group in
      build | test | demo | check | page | browser | fuzz | packaging | packages) ;;
      *) die "no group \"$group\"" 'one of: build test demo check page browser fuzz packaging packages' ;;
    esac
  done
  [ "${ISOCENTER_SKIP_SETUP:-}" != 1 ] || return 0
  mapfile -t names < <(wanted "${groups[@]}")
  command -v dpkg-query >/dev/null || die 'this is not a Debian system' \
    "install the counterparts of these yourself, then set ISOCENTER_SKIP_SETUP=1: ${names[*]}"
  mapfile -t lacking < <(missing "${names[@]}")
  [ ${#lacking[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
    die "${#lacking[@]} packages are missing and this user may not install them without a password" \
      "run once: sudo apt-get update && sudo apt-get install --no-install-recommends ${lacking[*]}"
  fi
  say "Installing ${#lacking[@]} Debian packages"
  logged 'apt-get' build/setup.log install_missing "${lacking[@]}" || die 'packages could not be installed' \
    "see build/setup.log; wanted: ${lacking[*]}"
}

main "$@"
