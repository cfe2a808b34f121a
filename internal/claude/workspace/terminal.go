package workspace

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/stream"
	"magpie/internal/claude/transcript"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// CheckTerminal says why no session can go on in a terminal with this configuration.
func (c Config) CheckTerminal() error {
	switch {
	case c.User != "":
		return i18n.Mistakef("助手以另一个用户 %s 的身份运行（[claude] user），它们的会话不能在终端里继续",
			"the agents run as another user, %s ([claude] user): their sessions cannot go on in a terminal", c.User)
	case c.Wall == wallRequire:
		return i18n.Mistakef(`[claude] wall = "require"：终端里没有这道墙，所以会话不能在那里继续`,
			`[claude] wall = "require": there is no wall in a terminal, so no session can go on there`)
	case !proctree.ShowsStart:
		return i18n.Mistakef("这个系统上的会话不能在终端里继续", "on this system no session can go on in a terminal")
	}
	return nil
}

// Terminal prepares the agent's folder for somebody who goes on with the session of spec in a terminal, and returns how the
// CLI is started there. It is as for this program's own processes, but that there is no wall: so it asks before commands as
// if there could be none.
func (a Agent) Terminal(spec Spec) (Launch, error) {
	if err := a.Config.CheckTerminal(); err != nil {
		return Launch{}, err
	}
	a.Config.Wall = wallOff
	if err := a.Prepare(spec); err != nil {
		return Launch{}, err
	}
	if a.folder.path != "" {
		dirs := realPaths([]string{spec.Dir, spec.Files})
		if err := trust(filepath.Join(a.folder.path, stateFile), dirs, a.Env[keyVariable]); err != nil {
			return Launch{}, err
		}
	}
	servers, err := a.prepareServers(spec)
	if err != nil {
		return Launch{}, err
	}
	path, err := exec.LookPath(a.Config.Command)
	if err != nil {
		return Launch{}, err
	}
	var tools Tools
	if spec.Tools != nil {
		tools = spec.Tools()
	}
	cmd := exec.Command(path, slices.Concat(a.sessionArguments(spec), servers, tools.arguments())...)
	cmd.Dir = spec.Dir
	return Launch{Cmd: cmd, Env: tools.environ(a.processEnvironment(spec).List()), Tools: tools}, nil
}

// Adopt gives the agent a session that the machine's user has begun in a terminal in the folder dir.
func (a Agent) Adopt(dir, session string) error {
	if a.folder.path == "" {
		return nil // it is there
	}
	from, err := transcript.New(filepath.Join(a.folder.machine, "projects"), a.User.RunAs, nil).Path(dir, session)
	if err != nil {
		return err
	}
	to, err := transcript.New(filepath.Join(a.folder.path, "projects"), a.User.RunAs, nil).Path(dir, session)
	if err != nil {
		return err
	}
	f, err := safepath.Open(from)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	next := to + ".new"
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	copied, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, f)
	if err := errors.Join(err, copied.Close()); err != nil {
		return err
	}
	return os.Rename(next, to)
}

// keyVariable is the variable with a key for the model's API.
const keyVariable = "ANTHROPIC_API_KEY"

// trust has the CLI greet nobody, and not ask whether folders are to be trusted and a key is to be used: agents work there,
// and with it, anyway. Whoever has refused the key keeps to that.
func trust(path string, dirs []string, key string) error {
	data, err := safepath.ReadFile(path, maxConfigured)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil || all == nil { // the CLI says so
		return nil
	}
	open := func(raw json.RawMessage) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil || m == nil {
			m = map[string]json.RawMessage{}
		}
		return m
	}
	projects := open(all["projects"])
	for _, dir := range dirs {
		project := open(projects[dir])
		project["hasTrustDialogAccepted"] = json.RawMessage("true")
		projects[dir] = encode(project)
	}
	if key = key[max(0, len(key)-knownEnd):]; key != "" {
		answers := open(all["customApiKeyResponses"])
		var approved, rejected []string
		_, _ = json.Unmarshal(answers["approved"], &approved), json.Unmarshal(answers["rejected"], &rejected)
		if !slices.Contains(rejected, key) && !slices.Contains(approved, key) {
			answers["approved"] = list(append(approved, key))
			all["customApiKeyResponses"] = encode(answers)
		}
	}
	all["hasCompletedOnboarding"], all["projects"] = json.RawMessage("true"), encode(projects)
	return replaceFile(path, encode(all))
}

// knownEnd is how much of the end of a key the CLI notes.
const knownEnd = 20

func list(texts []string) json.RawMessage {
	data, err := json.Marshal(texts)
	if err != nil {
		panic(err) // it has only strings
	}
	return data
}

// InTerminal is the process in which somebody has a session of the agent open in a terminal, as the CLI notes it in its
// folder; none = nobody has.
func (a Agent) InTerminal(session string) (pid int, started string) {
	folder := filepath.Join(a.Env.configDir(), "sessions")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0, ""
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		data, err := safepath.ReadFile(filepath.Join(folder, e.Name()), 64<<10)
		for n := 0; err == nil && !stream.ValidJSON(data) && n < 3; n++ { // the CLI may be writing it, in place
			time.Sleep(5 * time.Millisecond)
			data, err = safepath.ReadFile(filepath.Join(folder, e.Name()), 64<<10)
		}
		if err != nil || !stream.ValidJSON(data) {
			continue
		}
		v := gjson.ParseBytes(data)
		pid := int(v.Get("pid").Int())
		if v.Get("sessionId").String() != session || v.Get("entrypoint").String() != transcript.Terminal || pid <= 1 {
			continue
		}
		// A file that was left by a killed CLI names a process that has gone, and another one may have its number. And
		// whatever runs as the agents' user can write one.
		now := proctree.Started(pid)
		if now == "" || now != v.Get("procStart").String() && proctree.NotesStart ||
			a.folder.path != "" && !proctree.IsForeign(pid, stateVariable, a.folder.path) {
			continue
		}
		return pid, now
	}
	return 0, ""
}
