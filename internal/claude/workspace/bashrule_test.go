package workspace_test

import (
	"encoding/json"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// openCommands are the commands that can do anything, by the words with which a rule for them is refused.
var openCommands = map[string]string{
	"any other command": `
		env sudo doas su runuser pkexec nice ionice chrt taskset time timeout nohup setsid stdbuf xargs parallel watch
		entr exec eval command builtin source . trap coproc script expect unshare nsenter chroot fakeroot flock strace
		ltrace gdb lldb perf valgrind ssh autossh sshpass telnet nc ncat netcat socat screen tmux at batch crontab
		systemd-run systemctl service docker docker-compose podman nerdctl kubectl helm vagrant terraform tofu ansible
		ansible-playbook npx pnpm pnpx yarn bunx corepack uv uvx pipx poetry pdm hatch conda nix nix-shell mise asdf
		direnv ld.so busybox toybox run-parts gh hg svn jj setpriv capsh prlimit numactl setarch unbuffer rlwrap
		firejail bwrap proot xvfb-run dbus-run-session start-stop-daemon hyperfine fzf lftp rsh mosh pm2 nodemon buildah
		ctr crictl oc minikube packer pulumi terragrunt flatpak guix gcloud`,
	"program text": `
		bash sh zsh dash ash ksh csh tcsh fish pwsh powershell python pypy ipython node nodejs
		deno bun tsx ts-node ruby irb perl php lua luajit tclsh wish Rscript R julia octave java javac jshell kotlin
		scala groovy clojure elixir erl iex ghci runghc racket guile sbcl swift osascript awk gawk mawk nawk m4 bc dc
		sqlite3 psql mysql mariadb mongosh redis-cli duckdb ocaml crystal nim dart zig exiftool`,
	"files of the project": `
		make gmake bmake ninja cmake ctest meson bazel buck scons just task rake gradle gradlew mvn mvnw ant sbt pip
		tox nox pytest py.test jest vitest mocha ava karma cypress playwright eslint prettier stylelint webpack
		vite rollup esbuild tsc turbo nx lerna gulp grunt bundle gem composer mix rebar3 stack cabal pod fastlane brew
		apt apt-get dpkg yum dnf rpm pacman apk snap cc gcc g++ c++ clang clang++ ld as rustc ghc pre-commit lefthook
		husky dotnet msbuild flutter xcodebuild dune opam rspec rails phpunit invoke inv fab mypy pylint golangci-lint
		sphinx-build mkdocs ng next nuxt astro babel`,
	"any file": `
		tee ln dd install truncate patch split csplit uniq xxd tree shuf zip unzip 7z 7za cpio ar gzip gunzip bzip2 xz
		zstd openssl gpg base64 iconv yq jo sponge objcopy strip convert magick ffmpeg pandoc groff ssh-keygen age
		pg_dump mysqldump http xh aws`,
	"a pager": `
		less more most man info vi vim nvim view ex ed nano pico emacs emacsclient code`,
}

// Each row of the program's table occurs in a rule of the test below, or it could get lost unnoticed.
func TestEachKnownCommandIsTested(t *testing.T) {
	t.Parallel()
	tested := 0
	for _, names := range openCommands {
		tested += len(strings.Fields(names))
	}
	if n := workspace.OpenCommands(); n != tested {
		t.Errorf("%d commands can do anything, and %d are tested", n, tested)
	}
}

// A rule that looks harmless but allows everything ends the program at startup.
func TestAttackBroadRules(t *testing.T) {
	t.Parallel()
	c := claudetest.ScriptedConfig(t)
	refused := map[string]string{ // and the words of the error
		"Bash(git log *)": "--output=FILE", "Bash(git log:*)": "--output=FILE", "Bash(git log --oneline *)": "git log",
		"Bash(git diff *)": "--output=FILE", "Bash(git show:*)": "git", "Bash(git grep *)": "git grep -O",
		"Bash(git *)": "git -c",
		"Bash(git:*)": "git", "Bash(git status*)": "git", "Bash(git -C /x status *)": "git",
		"Bash(git --no-pager *)": "git",
		"Bash(git fetch *)":      "git", "Bash(git config:*)": "git",
		"Bash(find *)": "-exec", "Bash(/usr/bin/find *)": "-exec", "Bash('find' *)": "-exec", `Bash(\find *)`: "-exec",
		"Bash(find . -name *)": "-exec", "Bash(LC_ALL=C find *)": "-exec", "Bash( find *)": "-exec",
		"Bash(find  *)": "-exec",
		"Bash(sed *)":   "-i", "Bash(sed -n:*)": "-i", "Bash(awk *)": "program text", "Bash(tar *)": "--to-command",
		"Bash(ssh host *)": "any other command", "Bash(xargs *)": "any other command",
		"Bash(env *)":  "any other command",
		"Bash(sort *)": "-o", "Bash(tee:*)": "any file", "Bash(curl *)": "-o", "Bash(wget *)": "-O",
		"Bash(make *)":      "files of the project",
		"Bash(make test *)": "files of the project", "Bash(npx *)": "any other command", "Bash(npm run *)": "npm",
		"Bash(npm test *)": "--script-shell", "Bash(node -e *)": "program text", "Bash(python3 *)": "program text",
		"Bash(python *)": "program text", "Bash(perl:*)": "program text", "Bash(bash *)": "program text",
		"Bash(sh -c *)": "program text",
		"Bash(sudo *)":  "any other command", "Bash(nice *)": "any other command", "Bash(time *)": "any other command",
		"Bash(timeout 5 *)": "any other command", "Bash(watch *)": "any other command", "Bash(less *)": "a pager",
		"Bash(man *)": "a pager",
		"Bash(vi *)":  "an editor", "Bash(go *)": "-exec", "Bash(go test *)": "-exec", "Bash(go build:*)": "-toolexec",
		"Bash(go vet *)": "-vettool", "Bash(cargo *)": "--config", "Bash(cargo build *)": "--config",
		"Bash(cargo test *)": "--config", "Bash(docker *)": "any other command",
		"Bash(fd *)": "-x", "Bash(ag *)": "--pager", "Bash(ack *)": "--pager", "Bash(bat *)": "--pager",
		"Bash(ugrep *)": "--filter", "Bash(rsync *)": "-e", "Bash(scp *)": "-S", "Bash(sftp *)": "-S",
		"Bash(aria2c *)": "-o", "Bash(date *)": "-s", "Bash(tcpdump *)": "-z", "Bash(gfind *)": "-exec",
		"Bash(gsed *)": "-i", "Bash(gtar *)": "--to-command", "Bash(bsdtar *)": "--use-compress-program",
		"Bash(python3.12 -c *)": "program text", "Bash(/usr/bin/perl5.36.0:*)": "program text",
		"Bash(python2 *)": "program text", "Bash(pypy3 *)": "program text", "Bash(pip3 *)": "files of the project",
		"Bash(gcc-13 *)": "files of the project", "Bash(clang++-18 *)": "files of the project",
		"Bash(rg *)": "--pre",
		"Bash(dd *)": "any file", "Bash(pytest *)": "files of the project",
		"Bash(* --version)": "command's name", "Bash(g*)": "command's name", "Bash(*log)": "command's name",
		"Bash(A=1 *)": "command's name", `Bash('git' log *)`: "--output", `Bash(A='b c' git log *)`: "command's name",
		"Bash($'git' log *)": "command's name", "Bash($GIT log *)": "command's name", "Bash(cat a; git log *)": "command's name",
		"Bash(cat a | sh *)": "command's name", "Bash(echo a > *)": "command's name", "Bash(ls;*)": "command's name",
		`Bash('my tools/git' log *)`: "command's name",
	}
	for want, names := range openCommands {
		for name := range strings.FieldsSeq(names) {
			refused["Bash("+name+" *)"] = want
		}
	}
	for rule, want := range refused {
		for where, c := range map[string]workspace.Config{
			"[claude] allowed_tools": allowing(c, rule), "permissions.allow": settled(t, c, "allow", rule),
		} {
			err := c.Validate()
			if err == nil || !strings.Contains(err.Error(), where) ||
				!strings.Contains(err.Error(), rule) && !strings.Contains(rule, `\`) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v, want %q", where, rule, err, want)
			}
		}
		if err := settled(t, c, "deny", rule).Validate(); err != nil {
			t.Errorf("denied: %s: %v", rule, err)
		}
	}
	for _, rule := range []string{
		// rules that openly say what they allow
		"Bash", "Bash(*)", "Bash(:*)", "Read", "Read(./**)", "Edit(src/*)", "WebFetch(domain:*)", "mcp__a__*",
		"Bash(git log)", "Bash(git log --oneline -5)", "Bash(go vet ./...)", "Bash(make test)", "Bash(find . -name x)",
		`Bash(find . -name \*.go)`,
		"Bash(git status *)", "Bash(git status:*)", "Bash(git add *)", "Bash(git commit -m *)", "Bash(git ls-files *)",
		"Bash(git rev-parse *)", "Bash(git rm *)", "Bash(git mv *)", "Bash(git switch *)", "Bash(git restore *)",
		"Bash(md5sum *)", "Bash(sha256 *)", "Bash(... *)",
		"Bash(touch *)", "Bash(mkdir -p *)", "Bash(rm *)", "Bash(cp *)", "Bash(echo *)", "Bash(sleep *)",
		"Bash(./scripts/lint *)", "Bash(mytool:*)",
	} {
		for _, c := range []workspace.Config{allowing(c, rule), settled(t, c, "allow", rule)} {
			if err := c.Validate(); err != nil {
				t.Errorf("%s: %v", rule, err)
			}
		}
	}
	// The CLI accepts several rules in one string.
	for _, text := range []string{
		"Read,Bash(git log *)", "Read Bash(git log *)", "Bash(touch *) Bash(git log *),Read",
	} {
		if err := allowing(c, text).Validate(); err == nil || !strings.Contains(err.Error(), `"Bash(git log *)"`) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func allowing(c workspace.Config, rules ...string) workspace.Config {
	c.AllowedTools = rules
	return c
}

// settled is a configuration with rules in the CLI's settings.
func settled(t *testing.T, c workspace.Config, kind string, rules ...string) workspace.Config {
	t.Helper()
	data, err := json.Marshal(map[string]any{"permissions": map[string]any{kind: rules}})
	must(t, err)
	c.Settings = string(data)
	return c
}

// families are the commands that may be allowed by their first words, and the options that may follow.
var families = map[string]string{
	"git status": "-s --short -b --branch --porcelain -v --ignored",
	"git diff": "-- --stat --numstat --shortstat --cached --staged --name-only --name-status --check -b -w --word-diff " +
		"--no-color",
	"git add":    "-- -A --all -u --update -v -n --dry-run",
	"git commit": "-- -m --message -a --all -am --amend --no-edit --allow-empty -q -v -s --signoff",
	"go build":   "-v -race -tags -trimpath -p",
	"go vet":     "-v -tags",
	"go test": "-v -race -tags -run -skip -count -short -timeout -bench -benchmem -cover -cpu -failfast -json -list " +
		"-parallel -shuffle -p",
	"npm test": "-s --silent",
	"cargo build": "-r --release -p --package --workspace --all --lib --bin --bins --features --all-features " +
		"--no-default-features -v -q --locked --offline",
	"cargo test": "-r --release -p --package --workspace --all --lib --bin --bins --test --tests --doc --features " +
		"--all-features --no-default-features --no-run -v -q --locked --offline",
}

// A rule that "always allow" creates must not allow more than the command: no option of a family is one for which a
// rule is refused.
func TestFamiliesAreOfKnownCommands(t *testing.T) {
	t.Parallel()
	c := claudetest.ScriptedConfig(t)
	for prefix, want := range families {
		options, known := workspace.BashFamily(prefix)
		if got := strings.Join(options, " "); !known || got != want {
			t.Errorf("%s may have the options %s, want %s", prefix, got, want)
		}
		err := allowing(c, "Bash("+prefix+" *)").Validate()
		for _, o := range options {
			if err != nil && strings.HasPrefix(o, "-") && len(o) > 2 && strings.Contains(err.Error(), o+" ") {
				t.Errorf("%s %s is allowed by its first words, and: %v", prefix, o, err)
			}
		}
	}
	for _, prefix := range []string{
		"", "git", "git log", "git push", "go", "npm", "npm run", "find", "rm", "python3", "git ls-files",
	} {
		if options, known := workspace.BashFamily(prefix); known {
			t.Errorf("%q is a family with %q", prefix, options)
		}
	}
}
