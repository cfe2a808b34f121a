# Shared by scripts/run and scripts/test: what both need on the machine. Sourced, not run.
# Everything is pinned: Go modules by go.sum, the CLI by package-lock.json in scripts/cli and scripts/cli/oldest.

# With this tag and a C compiler SQLite is compiled from C, which is faster than its translation to Go.
# Without paths in it, what was compiled in one checkout serves another, and a program does not tell where it was built.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-tags=sqlite_fts5 -trimpath"

# Tests of cmd/magpie that measure much work of the whole program, by time or memory. scripts/bench runs them, and
# scripts/test does not.
measured='TestALargeImportIsFast|TestManyChatsAtOnce|TestManyKnownChatsTakeLittle'

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
# in_words CHINESE ENGLISH: prints the one that the locale asks for, as the program does.
in_words() {
  case ${LC_ALL:-${LC_MESSAGES:-${LANG:-}}} in
    zh*) printf '%s' "$1" ;;
    *) printf '%s' "$2" ;;
  esac
}
have() { command -v "$1" >/dev/null 2>&1; }

# debian PACKAGE...: installs Debian packages where that is possible.
debian() {
  have apt-get || return 1
  local sudo=""
  if [ "$(id -u)" != 0 ]; then
    have sudo || return 1
    sudo="sudo"
  fi
  say "$(in_words "正在安装 $*" "installing $*")"
  $sudo apt-get update -qq >/dev/null &&
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# need COMMAND PACKAGE HINT: makes sure that a command exists.
need() {
  have "$1" || debian "$2" || true
  have "$1" || die "$(in_words "缺少 $1：" "missing: $1 - ")$3"
}

need_go() {
  have go || die "$(in_words "缺少 go：请安装 Go 1.26 或更新版本：" "missing: go - install Go 1.26 or newer: ")https://go.dev/doc/install"
  need git git "$(in_words "请安装 git" "install git")"
}

# need_c: makes sure that there is a C compiler, which the race detector and the packages need.
need_c() { need gcc gcc "install a C compiler: apt install gcc / dnf install gcc / xcode-select --install"; }

# need_postgres: makes sure that PostgreSQL can be started. Debian's package would start a server, too, unless it is told
# so before. The tests find its programs where Debian keeps them.
need_postgres() {
  have postgres || [ -n "$(compgen -G '/usr/lib/postgresql/*/bin/postgres')" ] && return
  local folder=/etc/postgresql-common/createcluster.d told=""
  if [ "$(id -u)" = 0 ] && mkdir -p "$folder" && echo 'create_main_cluster = false' >"$folder/magpie.conf"; then
    told=1
  fi
  debian postgresql || true
  [ -z "$told" ] || rm "$folder/magpie.conf"
  [ -n "$(compgen -G '/usr/lib/postgresql/*/bin/postgres')" ] ||
    die "missing: postgres - install PostgreSQL 15 or newer: apt install postgresql"
}

# need_chromium: makes sure that there is a browser, and a font with Chinese characters. The one without a window takes a
# fifth less of the processor.
need_chromium() {
  have chromium-headless-shell || debian chromium-headless-shell fonts-noto-cjk fonts-noto-color-emoji ||
    have chromium || have chromium-browser || have google-chrome ||
    die "missing: chromium-headless-shell or chromium - the tests of the playground's page drive it"
}

# need_cli: installs the pinned Claude Code CLI below scripts/cli and sets CLAUDE_CLI to its executable.
need_cli() { CLAUDE_CLI=$(install_cli scripts/cli); }

# need_oldest_cli: the same with the oldest version that is supported, and OLDEST_CLAUDE_CLI.
need_oldest_cli() { OLDEST_CLAUDE_CLI=$(install_cli scripts/cli/oldest); }

# megabytes FOLDER: prints its size, which is 0 if it does not exist.
megabytes() { { du -sm "$1" 2>/dev/null || true; } | awk '{ n = $1 } END { print n + 0 }'; }

# show_size FOLDER MB: shows every 3 seconds how much of about MB is in a folder, how fast it grows and how long the rest
# takes, until it is killed or the script ends.
show_size() {
  local before now rate
  before=$(megabytes "$1")
  while sleep 3 && kill -0 $$ 2>/dev/null; do
    now=$(megabytes "$1")
    rate=$(((now - before) / 3))
    before=$now
    # shellcheck disable=SC2059 # these formats are no data
    printf "\r\033[K$(in_words "%s MB，共约 %s MB" "%s of about %s MB")" "$now" "$2" >&2
    if [ "$rate" -gt 0 ] && [ "$now" -lt "$2" ]; then
      # shellcheck disable=SC2059
      printf "$(in_words "，%s MB/s，还要 %s 秒" ", %s MB/s, %s s left")" "$rate" "$((($2 - now + rate - 1) / rate))" >&2
    fi
  done
}

# What helps where a download fails, as behind many companies' and countries' networks.
npm_mirror=$(in_words "下载失败时，先换一个 npm 镜像（公司或云服务商提供的地址）：npm config set registry 镜像地址" \
  "If a download failed, choose a mirror of npm, such as your company's or your cloud provider's: npm config set registry ADDRESS")
go_mirror=$(in_words "下载失败时，先换一个 Go 模块镜像（公司或云服务商提供的地址）：go env -w GOPROXY=镜像地址,direct" \
  "If a download failed, choose a mirror of Go modules, such as your company's or your cloud provider's: go env -w GOPROXY=ADDRESS,direct")

# install_cli FOLDER: installs the CLI that the lock file in FOLDER pins, and prints its executable.
install_cli() {
  need npm npm "$(in_words "请安装 Node.js 20 或更新版本（带 npm）：" "install Node.js 20 or newer with npm: ")https://nodejs.org"
  local system machine failed=""
  system=$(uname -s | tr '[:upper:]' '[:lower:]')
  case $(uname -m) in
    x86_64 | amd64) machine=x64 ;;
    arm64 | aarch64) machine=arm64 ;;
    *) die "$(in_words "Claude Code 没有 $(uname -m) 的版本" "there is no Claude Code CLI for $(uname -m)")" ;;
  esac
  local cli="$root/$1/node_modules/@anthropic-ai/claude-code-$system-$machine/claude"
  local want
  want=$(sed -n 's/.*"@anthropic-ai\/claude-code": "\(.*\)".*/\1/p' "$root/$1/package.json")
  if [ ! -x "$cli" ] || ! "$cli" --version 2>/dev/null | grep -q "^$want "; then
    say "$(in_words "正在从 npm 安装 Claude Code $want：约占 400 MB 磁盘，需要几分钟" \
      "installing the Claude Code CLI $want from npm: up to 400 MB on disk, which takes a few minutes")"
    local watcher=""
    if [ -t 2 ]; then
      show_size "$root/$1/node_modules" 400 >/dev/null & # not the caller's pipe: a last sleep would keep it open
      watcher=$!
    fi
    (cd "$root/$1" && npm ci --silent --ignore-scripts >&2) || failed=1
    if [ -n "$watcher" ]; then
      kill "$watcher" 2>/dev/null || true
      wait "$watcher" 2>/dev/null || true
      printf '\r\033[K' >&2
    fi
    [ -z "$failed" ] || die "$(in_words "$1 里的 npm ci 失败了。$npm_mirror" "npm ci in $1 failed. $npm_mirror")"
  fi
  [ -x "$cli" ] || die "$(in_words "npm 没有装上 $cli" "npm did not install $cli")"
  printf '%s\n' "$cli"
}

# need_axe: installs the pinned axe-core below scripts/axe.
need_axe() { need_package axe axe-core; }

# need_openai: installs OpenAI's pinned client below scripts/openai.
need_openai() { need_package openai openai; }

# need_pm2: installs the pinned pm2 below scripts/pm2.
need_pm2() { need_package pm2 pm2; }

# need_package FOLDER PACKAGE: installs the package of npm that scripts/FOLDER pins.
need_package() {
  need npm npm "install Node.js 20 or newer with npm: https://nodejs.org"
  local want
  want=$(sed -n "s|.*\"$2\": \"\(.*\)\".*|\1|p" "$root/scripts/$1/package.json")
  if ! grep -qs "\"version\": \"$want\"" "$root/scripts/$1/node_modules/$2/package.json"; then
    say "installing $2 $want from npm"
    (cd "$root/scripts/$1" && npm ci --silent --ignore-scripts) || die "npm ci in scripts/$1 failed"
  fi
}
