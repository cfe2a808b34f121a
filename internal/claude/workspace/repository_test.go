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

// repository is a repository with a subfolder, in a folder above that belongs to no repository; tree is a linked
// worktree, and bare-tree one of a repository without a checkout of its own.
func repository(t *testing.T) (c workspace.Config, base, home string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home, c = filepath.Join(base, "home"), claudetest.ScriptedConfig(t)
	c.MCP = workspace.MCPServers{"all"}
	c.Environ = append(without(without(c.Environ, "CLAUDE_CONFIG_DIR"), "HOME"), "HOME="+home)
	repo := filepath.Join(base, "repo")
	for _, dir := range []string{home, filepath.Join(repo, "sub")} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	runGit(t, repo, "init", "-q")
	runGit(t, repo, "-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-q", "--allow-empty", "-m", "First.")
	runGit(t, repo, "worktree", "add", "-q", "--detach", filepath.Join(base, "tree"))
	runGit(t, base, "clone", "-q", "--bare", "repo", "bare")
	runGit(t, filepath.Join(base, "bare"), "worktree", "add", "-q", "--detach", filepath.Join(base, "bare-tree"))
	must(t, os.Mkdir(filepath.Join(base, "tree", "sub"), 0o700))
	must(t, os.Symlink(filepath.Join(repo, "sub"), filepath.Join(base, "link")))
	fake := filepath.Join(base, "fake") // the repository does not know it
	must(t, os.Mkdir(fake, 0o700))
	copied, err := os.ReadFile(filepath.Join(base, "tree", ".git"))
	must(t, err)
	write(t, filepath.Join(fake, ".git"), string(copied))
	return c, base, home
}

// What the machine's user has configured for a repository counts in all of its folders and worktrees.
func TestServersOfARepository(t *testing.T) {
	t.Parallel()
	c, base, home := repository(t)
	server := `{"command":"sh"}`
	write(t, filepath.Join(home, ".claude.json"), `{"projects":{
		"`+base+`/repo":{"mcpServers":{"own":`+server+`,"off":`+server+`},"disabledMcpServers":["off"]},
		"`+base+`/bare":{"mcpServers":{"bare":`+server+`}},
		"`+base+`/repo/sub":{"mcpServers":{"no project":`+server+`}}}}`)
	for dir, want := range map[string]string{
		"repo": "own", "repo/sub": "own", "link": "own", "tree": "own", "tree/sub": "own", "bare-tree": "bare",
		"fake": "", "home": "", ".": "",
	} {
		list, err := c.ServerNames(filepath.Join(base, dir))
		if err != nil || strings.Join(list.Loaded, " ") != want {
			t.Errorf("%s: %+v, %v, want %q", dir, list, err, want)
		}
	}
}

// Servers are also found in the .mcp.json of the folders above. What approves them is the same everywhere: the user's
// settings for the folder itself, and for its repository.
func TestServersOfTheFoldersAbove(t *testing.T) {
	t.Parallel()
	approve := func(names string) string { return `{"enabledMcpjsonServers":[` + names + `]}` }
	for name, tc := range map[string]struct {
		dir        string // below the base
		files      map[string]string
		user       string // the user's decisions about the repository, besides trust
		track      bool   // git tracks the repository's local settings
		want, wait string
	}{
		"nobody": {dir: "repo/sub", wait: "above near root sub"},
		"by the settings of the folder": {dir: "repo/sub",
			files: map[string]string{"repo/sub/" + localFile: approve(`"above","root"`)}, want: "above root", wait: "near sub"},
		"by the settings of the repository": {dir: "repo/sub",
			files: map[string]string{"repo/" + localFile: approve(`"above","sub"`)}, want: "above sub", wait: "near root"},
		"by both, and one is refused": {dir: "repo/sub", files: map[string]string{
			"repo/" + localFile:     `{"enableAllProjectMcpServers":true}`,
			"repo/sub/" + localFile: `{"disabledMcpjsonServers":["root"]}`,
		}, want: "above near sub"},
		"by settings that came with the repository": {dir: "repo/sub",
			files: map[string]string{"repo/" + localFile: `{"enableAllProjectMcpServers":true}`}, track: true,
			wait: "above near root sub"},
		"by settings above the repository": {dir: "repo/sub",
			files: map[string]string{localFile: approve(`"root"`)}, wait: "above near root sub"},
		"in a repository that nobody trusts": {dir: "repo/sub", user: `,"hasTrustDialogAccepted":false`,
			files: map[string]string{"repo/" + localFile: approve(`"root"`)}, wait: "above near root sub"},
		"before the settings": {dir: "repo/sub", user: `,"enabledMcpjsonServers":["root"]`, want: "root", wait: "above near sub"},
		"in a worktree": {dir: "tree/sub", files: map[string]string{"repo/" + localFile: approve(`"above"`)}, want: "above",
			wait: "near"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, base, home := repository(t)
			write(t, filepath.Join(base, ".mcp.json"), `{"mcpServers":{"above":{"command":"sh"},"near":{"command":"sh"}}}`)
			write(t, filepath.Join(base, "repo", ".mcp.json"),
				`{"mcpServers":{"root":{"command":"sh"},"near":{"command":"/nonexistent"}}}`)
			write(t, filepath.Join(base, "repo", "sub", ".mcp.json"),
				`{"mcpServers":{"sub":{"command":"sh"},"near":{"command":"sh"}}}`)
			write(t, filepath.Join(home, ".claude.json"), `{"projects":{"`+base+`/repo":{"hasTrustDialogAccepted":true`+tc.user+`}}}`)
			for path, text := range tc.files {
				write(t, filepath.Join(base, path), text)
			}
			if tc.track {
				runGit(t, filepath.Join(base, "repo"), "add", "-f", localFile)
			}
			list, err := c.ServerNames(filepath.Join(base, tc.dir))
			if err != nil || strings.Join(list.Loaded, " ") != tc.want || len(list.Missing) > 0 ||
				strings.Join(list.Unapproved, " ") != tc.wait {
				t.Errorf("%+v, %v, want %q, and %q to be approved", list, err, tc.want, tc.wait)
			}
		})
	}
}

// Servers that the CLI adds in a subfolder, or in a linked worktree, are used there.
func TestWhereTheCLIAddsServers(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		c, base, home := repository(t)
		for name, dir := range map[string]string{"a": "repo/sub", "b": "tree/sub"} {
			cmd := exec.Command(command, "mcp", "add", name, "sh")
			cmd.Dir, cmd.Env = filepath.Join(base, dir), []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		for _, dir := range []string{"repo", "repo/sub", "tree/sub"} {
			list, err := c.ServerNames(filepath.Join(base, dir))
			if err != nil || !slices.Equal(list.Loaded, []string{"a", "b"}) {
				t.Errorf("%s: %+v, %v", dir, list, err)
			}
		}
	})
}
