#!/usr/bin/env bash
# Checks, tests and bundles the operator page: web/dist, which isocenterd of this tree serves and ./dev package packs.
# Packages come from the npm registry as web/package-lock.json has them, once; their install scripts are not run.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

command -v npm >/dev/null || tools/dev/setup.sh page
command -v npm >/dev/null || die 'the operator page is built with npm, which is not on this machine' \
  'install node 18 or newer with npm, or copy web/dist from a machine that has built it'

npm_packages web build/page.install.log ||
  die 'the packages of the operator page could not be installed' 'npm needs its registry once; see build/page.install.log'

logged 'Checking the page' build/page.check.log npm run --prefix web check || die 'the operator page does not pass its type check'
logged 'Testing the page' build/page.test.log npm test --prefix web || die 'tests of the operator page failed'
logged 'Building the page' build/page.build.log npm run --prefix web build || die 'the operator page could not be bundled'
# The page's links lead there; ./dev package makes them anew for the package.
if /usr/bin/python3 -c 'import markdown' 2>/dev/null; then
  tools/dev/docs_html.py web/dist/docs
else
  warn 'web/dist has no documentation: install python3-markdown (./dev setup packaging)'
fi
say "web/dist: $(grep -E '\.(js|css): ' build/page.build.log | paste -sd, | sed 's/,/, /g')"
