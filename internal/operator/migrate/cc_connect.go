package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// ccConfig are the parts of cc-connect's config.toml that are read (config.example.toml of
// github.com/chenhg5/cc-connect). All its texts may contain variables as ${NAME}.
type ccConfig struct {
	DataDir  string      `toml:"data_dir"`
	Language string      `toml:"language"`
	Projects []ccProject `toml:"projects"`
}

// ccProject is a folder with its agent and its platforms.
type ccProject struct {
	Name      string       `toml:"name"`
	Mode      string       `toml:"mode"` // multi-workspace, or empty
	RunAsUser string       `toml:"run_as_user"`
	AdminFrom string       `toml:"admin_from"` // user IDs, separated by commas
	Agent     ccAgent      `toml:"agent"`
	Platforms []ccPlatform `toml:"platforms"`
}

type ccAgent struct {
	Type      string         `toml:"type"`
	Options   map[string]any `toml:"options"`
	Providers []any          `toml:"providers"`
	Refs      []any          `toml:"provider_refs"`
}

type ccPlatform struct {
	Type    string         `toml:"type"`
	Options map[string]any `toml:"options"`
}

// ccBot is a project on Feishu or Lark.
type ccBot struct {
	project  ccProject
	platform ccPlatform
	app      string
}

// ccReader reads what cc-connect has stored.
type ccReader struct {
	reader
	cfg  ccConfig
	data string // the folder of its sessions
}

// CCConnect reads what cc-connect has stored.
func CCConnect(o Options) (*Found, error) {
	r := ccReader{reader: newReader("cc-connect", o)}
	if err := r.open(); err != nil {
		return nil, err
	}
	bots, err := r.bots()
	if err != nil {
		return nil, err
	}
	r.setBot(bots[0])
	r.setAccess(bots)
	for _, b := range bots {
		if b.project.Agent.Type != "claudecode" {
			r.noteSkipped(i18n.MigrateOtherAgent, b.project.Name, b.project.Agent.Type)
		}
		r.readSessions(b.project)
	}
	return r.finish()
}

// open finds and reads the configuration.
func (r *ccReader) open() error {
	r.Path = r.opt.From
	if r.Path == "" {
		r.Path = filepath.Join(r.home, ".cc-connect")
	}
	if info, err := os.Stat(r.Path); err == nil && info.IsDir() {
		r.Path = filepath.Join(r.Path, "config.toml")
	}
	data, err := safepath.ReadFile(r.Path, largestConfig)
	if errors.Is(err, os.ErrNotExist) {
		return r.fail(i18n.MigrateNothingThere, r.Path)
	} else if err != nil {
		return r.fail(i18n.MigrateUnreadable, r.Path, r.explain(err))
	}
	all := map[string]any{}
	err = errors.Join(toml.Unmarshal(data, &all), toml.Unmarshal(data, &r.cfg))
	var bad *toml.DecodeError
	if errors.As(err, &bad) { // its own text shows the line, which may contain a secret
		row, _ := bad.Position()
		return r.fail(i18n.MigrateUnreadable, r.Path, fmt.Sprintf("line %d: %v", row, bad))
	} else if err != nil {
		return r.fail(i18n.MigrateUnreadable, r.Path, err)
	}
	r.data = cmp.Or(r.expandHome(r.expand(r.cfg.DataDir)), filepath.Join(r.home, ".cc-connect"))
	if lang := r.expand(r.cfg.Language); lang == "zh" || lang == "en" {
		r.file.Chat.Lang = lang
	}
	r.noteUnsupported(all)
	return nil
}

// ccUnsupported are parts of its configuration without an equivalent here.
var ccUnsupported = []string{
	"aliases", "audit", "banned_words", "bridge", "commands", "cron", "hooks", "management", "speech", "tts", "webhook",
}

func (r *ccReader) noteUnsupported(all map[string]any) {
	var found []string
	for _, key := range ccUnsupported {
		if _, ok := all[key]; ok {
			found = append(found, key)
		}
	}
	if len(found) > 0 {
		r.noteSkipped(i18n.MigrateNoCounterpart, i18n.Listing(found))
	}
}

var ccVariable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand fills in variables.
func (r *ccReader) expand(s string) string {
	return ccVariable.ReplaceAllStringFunc(s, func(name string) string { return r.vars[name[2:len(name)-1]] })
}

// stringOption returns an option that is a text; one of another type counts as missing, as it does for cc-connect.
func (r *ccReader) stringOption(options map[string]any, key string) string {
	s, _ := options[key].(string)
	return strings.TrimSpace(r.expand(s))
}

// bots are the projects of one app, the requested one first. The others are noted.
func (r *ccReader) bots() ([]ccBot, error) {
	var all []ccBot
	var names, unsupported []string
	for _, p := range r.cfg.Projects {
		for _, pf := range p.Platforms {
			if pf.Type != "feishu" && pf.Type != "lark" {
				unsupported = append(unsupported, fmt.Sprintf("%q", pf.Type))
			} else if app := r.stringOption(pf.Options, "app_id"); app != "" {
				all, names = append(all, ccBot{p, pf, app}), append(names, fmt.Sprintf("%q", p.Name))
			}
		}
	}
	if len(unsupported) > 0 {
		r.noteSkipped(i18n.MigrateOtherPlatforms, i18n.Listing(slices.Compact(unsupported)))
	}
	if len(all) == 0 {
		return nil, r.fail(i18n.MigrateNoBot, r.Path)
	}
	first := 0
	if r.opt.Name != "" {
		if first = slices.IndexFunc(all, func(b ccBot) bool { return b.project.Name == r.opt.Name }); first < 0 {
			return nil, r.fail(i18n.MigrateNoSuchName, r.Path, r.opt.Name, i18n.Listing(names))
		}
	}
	bots := []ccBot{all[first]}
	for i, b := range all {
		switch {
		case i == first:
		case b.app == bots[0].app:
			bots = append(bots, b)
		case r.opt.Name == "":
			return nil, r.fail(i18n.MigrateSeveralApps, r.Path, i18n.Listing(names))
		default:
			r.noteSkipped(i18n.MigrateOtherBot, b.project.Name)
		}
	}
	return bots, nil
}

// setBot imports the app, and the project's configuration.
func (r *ccReader) setBot(b ccBot) {
	f, o := &r.file, b.platform.Options
	f.Feishu.AppID, f.Feishu.AppSecret = b.app, r.stringOption(o, "app_secret")
	switch domain := strings.TrimRight(r.stringOption(o, "domain"), "/"); {
	case domain == "" && b.platform.Type == "lark", domain == "https://open.larksuite.com":
		f.Feishu.BaseURL = "lark"
	case domain != "https://open.feishu.cn":
		f.Feishu.BaseURL = domain
	}
	if needed, ok := o["require_mention"].(bool); o["group_reply_all"] == true || ok && !needed {
		f.Chat.GroupMention = string(chat.MentionNone)
	}
	agent := b.project.Agent
	f.Claude.Project = r.usableDir(r.folder(b.project))
	f.Claude.Model = r.stringOption(agent.Options, "model")
	efforts := []string{"low", "medium", "high", "xhigh", "max"}
	if effort := r.stringOption(agent.Options, "reasoning_effort"); slices.Contains(efforts, effort) {
		f.Claude.Effort = effort
	}
	r.setMode(ccMode(r.stringOption(agent.Options, "mode")))
	if len(stringsIn(agent.Options["allowed_tools"])) > 0 {
		r.noteSkipped(i18n.MigrateAllowedTools)
	}
	if len(agent.Providers)+len(agent.Refs) > 0 || r.stringOption(agent.Options, "router_url") != "" {
		r.noteSkipped(i18n.MigrateProviders)
	}
	if b.project.RunAsUser != "" {
		r.noteSkipped(i18n.MigrateRunAsUser, b.project.RunAsUser)
	}
	if b.project.Mode != "" {
		r.noteSkipped(i18n.MigrateWorkspaces, b.project.Mode)
	}
	if o["share_session_in_channel"] != true {
		r.noteSkipped(i18n.MigrateShared)
	}
}

// ccMode is the CLI's name of a permission mode.
func ccMode(mode string) string {
	switch strings.ToLower(mode) {
	case "yolo", "bypasspermissions":
		return "bypassPermissions"
	case "edit", "acceptedits":
		return "acceptEdits"
	case "dont-ask", "dontask":
		return "dontAsk"
	}
	return mode
}

// folder is where the agent of a project works: the folder set in a chat, or else the configured one.
func (r *ccReader) folder(p ccProject) string {
	var state struct {
		Dir string `json:"work_dir_override"`
	}
	name := strings.Map(func(c rune) rune {
		if strings.ContainsRune(`\/:*?"<>|`, c) {
			return '_'
		}
		return c
	}, strings.TrimSpace(p.Name))
	_ = readJSON(filepath.Join(r.data, "projects", name+".state.json"), largestConfig, &state)
	return cmp.Or(state.Dir, r.stringOption(p.Agent.Options, "work_dir"))
}

// setAccess imports the access rules. Nobody gets access whom cc-connect did not name: the owner must decide again
// whether everyone may use the bot.
func (r *ccReader) setAccess(bots []ccBot) {
	list := func(s string) []string { return strings.Split(r.expand(s), ",") }
	open := false
	for _, b := range bots {
		options := b.platform.Options
		users, chats := r.stringOption(options, "allow_from"), r.stringOption(options, "allow_chat")
		switch {
		case users != "" && users != "*":
			r.grantAccess(&r.file.Access.Allow, "allow", list(users))
			if chats != "" && chats != "*" {
				r.noteSkipped(i18n.MigrateUsersOnly)
			}
		case chats != "" && chats != "*":
			r.grantAccess(&r.file.Access.Allow, "allow", list(chats))
		default:
			open = true
		}
		if r.expand(b.project.AdminFrom) == "*" {
			r.noteSkipped(i18n.MigrateAllAdmins)
		}
		r.grantAccess(&r.file.Access.Admins, "admins", list(b.project.AdminFrom))
	}
	if open {
		r.noteSkipped(i18n.MigrateWasOpen)
	}
}

// ccStore is a file of sessions (core/session.go).
type ccStore struct {
	Sessions map[string]*ccSession `json:"sessions"`
	Active   map[string]string     `json:"active_session"` // session of a key
	Users    map[string][]string   `json:"user_sessions"`  // sessions of a key
	Meta     map[string]*struct {
		User string `json:"user_name"`
	} `json:"user_meta"`
}

type ccSession struct {
	Agent   string `json:"agent_session_id"`
	Kind    string `json:"agent_type"`
	Updated string `json:"updated_at"`
	History []struct {
		Role string `json:"role"`
		Text string `json:"content"`
		Time string `json:"timestamp"`
	} `json:"history"`
}

// maxStores limits the number of session files that are read.
const maxStores = 1000

// readSessions reads the conversations of a project. It finds the files by listing the folder: no path is built from a
// configured name.
func (r *ccReader) readSessions(p ccProject) {
	name := r.addProject(p.Name, r.folder(p))
	ours := regexp.MustCompile(`^` + regexp.QuoteMeta(p.Name) + `(_[0-9a-f]{8})?(\.sessions)?\.json$`)
	for _, dir := range []string{r.data, filepath.Join(r.data, "sessions")} {
		files, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, f := range files[:min(len(files), maxStores)] {
			if !ours.MatchString(f.Name()) {
				continue
			}
			path := filepath.Join(dir, f.Name())
			var s ccStore
			if err := readJSON(path, largestStore, &s); err != nil {
				r.noteSkipped(i18n.MigrateUnreadableStore, path, r.explain(err))
				continue
			}
			r.addStore(s, name)
		}
	}
}

// addStore adds the conversations of a file.
func (r *ccReader) addStore(s ccStore, project string) {
	topics, unsupported := 0, 0
	for _, key := range slices.Sorted(maps.Keys(s.Users)) {
		ids, parts := s.Users[key], strings.SplitN(key, ":", 4)
		place := chat.Key{}
		if len(parts) > 1 {
			place = chat.FeishuChat(parts[1])
		}
		switch {
		case parts[0] != "feishu" && parts[0] != "lark":
			continue // another platform, which was noted
		case len(parts) == 4:
			topics += len(ids)
			continue
		case !strings.HasPrefix(place.ID, "oc_") || place.Validate() != nil:
			unsupported += len(ids)
			continue
		}
		who := chat.Actor{}
		if len(parts) == 3 && chat.ValidID(parts[2]) == nil {
			who.ID = parts[2]
		}
		if m := s.Meta[key]; m != nil {
			who.Name = m.User
		}
		c := r.chat(place)
		c.Project = cmp.Or(project, c.Project)
		for _, id := range ids {
			if session := s.Sessions[id]; session != nil {
				c.addTalk(r.sessionTalk(*session, key+" "+id, who, id != s.Active[key]))
			}
		}
	}
	if topics > 0 {
		r.noteSkipped(i18n.MigrateTopics, topics)
	}
	if unsupported > 0 {
		r.noteSkipped(i18n.MigrateNoChats, unsupported)
	}
}

// sessionTalk is the conversation of a session. If cc-connect did not store it, the agent's transcript may have it.
func (r *ccReader) sessionTalk(s ccSession, id string, who chat.Actor, past bool) talk {
	at, _ := time.Parse(time.RFC3339Nano, s.Updated)
	t := talk{id: id, past: past, at: at}
	for _, m := range s.History {
		when, _ := time.Parse(time.RFC3339Nano, m.Time)
		one := message{role: chat.Role(m.Role), text: m.Text, at: when}
		if one.role == chat.User {
			one.who = who
		}
		t.messages = append(t.messages, one)
	}
	if len(t.messages) == 0 && s.Agent != "" && (s.Kind == "" || s.Kind == "claudecode") {
		t.messages = r.transcript(s.Agent, func(m claude.TranscriptMessage) message {
			return message{text: m.Text, who: who}
		})
	}
	return t
}
