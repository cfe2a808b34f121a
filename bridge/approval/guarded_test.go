package approval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/claude"
)

// "Always Write in this project" does not cover files that are executed or obeyed, however their path is written.
func TestGuardedFilesNeedApprovalEachTime(t *testing.T) {
	t.Parallel()
	dir := deliverytest.Folders(t, "p/.github/workflows", "p/docs", "p/src", "other")
	dir = filepath.Join(dir, "p")
	deliverytest.Link(t, filepath.Join(dir, ".github"), filepath.Join(dir, "notes"))
	deliverytest.Link(t, "CLAUDE.md", filepath.Join(dir, "readme2.md"))
	deliverytest.Link(t, "docs/agents.txt", filepath.Join(dir, "AGENTS.md"))
	for _, name := range []string{"CLAUDE.md", "docs/agents.txt"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	guardedNames := strings.Fields(`
		CLAUDE.md claude.md docs/CLAUDE.md CLAUDE.local.md AGENTS.md agents.override.md GEMINI.md .cursorrules .cursor/rules/a.mdc .windsurfrules
		.github/workflows/ci.yml .GitHub/Workflows/ci.yml .github/copilot-instructions.md .github/dependabot.yml .gitlab-ci.yml .circleci/config.yml
		Jenkinsfile .travis.yml azure-pipelines.yml .git/hooks/pre-commit .gitattributes .gitmodules .gitignore
		package.json web/package.json PACKAGE.JSON package-lock.json .npmrc .yarnrc .yarnrc.yml .yarn/releases/yarn.cjs .pnpmfile.cjs vite.config.ts
		jest.config.js .eslintrc.json Makefile makefile GNUmakefile Makefile.am rules.mk justfile Taskfile.yml Taskfile.dist.yaml Rakefile
		go.mod .cargo/config.toml Cargo.toml build.rs crates/a/build.rs pyproject.toml setup.py setup.cfg conftest.py tests/conftest.py
		sitecustomize.py a.pth tox.ini noxfile.py requirements.txt requirements-dev.txt Gemfile composer.json
		pom.xml .mvn/jvm.config build.gradle build.gradle.kts settings.gradle gradle/wrapper/gradle-wrapper.properties gradlew mvnw
		CMakeLists.txt cmake/x.cmake meson.build BUILD WORKSPACE
		.pre-commit-config.yaml lefthook.yml .lefthook.yml .husky/pre-commit
		Dockerfile Dockerfile.dev app.Dockerfile docker-compose.yml docker-compose.override.yml compose.yaml .devcontainer/devcontainer.json
		.envrc .env .env.local .vscode/tasks.json .idea/workspace.xml .bashrc .bash_profile .bash_aliases .zshrc .zshenv .profile .inputrc .vimrc
		.ssh/config .ssh/authorized_keys units/a.service units/a.timer a.socket systemd/user/x crontab a.cron cron.d/x .mcp.json .claude/settings.json
		flake.nix Vagrantfile main.tf .terraform.hcl a.desktop
		notes/workflows/ci.yml readme2.md AGENTS.md docs/../CLAUDE.md src/../.github/workflows/x.yml ./Makefile`)
	guardedNames = append(guardedNames, "CLA\u200bUDE.md", ".g\u200cit/config", "pac\u212Aage.json", "\u017fetup.py")
	free := strings.Fields(`a.txt README.md docs/notes.md src/main.go src/claude.go agents.go package.go Makefile.md.txt/a builds/a src/build/a.go
		git.txt env.go .editorconfig index.html service.go mycrontab.txt dockerfiles.md/a data.json config.js.txt notes2/a.md`)
	for _, tool := range []string{"Write", "Edit", "NotebookEdit"} {
		field := map[string]string{"NotebookEdit": "notebook_path"}[tool]
		if field == "" {
			field = "file_path"
		}
		inside := db.Permit{Tool: tool, Kind: insideRule}
		try := func(name string, want bool) {
			for _, path := range []string{name, dir + "/" + name} {
				input, err := json.Marshal(map[string]string{field: path})
				must(t, err)
				if got := Covers(inside, tool, input, dir); got != want {
					t.Errorf("%s %s is covered: %v", tool, path, got)
				}
				if got := PermitFor(claude.ToolAsk{Name: tool, Input: input}, dir); (got != nil) != want {
					t.Errorf("%s %s may always be allowed: %+v", tool, path, got)
				}
			}
		}
		for _, name := range guardedNames {
			try(name, false)
		}
		for _, name := range free {
			try(name, true)
		}
	}
	input := json.RawMessage(`{"file_path":"/home/me/.config/systemd/user/x.service"}`)
	if p := PermitFor(claude.ToolAsk{Name: "Write", Input: input}, dir); p != nil {
		t.Errorf("outside of the project: %+v", p)
	}
}

// Each pattern is valid and in lower case: otherwise it would match nothing.
func TestGuardedPatternsCanMatch(t *testing.T) {
	t.Parallel()
	for _, p := range append(append([]string{}, guardedFolders...), guardedFiles...) {
		name := strings.ReplaceAll(p, "*", "x")
		if p != strings.ToLower(p) || !matches([]string{p}, plainName(name)) {
			t.Errorf("%q matches nothing", p)
		}
	}
}

// guardedExamples are files of a project: for each pattern, one that no other pattern guards.
var guardedExamples = strings.Fields(`
	.github/workflows/ci.yml .hg/a .svn/a .jj/a .bzr/a .husky/pre-commit .lefthook/a .circleci/config.yml
	.buildkite/a .teamcity/a .forgejo/a .woodpecker/a .drone/a .claude/settings.json .cursor/rules/a.mdc .windsurf/a
	.codex/a .gemini/a .continue/a .roo/a .clinerules/a .junie/a .kiro/a .amazonq/a .agents/a .aider.conf.yml
	.opencode/a .qwen/a .vscode/tasks.json .idea/a .zed/a .fleet/a .nvim/a .vim/a .emacs.d/lisp/a.el
	.devcontainer/setup.sh .cargo/config.toml .mvn/jvm.config .gradle/a .yarn/releases/yarn.cjs .pnp/a .bundle/a
	.nix-profile/a .direnv/a .mise/a .config/a .ssh/config .gnupg/a .local/bin/x systemd/user/a.conf cron.d/job
	autostart/a init.d/a rc3.d/S01x profile.d/a sudoers.d/a pam.d/a udev/a LaunchAgents/a LaunchDaemons/a
	Tool.app/Contents/MacOS/tool a.xcodeproj/xcshareddata/a.xcscheme a.xcworkspace/contents.xcworkspacedata
	CLAUDE.local.md AGENTS.md GEMINI.md QWEN.md WARP.md SKILL.md copilot-instructions.md .cursorrules .windsurfrules
	.goosehints .rules .mcp.json mcp.json package.json PACKAGE-LOCK.JSON npm-shrinkwrap.json .npmrc .yarnrc.yml
	yarn.lock pnpm-workspace.yaml .pnpmfile.cjs bun.lockb bunfig.toml deno.jsonc deno.lock lerna.json nx.json
	turbo.json tsconfig.build.json jest.config.js babel.config.cjs eslint.config.mjs vite.config.ts a.config.cts
	vitest.config.mts .babelrc.js .eslintrc.json .prettierrc .stylelintrc.yml .mocharc.cjs .swcrc .nycrc.json
	.lintstagedrc.mjs gulpfile.js Gruntfile.js Makefile GNUmakefile rules.mk rules.mak justfile .justfile ci.just
	Taskfile.dist.yaml magefile.go Rakefile lib/tasks/a.rake SConstruct SConscript wscript dodo.py tasks.py
	fabfile.py noxfile.py BUILD WORKSPACE.bzlmod BUILD.bazel defs.bzl .bazelrc BUCK .buckconfig meson.build
	meson_options.txt CMakeLists.txt cmake/x.cmake CMakeUserPresets.json configure configure.ac src/a.am m4/a.m4
	build.ninja build.zig.zon Earthfile Tiltfile go.mod go.sum go.work go.work.sum crates/a/build.rs
	crates/a/Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml setup.py setup.cfg tests/conftest.py
	sitecustomize.py usercustomize.py a.pth tox.ini pytest.ini .coveragerc pip.conf .pypirc requirements-dev.txt
	requirements.in constraints.txt Pipfile.lock poetry.lock uv.lock uv.toml environment.yml .python-version
	manage.py Gemfile.lock a.gemspec .irbrc .pryrc .rspec composer.json composer.lock mix.exs mix.lock rebar.config
	dune-project a.opam a.cabal stack.yaml Setup.hs cabal.project.local Package.swift Podfile fastlane/Fastfile
	project.clj deps.edn pom.xml build.xml ivy.xml build.gradle settings.gradle.kts gradle.properties
	gradle/wrapper/gradle-wrapper.jar gradlew.bat mvnw.cmd project/plugins.sbt build.sc a.sln a.csproj
	Directory.Build.props Directory.Build.targets NuGet.config global.json .pre-commit-config.yaml
	.lefthook-local.yml lefthook.yml .overcommit.yml commitlint.yaml Jenkinsfile .travis.yml .drone.yaml
	.woodpecker.yml azure-pipelines.yml bitbucket-pipelines.yml appveyor.yml .appveyor.yml .cirrus.yml
	cloudbuild.yaml buildspec.yml codemagic.yaml .goreleaser.yaml dependabot.yml renovate.json5 .renovaterc.json
	actions/a/action.yml netlify.toml vercel.json wrangler.toml fly.toml render.yaml app.yaml serverless.yml
	Procfile.dev samconfig.toml skaffold.yaml Chart.yaml main.tf prod.tfvars terragrunt.hcl playbook.yml ansible.cfg
	Vagrantfile Dockerfile.dev app.Dockerfile Containerfile .dockerignore docker-compose.override.yml compose.yaml
	docker-bake.override.json devcontainer.json .devcontainer.json flake.nix flake.lock devbox.json .tool-versions
	.mise.toml mise.local.toml .env.local .hgrc .bash_profile .zshenv .profile .login .logout .cshrc .tcshrc .kshrc
	.mkshrc fish/a.fish .inputrc .pam_environment .xinitrc .vimrc .nvimrc .gvimrc .exrc init.vim init.lua .emacs
	.dir-locals.el .gdbinit .lldbinit .psqlrc .sqliterc .tmux.conf .screenrc .curlrc .wgetrc .netrc .pgpass
	.Rprofile .ghci .pythonrc.py .pystartup a.code-workspace a.desktop a.plist units/a.service units/a.timer
	a.socket a.path a.mount a.automount a.target a.slice a.override crontab.txt a.cron .crontab anacrontab sudoers
	authorized_keys2 known_hosts ld.so.preload ld.so.conf rc.local CODEOWNERS docs/conf.py mkdocs.yml
	babel.config.json webpack.prod.js angular.json project.json nodemon.json .releaserc.json knexfile.ts .pylintrc
	pylintrc .flake8 mypy.ini .mypy.ini .rubocop_todo.yml Guardfile Capfile Brewfile Dangerfile Snakefile
	phpunit.xml.dist phpstan.neon.dist .php-cs-fixer.dist.php .golangci.yml kustomization.yaml main.tf.json cdk.json
	Pulumi.prod.yaml helmfile.yaml .Renviron .terraformrc .forward .procmailrc .mailcap`)

// Each pattern is needed: it guards an example that no other pattern guards.
func TestEachGuardedPatternIsNeeded(t *testing.T) {
	t.Parallel()
	dir := deliverytest.Folders(t, "p")
	inside := db.Permit{Tool: "Write", Kind: insideRule}
	needed := map[string]bool{}
	for _, name := range guardedExamples {
		input, err := json.Marshal(map[string]string{"file_path": filepath.Join(dir, name)})
		must(t, err)
		if Covers(inside, "Write", input, dir) {
			t.Errorf("%s is not asked for each time", name)
		}
		var by []string
		parts := strings.Split(plainName(name), "/")
		for _, p := range guardedFolders {
			if slices.ContainsFunc(parts, func(part string) bool { return matches([]string{p}, part) }) {
				by = append(by, p+"/")
			}
		}
		for _, p := range guardedFiles {
			if matches([]string{p}, parts[len(parts)-1]) {
				by = append(by, p)
			}
		}
		if len(by) != 1 {
			t.Errorf("%s is guarded by %q, want one pattern", name, by)
			continue
		}
		needed[by[0]] = true
	}
	for _, p := range guardedFolders {
		if !needed[p+"/"] {
			t.Errorf("there is no example for the folder %s", p)
		}
	}
	for _, p := range guardedFiles {
		if !needed[p] {
			t.Errorf("there is no example for %s", p)
		}
	}
}
