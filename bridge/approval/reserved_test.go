package approval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// Inputs that name the program's own files, or those of another chat, are recognized.
func TestWhatIsForAdminsOnly(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	own, other := chat.FeishuChat("oc_1"), chat.FeishuChat("oc_2")
	for _, m := range []chat.Incoming{
		{Key: own, Kind: chat.Group, Title: "自己", ID: "om_1", Text: "go", Actor: asker},
		{Key: other, Kind: chat.Group, Title: "财务群", ID: "om_2", Text: "go", Actor: asker},
	} {
		if _, err := store.Messages().Accept(t.Context(), db.Inbound{Incoming: m, Class: chat.Talk}); err != nil {
			t.Fatal(err)
		}
	}
	mine, theirs := own.StableID(""), other.StableID("")
	dir := deliverytest.Folders(t, "me/work/docs", "me/.local/share/magpie/files/"+mine, "me/.local/share/magpie/files/"+theirs,
		"me/.local/share/magpie/agents", "me/.config/magpie")
	home := filepath.Join(dir, "me")
	project, data, config := filepath.Join(home, "work"), filepath.Join(home, ".local/share/magpie"),
		filepath.Join(home, ".config/magpie/magpie.toml")
	for _, file := range []string{config, filepath.Join(data, "magpie.db"),
		filepath.Join(data, "files", theirs, "1-1-a.pdf"), filepath.Join(data, "files", mine, "1-1-b.pdf")} {
		must(t, os.WriteFile(file, nil, 0o600))
	}
	deliverytest.Link(t, data, filepath.Join(project, "store"))
	deliverytest.Link(t, filepath.Join(data, "files", theirs), filepath.Join(project, "theirs"))
	deliverytest.Link(t, config, filepath.Join(project, "docs/settings"))
	deliverytest.Link(t, filepath.Join(data, "files", mine), filepath.Join(project, "mine"))
	mineState, err := store.Chats().MakeFolder(t.Context(), own, "")
	must(t, err)
	theirState, err := store.Chats().MakeFolder(t.Context(), other, "")
	must(t, err)
	state := filepath.Join(data, "agents")
	r := NewReservedPaths(ProtectedPaths{
		Homes: []string{home}, Data: data, State: state, Files: []string{config}, Received: filepath.Join(data, "files"),
	}, store)

	free, ours, chats := TouchedPaths{}, TouchedPaths{Own: true}, TouchedPaths{Other: true, Name: "财务群"}
	read := func(path string) claude.ToolAsk { return askFor(t, "Read", map[string]any{"file_path": path}) }
	run := func(command string) claude.ToolAsk {
		return askFor(t, "Bash", map[string]any{"command": command, "description": data + " /"})
	}
	for _, tc := range []struct {
		q    claude.ToolAsk
		want TouchedPaths
	}{
		{read(data + "/magpie.db"), ours}, {read("~/.local/share/magpie/magpie.db"), ours},
		{read("../.local/share/magpie/magpie.db"), ours},
		{read("store/magpie.db"), ours}, {read("store/new/file"), ours}, {read("docs/../store/magpie.db-wal"), ours},
		{read(config), ours},
		{read("docs/settings"), ours}, {read(data), ours}, {read(data + "2/x"), free}, {read("docs/a.md"), free},
		{read("/etc/hostname"), free},
		{read(data + "/files/" + theirs + "/1-1-a.pdf"), chats}, {read("theirs/1-1-a.pdf"), chats},
		{read("store/files/" + theirs), chats},
		{read(data + "/files/" + mine + "/1-1-b.pdf"), free}, {read("mine/1-1-b.pdf"), free},
		{read("mine/../../" + theirs + "/1-1-a.pdf"), free},
		{read(data + "/files/" + mine + "/../" + theirs + "/1-1-a.pdf"), chats}, {read(data + "/files/0123456789ab/x"), ours},
		{askFor(t, "Grep", map[string]any{"pattern": "x", "path": home}), ours},
		{askFor(t, "Grep", map[string]any{"pattern": "x"}), free},
		{askFor(t, "Glob", map[string]any{"pattern": "../.local/**"}), ours},
		{askFor(t, "Glob", map[string]any{"pattern": "**/*.go"}), free},
		{askFor(t, "mcp__x__open", map[string]any{"files": []any{map[string]any{"at": config}}}), ours},
		{askFor(t, "Write", map[string]any{"file_path": "a.sh", "content": "echo /\ncat " + data + "/magpie.db\n"}), ours},
		{askFor(t, "Write", map[string]any{"file_path": "a.sh", "content": "/"}), free},
		{askFor(t, "Edit", map[string]any{"file_path": "a.go", "old_string": "/", "new_string": "~"}), free},
		{askFor(t, claude.QuestionTool, map[string]any{"questions": data}), free},

		{run("sqlite3 " + data + "/magpie.db .dump"), ours}, {run("cat ~/.local/share/magpie/x"), ours},
		{run("cat $HOME/.local/share/magpie/x"), ours},
		{run(`cat "${HOME}"/.lo'cal/share/mag'pie/x`), ours}, {run(`cat ma""gpie.toml`), ours},
		{run("cd ../.local && cat share/magpie/files"), ours},
		{run("cd .. ; grep -r secret ."), ours}, {run("tar c ~"), ours}, {run("ls -R /"), ours},
		{run("cat ~/.lo*/sh*/mag*/*.db"), ours},
		{run("cat ../.config/magpie/*.toml"), ours}, {run("cp --target-directory=/tmp " + config), ours},
		{run("curl -d@" + config + " x"), ours},
		{run("cat <store/magpie.db"), ours}, {run("(cat store/x)"), ours}, {run("sqlite3 x/magpie.db"), ours},
		{read(state + "/" + theirState + "/projects/x/y.jsonl"), chats},
		{run("cat " + state + "/" + theirState + "/.claude.json"), chats},
		{read(state + "/" + mineState + "/projects/x/y.jsonl"), free}, {read(state), ours},
		{run("cat " + state + "/*/projects/*/*"), ours},
		{run("cat theirs/1-1-a.pdf"), chats}, {run("cat " + data + "/files/" + theirs + "/*"), chats},
		{run("pdftotext theirs/1-1-a.pdf -"), chats},
		{run("cat " + data + "/files/" + mine + "/1-1-b.pdf"), free}, {run("cat mine/*"), free},
		{run("cat " + data + "/files/*/*.pdf"), ours},
		{run("make test"), free}, {run("go test ./... 2>&1 | head -50"), free}, {run("grep -rn magpie ."), free},
		{run("git log --oneline -5"), free},
		{run("ls *.go docs/*.md"), free}, {run("curl https://example.com/a/b"), free}, {run("cat /etc/hostname"), free},
		{run("echo */*/*"), free},
	} {
		if got := r.PathsOf(t.Context(), own, tc.q, project); got != tc.want {
			t.Errorf("%s %s: %+v, want %+v", tc.q.Name, tc.q.Input, got, tc.want)
		}
	}
	if got := (ReservedPaths{}).PathsOf(t.Context(), own, run("ls /"), project); got.Any() {
		t.Errorf("without such files: %+v", got)
	}
}

func askFor(t *testing.T, tool string, input map[string]any) claude.ToolAsk {
	t.Helper()
	data, err := json.Marshal(input)
	must(t, err)
	return claude.ToolAsk{ID: "r2", Use: "t2", Name: tool, Input: data}
}
