package approval

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"magpie/internal/text"
)

// guardedFolders and guardedFiles are lower-case patterns of files that steer people, their tools, the machine or the
// agent itself. Changes to them are asked about each time.
var (
	guardedFolders = strings.Fields(`
		.git* .hg .svn .jj .bzr .husky .lefthook .circleci .buildkite .teamcity .forgejo .woodpecker .drone
		.claude .cursor .windsurf .codex .gemini .continue .roo .clinerules .junie .kiro .amazonq .agents .aider*
		.opencode .qwen .vscode .idea .zed .fleet .nvim .vim .emacs.d .devcontainer .cargo .mvn .gradle .yarn .pnp
		.bundle .nix-profile .direnv .mise .config .ssh .gnupg .local systemd cron.* autostart init.d rc*.d
		profile.d sudoers.d pam.d udev launchagents launchdaemons *.app *.xcodeproj *.xcworkspace`)
	guardedFiles = strings.Fields(`
		claude*.md agents*.md gemini*.md qwen*.md warp.md skill.md copilot-instructions.md .cursorrules
		.windsurfrules .goosehints .rules .mcp.json mcp.json package.json package-lock.json npm-shrinkwrap.json
		.npmrc .yarnrc* yarn.lock pnpm-*.yaml .pnpmfile.* bun.lock* bunfig.toml deno.json* deno.lock lerna.json
		nx.json turbo.json tsconfig*.json *.config.js *.config.cjs *.config.mjs *.config.ts *.config.cts
		*.config.mts .babelrc* .eslintrc* .prettierrc* .stylelintrc* .mocharc* .swcrc .nycrc* .lintstagedrc*
		gulpfile* gruntfile* makefile* gnumakefile* *.mk *.mak justfile .justfile *.just taskfile* magefile*
		rakefile* *.rake sconstruct sconscript wscript dodo.py tasks.py fabfile.py noxfile.py build workspace*
		*.bazel *.bzl .bazelrc buck .buckconfig meson.build meson_options.txt cmakelists.txt *.cmake
		cmake*presets.json configure configure.ac *.am *.m4 build.ninja build.zig* earthfile tiltfile go.mod
		go.sum go.work go.work.sum build.rs cargo.toml cargo.lock rust-toolchain* pyproject.toml setup.py
		setup.cfg conftest.py sitecustomize.py usercustomize.py *.pth tox.ini pytest.ini .coveragerc pip.conf
		.pypirc requirements*.txt requirements*.in constraints*.txt pipfile* poetry.lock uv.lock uv.toml
		environment.y*ml .python-version manage.py gemfile* *.gemspec .irbrc .pryrc .rspec composer.json
		composer.lock mix.exs mix.lock rebar.config dune-project *.opam *.cabal stack.yaml setup.hs cabal.project*
		package.swift podfile* fastfile project.clj deps.edn pom.xml build.xml ivy.xml *.gradle *.gradle.kts
		gradle.properties gradle-wrapper.* gradlew* mvnw* *.sbt build.sc *.sln *.*proj *.props *.targets
		nuget.config global.json .pre-commit* .lefthook* lefthook* .overcommit.yml commitlint* jenkinsfile*
		.travis.y*ml .drone.y*ml .woodpecker* azure-pipelines* bitbucket-pipelines* appveyor* .appveyor* .cirrus*
		cloudbuild.* buildspec* codemagic* .goreleaser* dependabot* renovate* .renovaterc* action.y*ml
		netlify.toml vercel.json wrangler.* fly.toml render.yaml app.yaml serverless* procfile* samconfig*
		skaffold* chart.yaml *.tf *.tfvars *.hcl playbook* ansible.cfg vagrantfile* dockerfile* *.dockerfile
		containerfile* .dockerignore docker-compose* compose*.y*ml docker-bake* devcontainer.json
		.devcontainer.json *.nix flake.lock devbox.json .tool-versions .mise.toml mise*.toml .env* .hgrc .bash*
		.zsh* .profile .login .logout .cshrc .tcshrc .kshrc .mkshrc *.fish .inputrc .pam_environment .x* .vimrc
		.nvimrc .gvimrc .exrc init.vim init.lua .emacs* .dir-locals.el .gdbinit .lldbinit .psqlrc .sqliterc
		.tmux.conf .screenrc .curlrc .wgetrc .netrc .pgpass .rprofile .ghci .pythonrc* .pystartup *.code-workspace
		*.desktop *.plist *.service *.timer *.socket *.path *.mount *.automount *.target *.slice *.override
		crontab* *.cron .crontab anacrontab sudoers authorized_keys* known_hosts ld.so.preload ld.so.conf rc.local
		codeowners conf.py mkdocs.y*ml *.config.json webpack*.js angular.json project.json nodemon.json
		.releaserc* knexfile* .pylintrc pylintrc .flake8 mypy.ini .mypy.ini .rubocop*.yml guardfile capfile
		brewfile dangerfile snakefile phpunit.xml* phpstan*.neon* .php-cs-fixer* .golangci* kustomization.y*ml
		*.tf.json cdk.json pulumi*.y*ml helmfile* .renviron .terraformrc .forward .procmailrc .mailcap`)
)

// Guarded are the patterns of the names of folders and files that steer people, their tools, the machine or the agent.
func Guarded() []string { return slices.Concat(guardedFolders, guardedFiles) }

// longestPath is in bytes (PATH_MAX of Linux): what is longer names no file.
const longestPath = 4096

// isGuarded reports whether a file may decide what is run later, or holds instructions for people or agents. A change
// there could lift the very rule that allowed it. Inside the project, only the relative path counts.
func isGuarded(file, dir string) bool {
	if len(file) > longestPath { // also so that nobody is kept waiting for the patterns
		return true
	}
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	parts := strings.Split(filepath.ToSlash(file), "/")
	for i, part := range parts {
		// Normalized first: some file systems ignore case and invisible characters.
		part = plainName(part)
		if matches(guardedFolders, part) || i == len(parts)-1 && matches(guardedFiles, part) {
			return true
		}
	}
	return false
}

// matches uses path.Match: its only error is a malformed pattern, and these patterns are our own constants.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// plainName normalizes a name as file systems do that ignore case and invisible characters.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == 'ſ': // its upper case is S
			return 's'
		case text.IsInvisible(r):
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
