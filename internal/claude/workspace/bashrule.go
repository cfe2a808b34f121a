package workspace

import (
	"errors"
	"path"
	"slices"
	"strings"

	"magpie/internal/i18n"
	"magpie/internal/shell"
)

// bashCommand describes a command of the Bash tool, by its first words.
type bashCommand struct {
	// options are those that may follow if a chat allows the command by its prefix. Other options could write files
	// elsewhere or run other programs. Without any, only the exact command can be allowed.
	options []string
	// can says what arguments can make the command do, for an operator who allows any by a rule such as "Bash(git log
	// *)"; nil = the command does only what its name says.
	can error
}

// What commands can do besides what their names say.
var (
	runsOthers  = i18n.Mistakef("它会运行任何别的命令", "it runs any other command")
	runsCode    = i18n.Mistakef("它会运行交给它的任何程序代码", "it runs any program text that it is given")
	runsScripts = i18n.Mistakef("它会运行项目文件或参数里写的内容",
		"it runs what files of the project, or options, say")
	writesFiles = i18n.Mistakef("它能写任何文件，例如 shell 的启动文件",
		"it writes any file, such as your shell's start-up files")
	opensOthers = i18n.Mistakef("它会打开编辑器或分页器，从那里能运行任何别的命令",
		"it opens an editor or a pager, which runs any other command")
)

// bashCommands are the commands about which more is known; the longest match wins. A command that is not listed does
// what its name says.
var bashCommands = func() map[string]bashCommand {
	all := map[string]bashCommand{
		"git": {can: i18n.Mistakef("它的大多数子命令都有参数能写任何文件或运行别的程序，例如 git log --output=文件、git grep -O、git -c",
			"most of its commands write any file or run other programs with some option, as in git log --output=FILE, "+
				"git grep -O, git -c")},
		"git status": {options: []string{"-s", "--short", "-b", "--branch", "--porcelain", "-v", "--ignored"}},
		"git diff": {
			options: []string{"--", "--stat", "--numstat", "--shortstat", "--cached", "--staged", "--name-only",
				"--name-status", "--check", "-b", "-w", "--word-diff", "--no-color"},
			can: i18n.Mistakef("--output=文件 能写任何文件", "--output=FILE writes any file"),
		},
		"git add": {options: []string{"--", "-A", "--all", "-u", "--update", "-v", "-n", "--dry-run"}},
		"git commit": {options: []string{"--", "-m", "--message", "-a", "--all", "-am", "--amend", "--no-edit",
			"--allow-empty", "-q", "-v", "-s", "--signoff"}},
		"git ls-files": {}, "git rev-parse": {}, "git rm": {}, "git mv": {}, "git switch": {}, "git restore": {},
		"go": {can: i18n.Mistakef("-exec、-toolexec、-vettool 会运行别的程序，-o 能写任何文件，go run 会运行任何包",
			"-exec, -toolexec and -vettool run other programs, -o writes any file, and go run runs any package")},
		"go build": {
			options: []string{"-v", "-race", "-tags", "-trimpath", "-p"},
			can: i18n.Mistakef("-toolexec 会运行别的程序，-o 能写任何文件",
				"-toolexec runs other programs, and -o writes any file"),
		},
		"go vet": {
			options: []string{"-v", "-tags"},
			can:     i18n.Mistakef("-vettool 和 -toolexec 会运行别的程序", "-vettool and -toolexec run other programs"),
		},
		"go test": {
			options: []string{"-v", "-race", "-tags", "-run", "-skip", "-count", "-short", "-timeout", "-bench",
				"-benchmem", "-cover", "-cpu", "-failfast", "-json", "-list", "-parallel", "-shuffle", "-p"},
			can: i18n.Mistakef("-exec 和 -toolexec 会运行别的程序，-o 能写任何文件",
				"-exec and -toolexec run other programs, and -o writes any file"),
		},
		"npm": {can: runsOthers},
		"npm test": {options: []string{"-s",
			"--silent"}, can: i18n.Mistakef("--script-shell 会运行别的程序", "--script-shell runs other programs")},
		"cargo": {can: i18n.Mistakef("--config 能让它运行别的程序",
			"--config makes it run other programs")},
		"cargo build": {
			options: []string{"-r", "--release", "-p", "--package", "--workspace", "--all", "--lib", "--bin", "--bins",
				"--features", "--all-features", "--no-default-features", "-v", "-q", "--locked", "--offline"},
			can: i18n.Mistakef("--config 能让它运行别的程序", "--config makes it run other programs"),
		},
		"cargo test": {
			options: []string{"-r", "--release", "-p", "--package", "--workspace", "--all", "--lib", "--bin", "--bins",
				"--test", "--tests", "--doc", "--features", "--all-features", "--no-default-features", "--no-run", "-v",
				"-q", "--locked", "--offline"},
			can: i18n.Mistakef("--config 能让它运行别的程序", "--config makes it run other programs"),
		},
		"find": {can: i18n.Mistakef("-exec 会运行别的命令，-delete 和 -fprint 会改动文件",
			"-exec runs other commands, and -delete and -fprint change files")},
		"fd":    {can: i18n.Mistakef("-x 会运行别的命令", "-x runs other commands")},
		"rg":    {can: i18n.Mistakef("--pre 会运行别的命令", "--pre runs other commands")},
		"ag":    {can: i18n.Mistakef("--pager 会运行别的命令", "--pager runs other commands")},
		"ack":   {can: i18n.Mistakef("--pager 会运行别的命令", "--pager runs other commands")},
		"ugrep": {can: i18n.Mistakef("--filter 会运行别的命令", "--filter runs other commands")},
		"bat":   {can: i18n.Mistakef("--pager 会运行别的命令", "--pager runs other commands")},
		"sed": {can: i18n.Mistakef("它的 e 和 w 命令会运行别的命令、写任何文件，-i 会改动文件",
			"its commands e and w run other commands and write any file, and -i changes files")},
		"tar": {can: i18n.Mistakef("--to-command 和 --checkpoint-action 会运行别的命令，它还能写任何文件",
			"--to-command and --checkpoint-action run other commands, and it writes any file")},
		"bsdtar": {can: i18n.Mistakef("--use-compress-program 会运行别的命令，它还能写任何文件",
			"--use-compress-program runs other commands, and it writes any file")},
		"tcpdump": {can: i18n.Mistakef("-z 会运行别的命令，-w 能写任何文件",
			"-z runs other commands, and -w writes any file")},
		"rsync": {can: i18n.Mistakef("-e 会运行别的命令，它还能写任何文件",
			"-e runs other commands, and it writes any file")},
		"scp": {can: i18n.Mistakef("-S 会运行别的命令，它还能写任何文件",
			"-S runs other commands, and it writes any file")},
		"sort": {can: i18n.Mistakef("-o 能写任何文件，--compress-program 会运行别的命令",
			"-o writes any file, and --compress-program runs other commands")},
		"curl":   {can: i18n.Mistakef("-o 能写任何文件", "-o writes any file")},
		"wget":   {can: i18n.Mistakef("-O 能写任何文件", "-O writes any file")},
		"aria2c": {can: i18n.Mistakef("-o 能写任何文件", "-o writes any file")},
		"date":   {can: i18n.Mistakef("-s 会改系统时间", "-s sets the clock")},
	}
	for alias, name := range map[string]string{"gfind": "find", "gsed": "sed", "gtar": "tar", "sftp": "scp"} {
		all[alias] = all[name]
	}
	for can, names := range openCommands {
		for name := range strings.FieldsSeq(names) {
			all[name] = bashCommand{can: can}
		}
	}
	return all
}()

// openCommands are commands that can do anything, with an explanation.
var openCommands = map[error]string{
	runsOthers: "env sudo doas su runuser pkexec nice ionice chrt taskset time timeout nohup setsid stdbuf xargs " +
		"parallel watch entr exec eval command builtin source . trap coproc script expect unshare nsenter " +
		"chroot fakeroot flock strace ltrace gdb lldb perf valgrind ssh autossh sshpass telnet nc ncat " +
		"netcat socat screen tmux at batch crontab systemd-run systemctl service docker docker-compose " +
		"podman nerdctl kubectl helm vagrant terraform tofu ansible ansible-playbook npx pnpm pnpx yarn " +
		"bunx corepack uv uvx pipx poetry pdm hatch conda nix nix-shell mise asdf direnv ld.so busybox " +
		"toybox run-parts gh hg svn jj setpriv capsh prlimit numactl setarch unbuffer rlwrap firejail bwrap " +
		"proot xvfb-run dbus-run-session start-stop-daemon hyperfine fzf lftp rsh mosh pm2 nodemon buildah ctr " +
		"crictl oc minikube packer pulumi terragrunt flatpak guix gcloud",
	runsCode: "bash sh zsh dash ash ksh csh tcsh fish pwsh powershell python pypy ipython " +
		"node nodejs deno bun tsx ts-node ruby irb perl php lua luajit tclsh wish Rscript R julia octave " +
		"java javac jshell kotlin scala groovy clojure elixir erl iex ghci runghc racket guile sbcl swift " +
		"osascript awk gawk mawk nawk m4 bc dc sqlite3 psql mysql mariadb mongosh redis-cli duckdb ocaml " +
		"crystal nim dart zig exiftool",
	runsScripts: "make gmake bmake ninja cmake ctest meson bazel buck scons just task rake gradle gradlew mvn mvnw " +
		"ant sbt pip tox nox pytest py.test jest vitest mocha ava karma cypress playwright eslint " +
		"prettier stylelint webpack vite rollup esbuild tsc turbo nx lerna gulp grunt bundle gem composer " +
		"mix rebar3 stack cabal pod fastlane brew apt apt-get dpkg yum dnf rpm pacman apk snap cc gcc g++ " +
		"c++ clang clang++ ld as rustc ghc pre-commit lefthook husky dotnet msbuild flutter xcodebuild dune opam " +
		"rspec rails phpunit invoke inv fab mypy pylint golangci-lint sphinx-build mkdocs ng next nuxt astro babel",
	writesFiles: "tee ln dd install truncate patch split csplit uniq xxd tree shuf zip unzip 7z 7za cpio ar gzip " +
		"gunzip bzip2 xz zstd openssl gpg base64 iconv yq jo sponge objcopy strip convert magick ffmpeg " +
		"pandoc groff ssh-keygen age pg_dump mysqldump http xh aws",
	opensOthers: "less more most man info vi vim nvim view ex ed " +
		"nano pico emacs emacsclient code",
}

// BashFamily returns the options that may follow a command that a chat allows by its prefix.
func BashFamily(prefix string) (options []string, known bool) {
	options = bashCommands[prefix].options
	return options, len(options) > 0
}

// checkBashRule rejects allow rules that look harmless and allow everything. The rule "Bash" is explicit about what it
// allows, and so is a rule without a wildcard.
func checkBashRule(rule string) error {
	content, ok := bashContent(rule)
	if !ok {
		return nil
	}
	prefix, open := beforeWildcard(content)
	if !open || strings.TrimSpace(content) == "*" || strings.TrimSpace(content) == ":*" {
		return nil
	}
	words := slices.DeleteFunc(shell.WordsBefore(prefix), isAssignment)
	if len(words) == 0 {
		return i18n.Mistakef(`%q：命令名里的通配符也会允许别的命令；请写完整的命令，要全部允许就写 "Bash"`,
			`%q: a wildcard in the command's name allows other commands, too; name the whole command, or write "Bash" to allow all`,
			rule)
	}
	name, can := dangerousCommand(words)
	if can == nil {
		return nil
	}
	return i18n.Mistakef(
		`%q 允许的比看起来多：%s 换些参数就能做别的事：%s。请写实际运行的命令，不带通配符，例如 "Bash(go vet ./...)"；`+
			`或者不写：聊天里会问人，可以在那里允许。"Bash" 允许所有命令`,
		`%q allows more than it seems to: %s with other words: %s. Allow the command as it is run, without a wildcard, `+
			`as in "Bash(go vet ./...)"; or leave it out: people are asked in the chat then, and can allow it there. `+
			`"Bash" allows every command`, rule, name, can)
}

// bashContent is the part of a Bash rule in brackets; false = a rule for another tool, or without brackets.
func bashContent(rule string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(rule), "Bash(")
	return strings.TrimSuffix(rest, ")"), ok
}

// beforeWildcard is the text of a rule before its wildcard, and whether it has one.
func beforeWildcard(content string) (prefix string, open bool) {
	if prefix, ok := strings.CutSuffix(strings.TrimSpace(content), ":*"); ok { // the older form of " *"
		return prefix + " ", true
	}
	for i := range len(content) {
		if content[i] == '*' && (i == 0 || content[i-1] != '\\') {
			return content[:i], true
		}
	}
	return content, false
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/.")
}

// dangerousCommand finds the command that begins with these words, and what arguments can make it do; nil = nothing
// else.
func dangerousCommand(words []string) (name string, can error) {
	first := path.Base(words[0])
	for n := len(words); n > 0; n-- {
		name = strings.Join(append([]string{first}, words[1:n]...), " ")
		if c, ok := bashCommands[name]; ok {
			return name, c.can
		}
	}
	if c, ok := bashCommands[withoutVersion(first)]; ok {
		return first, c.can
	}
	return "", nil
}

// withoutVersion is the name of a command of which several versions may be installed, such as python3.12 or gcc-13.
func withoutVersion(name string) string {
	return strings.TrimRight(strings.TrimRight(name, "0123456789."), "-")
}

// checkAllowed reports the rules of a list that are rejected.
func checkAllowed(where string, rules []string) error {
	var errs []error
	for _, entry := range rules {
		for _, rule := range splitRules(entry) {
			if err := checkBashRule(rule); err != nil {
				errs = append(errs, i18n.Mistakef("%s：%v", "%s %v", where, err))
			}
		}
	}
	return errors.Join(errs...)
}

// splitRules splits an argument of the CLI into rules, which are separated by commas or spaces.
func splitRules(entry string) (rules []string) {
	depth, start := 0, 0
	end := func(i int) {
		if rule := strings.TrimSpace(entry[start:i]); rule != "" {
			rules = append(rules, rule)
		}
		start = i + 1
	}
	// Separators inside parentheses belong to a rule such as Bash(git log, *).
	for i := range len(entry) {
		switch entry[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',', ' ':
			if depth <= 0 {
				end(i)
			}
		}
	}
	end(len(entry))
	return rules
}
