package approval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/claude"
)

// "Always Write in this project" is not about files that others run or obey, however their path is written.
func TestFilesThatOthersObeyAreAskedForEachTime(t *testing.T) {
	t.Parallel()
	dir := folders(t, "p/.github/workflows", "p/docs", "p/src", "other")
	dir = filepath.Join(dir, "p")
	link(t, filepath.Join(dir, ".github"), filepath.Join(dir, "notes"))
	link(t, "CLAUDE.md", filepath.Join(dir, "readme2.md"))
	link(t, "docs/agents.txt", filepath.Join(dir, "AGENTS.md"))
	for _, name := range []string{"CLAUDE.md", "docs/agents.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
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
		inside := db.Permit{Tool: tool, Kind: db.InsideRule}
		try := func(name string, want bool) {
			for _, path := range []string{name, dir + "/" + name} {
				input, err := json.Marshal(map[string]string{field: path})
				if err != nil {
					t.Fatal(err)
				}
				if got := Covers(inside, tool, input, dir); got != want {
					t.Errorf("%s %s is covered: %v", tool, path, got)
				}
				if got := PermitFor(claude.ToolAsk{Name: tool, Input: input}, dir); (got != nil) != want {
					t.Errorf("%s %s may be allowed for good: %+v", tool, path, got)
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

// Each pattern of the tables is one that can be read, and in lower case: else it would match nothing.
func TestGuardedPatternsCanMatch(t *testing.T) {
	t.Parallel()
	for _, p := range append(append([]string{}, guardedFolders...), guardedFiles...) {
		name := strings.ReplaceAll(p, "*", "x")
		if p != strings.ToLower(p) || !matches([]string{p}, plainName(name)) {
			t.Errorf("%q matches nothing", p)
		}
	}
}
