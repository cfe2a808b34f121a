package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// The file in which the CLI stores the approvals given in a terminal, and contents of it.
const (
	localFile   = ".claude/settings.local.json"
	oneApproved = `{"enabledMcpjsonServers":["a"]}`
	allApproved = `{"enableAllProjectMcpServers":true}`
)

// serverApprovals are ways to approve the servers a and b of a project.
var serverApprovals = map[string]struct {
	files map[string]string                  // below the project, or the home folder if it begins with ~/
	trust string                             // the folder that the user trusts, from the project; empty = the project
	also  func(t *testing.T, project string) // runs after the files were written
	cfg   func(*workspace.Config)            // nil = all servers
	want  string
}{
	"nobody": {want: ""},
	"one":    {files: map[string]string{localFile: oneApproved}, want: "a"},
	"all":    {files: map[string]string{localFile: allApproved}, want: "a b"},
	"all but one": {files: map[string]string{
		localFile: `{"enableAllProjectMcpServers":true,"disabledMcpjsonServers":["a"]}`,
	}, want: "b"},
	"everywhere":     {files: map[string]string{"~/.claude/settings.json": allApproved}, want: "a b"},
	"one everywhere": {files: map[string]string{"~/.claude/settings.json": oneApproved}, want: "a"},
	"everywhere, but not here": {files: map[string]string{
		"~/.claude/settings.json": allApproved, localFile: `{"disabledMcpjsonServers":["b"]}`,
	}, want: "a"},
	"a folder that nobody trusts":             {files: map[string]string{localFile: allApproved}, trust: "other"},
	"a folder below one that the user trusts": {files: map[string]string{localFile: allApproved}, trust: ".."},
	"everywhere, and nobody trusts the folder": {files: map[string]string{"~/.claude/settings.json": oneApproved},
		trust: "other", want: "a"},
	"the home folder": {files: map[string]string{localFile: oneApproved}, trust: "other", want: "a",
		cfg: func(c *workspace.Config) { c.Environ = append(without(c.Environ, "HOME"), "HOME="+c.Project) }},
	"the project": {files: map[string]string{".claude/settings.json": `{"enableAllProjectMcpServers":true}`}},
	"an isolated agent": {files: map[string]string{localFile: oneApproved},
		cfg: func(c *workspace.Config) { c.ConfigDir = "isolated" }},
	"in a checkout": {files: map[string]string{localFile: oneApproved}, want: "a",
		also: func(t *testing.T, project string) { runGit(t, project, "init", "-q") }},
	"with a checkout": {files: map[string]string{localFile: allApproved},
		also: func(t *testing.T, project string) {
			runGit(t, project, "init", "-q")
			runGit(t, project, "add", "-f", localFile)
		}},
	"with a checkout above, by another case": {files: map[string]string{localFile: oneApproved},
		also: func(t *testing.T, project string) {
			above := filepath.Dir(project)
			runGit(t, above, "init", "-q")
			empty := exec.Command("git", "hash-object", "-w", "--stdin")
			empty.Dir = above
			id, err := empty.Output()
			must(t, err)
			runGit(t, above, "update-index", "--add", "--cacheinfo",
				"100644,"+strings.TrimSpace(string(id))+",work/.Claude/Settings.local.json")
		}},
	"a checkout that git cannot read": {files: map[string]string{localFile: oneApproved, ".git": "gitdir: /nonexistent"}},
	"a checkout inside":               {files: map[string]string{localFile: oneApproved, ".claude/.git": "gitdir: x"}},
	"by a link": {files: map[string]string{"x.json": oneApproved, ".claude/x": ""},
		also: func(t *testing.T, project string) {
			must(t, os.Symlink("../x.json", filepath.Join(project, localFile)))
		}},
	"by a link of the folder": {files: map[string]string{"x/settings.local.json": oneApproved},
		also: func(t *testing.T, project string) { must(t, os.Symlink("x", filepath.Join(project, ".claude"))) }},
	"a configuration that starts programs": {files: map[string]string{localFile: oneApproved}, want: "a",
		also: func(t *testing.T, project string) {
			runGit(t, project, "init", "-q")
			runGit(t, project, "config", "core.fsmonitor", "touch "+filepath.Join(project, "started")+"; false")
			t.Cleanup(func() {
				if _, err := os.Stat(filepath.Join(project, "started")); err == nil {
					t.Error("a program of the project was started")
				}
			})
		}},
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// A project's server is used if the machine's user has approved it: in the user's settings for all projects, or in the
// project's local settings unless those came with the project.
func TestWhoApprovesTheServersOfAProject(t *testing.T) {
	t.Parallel()
	for name, tc := range serverApprovals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			home, c := filepath.Join(base, "home"), claudetest.ScriptedConfig(t)
			c.Project, c.MCP = filepath.Join(base, "work"), workspace.MCPServers{"all"}
			c.Environ = append(without(without(c.Environ, "CLAUDE_CONFIG_DIR"), "HOME"), "HOME="+home)
			if tc.cfg != nil {
				tc.cfg(&c)
			}
			write(t, filepath.Join(home, ".claude.json"), trusts(filepath.Join(c.Project, tc.trust)))
			write(t, filepath.Join(c.Project, ".mcp.json"), `{"mcpServers":{"a":{"command":"sh"},"b":{"command":"sh"}}}`)
			for path, text := range tc.files {
				if rest, ok := strings.CutPrefix(path, "~"); ok {
					path = home + rest
				} else {
					path = filepath.Join(c.Project, path)
				}
				write(t, path, text)
			}
			if tc.also != nil {
				tc.also(t, c.Project)
			}
			list, err := c.ServerNames(c.Project)
			if err != nil || !slices.Equal(list.Loaded, strings.Fields(tc.want)) {
				t.Errorf("loaded: %+v, %v, want %q", list, err, tc.want)
			}
		})
	}
}

// trusts is the CLI's file about projects when its user trusts a folder.
func trusts(dir string) string { return `{"projects":{"` + dir + `":{"hasTrustDialogAccepted":true}}}` }

// The CLI uses the approvals of a project's local settings only if the user trusts that very folder.
func TestApprovalsCountWhereTheCLITrusts(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		for trust, want := range map[string]bool{"work": true, "": false, "other": false} {
			t.Run(trust, func(t *testing.T) {
				t.Parallel()
				base, err := filepath.EvalSymlinks(t.TempDir())
				must(t, err)
				home, c := filepath.Join(base, "home"), claudetest.ScriptedConfig(t)
				c.Project, c.MCP = filepath.Join(base, "work"), workspace.MCPServers{"all"}
				c.Environ = append(without(without(c.Environ, "CLAUDE_CONFIG_DIR"), "HOME"), "HOME="+home)
				write(t, filepath.Join(c.Project, ".mcp.json"), `{"mcpServers":{"a":{"command":"true"}}}`)
				write(t, filepath.Join(c.Project, localFile), oneApproved)
				write(t, filepath.Join(home, ".claude.json"), trusts(filepath.Join(base, trust)))
				list, err := c.ServerNames(c.Project)
				must(t, err)
				cmd := exec.Command(command, "mcp", "get", "a")
				cmd.Dir, cmd.Env = c.Project, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
				out, err := cmd.CombinedOutput()
				must(t, err)
				if cli := !strings.Contains(string(out), "Pending approval"); cli != want || want != (len(list.Loaded) == 1) {
					t.Errorf("%+v, want %t; the CLI says %s", list, want, out)
				}
			})
		}
	})
}
