package migrate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// lcbConfig are the parts of lark-channel-bridge's config.json that are read (src/config/profile-schema.ts and
// schema.ts of github.com/zarazhangrui/lark-coding-agent-bridge). Before version 2 of the file there were no profiles.
type lcbConfig struct {
	Active   string                 `json:"activeProfile"`
	Profiles map[string]*lcbProfile `json:"profiles"`
	Secrets  lcbSecrets             `json:"secrets"`
	lcbProfile
	App *lcbApp `json:"app"` // of the first versions
}

// lcbProfile is an app with its agent. Lists are filtered as in lark-channel-bridge: anything but text is dropped.
type lcbProfile struct {
	Agent    string `json:"agentKind"` // claude, codex …; empty = claude
	Mode     string `json:"mode"`      // personal | team
	Accounts struct {
		App *lcbApp `json:"app"`
	} `json:"accounts"`
	Secrets     lcbSecrets `json:"secrets"`
	Access      lcbAccess  `json:"access"`
	Preferences struct {
		Access  lcbAccess `json:"access"`
		Mention *bool     `json:"requireMentionInGroup"`
	} `json:"preferences"`
	Workspaces struct {
		Default string `json:"default"`
	} `json:"workspaces"`
	Permissions struct {
		Default string `json:"defaultAccess"` // full | workspace | read-only
	} `json:"permissions"`
}

type lcbApp struct {
	ID     string          `json:"id"`
	Secret json.RawMessage `json:"secret"` // a text, or a reference
	Tenant string          `json:"tenant"` // feishu | lark
}

type lcbAccess struct {
	Users   any            `json:"allowedUsers"`
	Chats   any            `json:"allowedChats"`
	Admins  any            `json:"admins"`
	Mention *bool          `json:"requireMentionInGroup"`
	ByChat  map[string]any `json:"chatRequireMention"`
}

// lcbReader reads what lark-channel-bridge has stored.
type lcbReader struct {
	reader
	cfg     lcbConfig
	profile lcbProfile
	state   string // the folder of the profile
}

// LarkChannelBridge reads what lark-channel-bridge has stored.
func LarkChannelBridge(o Options) (*Found, error) {
	r := lcbReader{reader: newReader("lark-channel-bridge", o)}
	if err := r.open(); err != nil {
		return nil, err
	}
	if err := r.selectProfile(); err != nil {
		return nil, err
	}
	r.setApp()
	r.setAccess()
	if kind := cmp.Or(r.profile.Agent, "claude"); kind != "claude" {
		r.noteSkipped(i18n.MigrateOtherAgent, r.opt.Name, kind)
	}
	r.file.Claude.Project = r.usableDir(r.profile.Workspaces.Default)
	r.setMode(lcbMode(r.profile.Permissions.Default))
	r.readWorkspaces()
	r.readSessions()
	return r.finish()
}

// lcbMode is the CLI's permission mode. The default there is "full".
func lcbMode(mode string) string {
	switch mode {
	case "workspace":
		return "acceptEdits"
	case "read-only":
		return "plan"
	case "", "full":
		return "bypassPermissions"
	}
	return mode
}

// open finds and reads the configuration.
func (r *lcbReader) open() error {
	r.Path = cmp.Or(r.opt.From, r.vars["LARK_CHANNEL_HOME"], filepath.Join(r.home, ".lark-channel"))
	if info, err := os.Stat(r.Path); err == nil && info.IsDir() {
		r.Path = filepath.Join(r.Path, "config.json")
	}
	err := readJSON(r.Path, largestConfig, &r.cfg)
	if errors.Is(err, os.ErrNotExist) {
		return r.fail(i18n.MigrateNothingThere, r.Path)
	} else if err != nil {
		return r.fail(i18n.MigrateUnreadable, r.Path, r.explain(err))
	}
	return nil
}

// lcbName matches the name of a profile, which is also that of a folder.
var lcbName = regexp.MustCompile(`^[^\x00-\x20/\\:*?"<>|]+$`)

// selectProfile selects the requested profile, or the active one. The others are noted.
func (r *lcbReader) selectProfile() error {
	root := filepath.Dir(r.Path)
	if len(r.cfg.Profiles) == 0 { // of an early version
		r.profile, r.state = r.cfg.lcbProfile, root
		r.profile.Accounts.App = cmp.Or(r.profile.Accounts.App, r.cfg.App)
	} else {
		names := slices.Sorted(maps.Keys(r.cfg.Profiles))
		name := cmp.Or(r.opt.Name, r.cfg.Active, "claude")
		p := r.cfg.Profiles[name]
		if p == nil || !lcbName.MatchString(name) || name == "." || name == ".." {
			return r.fail(i18n.MigrateNoSuchName, r.Path, name, fmt.Sprintf("%q", names))
		}
		r.opt.Name, r.profile, r.state = name, *p, filepath.Join(root, "profiles", name)
		for _, other := range names {
			if other != name {
				r.noteSkipped(i18n.MigrateOtherBot, other)
			}
		}
	}
	if r.profile.Accounts.App == nil || r.profile.Accounts.App.ID == "" {
		return r.fail(i18n.MigrateNoBot, r.Path)
	}
	return nil
}

// setApp imports the app.
func (r *lcbReader) setApp() {
	app, f := r.profile.Accounts.App, &r.file.Feishu
	f.AppID = app.ID
	if app.Tenant == "lark" {
		f.BaseURL = "lark"
	}
	secret, err := r.secret(*app)
	if err != nil {
		r.noteSkipped(i18n.MigrateSecretUnreadable, err)
	}
	f.AppSecret = secret
}

// setAccess imports the access rules.
func (r *lcbReader) setAccess() {
	a, old := r.profile.Access, r.profile.Preferences.Access
	allow := append(stringsIn(a.Users), stringsIn(a.Chats)...)
	allow = append(allow, append(stringsIn(old.Users), stringsIn(old.Chats)...)...)
	r.grantAccess(&r.file.Access.Allow, "allow", allow)
	r.grantAccess(&r.file.Access.Admins, "admins", append(stringsIn(a.Admins), stringsIn(old.Admins)...))
	if len(stringsIn(a.Users))+len(stringsIn(old.Users)) > 0 {
		r.noteSkipped(i18n.MigrateUsersInGroups)
	}
	if r.profile.Mode == "team" {
		r.noteSkipped(i18n.MigrateWasOpen)
	}
	if needed := cmp.Or(a.Mention, r.profile.Preferences.Mention); needed != nil && !*needed {
		r.file.Chat.GroupMention = string(chat.MentionNone)
	}
	for _, id := range slices.Sorted(maps.Keys(a.ByChat)) {
		needed, ok := a.ByChat[id].(bool)
		if key := chat.FeishuChat(id); ok && key.Validate() == nil {
			c := r.chat(key)
			if c.Mention = chat.MentionOnly; !needed {
				c.Mention = chat.MentionNone
			}
		}
	}
}

// parseScope is the chat or topic of a scope of lark-channel-bridge.
func (r *lcbReader) parseScope(s string) (chat.Key, bool) {
	id, thread, topic := strings.Cut(s, ":")
	key := chat.FeishuChat(id)
	if key.Thread = thread; topic && !strings.HasPrefix(thread, "omt_") {
		return key, false
	}
	return key, strings.HasPrefix(id, "oc_") && key.Validate() == nil
}

// readWorkspaces imports the folders that chats have switched to, or can switch to.
func (r *lcbReader) readWorkspaces() {
	var w struct {
		Chats map[string]any `json:"chats"`
		Named map[string]any `json:"named"`
	}
	path := filepath.Join(r.state, "workspaces.json")
	if err := readJSON(path, largestConfig, &w); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			r.noteSkipped(i18n.MigrateUnreadableStore, path, r.explain(err))
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.Named)) {
		if dir, ok := w.Named[name].(string); ok {
			r.addProject(name, dir)
		}
	}
	for _, scope := range slices.Sorted(maps.Keys(w.Chats)) {
		entry, _ := w.Chats[scope].(map[string]any)
		dir, _ := entry["cwd"].(string)
		if key, ok := r.parseScope(scope); ok && dir != "" {
			r.chat(key).Project = r.addProject("", dir)
		}
	}
}

// lcbSession is a session of a scope, from either of two files: the current one, or the catalog.
type lcbSession struct {
	Scope   string `json:"scopeId"`
	Agent   string `json:"agent"` // empty = claude
	AgentID string `json:"agentId"`
	Session string `json:"sessionId"`
	Status  string `json:"status"` // active | archived
	Updated int64  `json:"updatedAt"`
}

// readSessions imports the conversations: lark-channel-bridge only stores which session of the CLI a chat has.
func (r *lcbReader) readSessions() {
	chats := map[chat.Key][]lcbSession{}
	unsupported := 0
	for _, s := range r.sessions() {
		key, ok := r.parseScope(s.Scope)
		switch {
		case s.Session == "" || cmp.Or(s.Agent, s.AgentID, "claude") != "claude":
		case !ok:
			unsupported++
		case !slices.ContainsFunc(chats[key], func(o lcbSession) bool { return o.Session == s.Session }):
			chats[key] = append(chats[key], s)
		}
	}
	if unsupported > 0 {
		r.noteSkipped(i18n.MigrateNoChats, unsupported)
	}
	byName := func(a, b chat.Key) int { return strings.Compare(a.String(), b.String()) }
	for _, key := range slices.SortedFunc(maps.Keys(chats), byName) {
		list := chats[key]
		slices.SortStableFunc(list, func(a, b lcbSession) int { return cmp.Compare(a.Updated, b.Updated) })
		for i, s := range list {
			// Only the newest one continues.
			past := s.Status == "archived" || i < len(list)-1
			c := r.chat(key)
			c.addTalk(talk{id: s.Session, past: past, at: time.UnixMilli(s.Updated), messages: r.messages(s.Session, c)})
		}
	}
}

// sessions lists the sessions of both files.
func (r *lcbReader) sessions() (list []lcbSession) {
	now, catalog := map[string]*lcbSession{}, []lcbSession{}
	path := filepath.Join(r.state, "sessions.json")
	for path, v := range map[string]any{path: &now, path + ".catalog.json": &catalog} {
		if err := readJSON(path, largestStore, v); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.noteSkipped(i18n.MigrateUnreadableStore, path, r.explain(err))
		}
	}
	for _, scope := range slices.Sorted(maps.Keys(now)) {
		if s := now[scope]; s != nil {
			s.Scope = scope
			list = append(list, *s)
		}
	}
	return append(list, catalog...)
}

// messages are the messages of a session. Its prompts contain the asker and the kind of chat.
func (r *lcbReader) messages(session string, c *Chat) []message {
	return r.transcript(session, func(m claude.TranscriptMessage) message {
		p := readPrompt(m.Text)
		if p.private {
			c.Kind = chat.Private
		}
		return message{text: p.text, who: p.who}
	})
}

// lcbPrompt is lark-channel-bridge's form of a question (src/agent/prompt.ts).
type lcbPrompt struct {
	text    string
	who     chat.Actor
	private bool
}

// section is a part of such a prompt: JSON between a line with its name and one that ends it.
var section = regexp.MustCompile(`(?s)^\s*<([a-z_]+)>\n(.*?)\n</([a-z_]+)>`)

// readPrompt parses a prompt. A prompt in another form is taken as the question itself.
func readPrompt(prompt string) lcbPrompt {
	p := lcbPrompt{text: prompt}
	for rest := prompt; ; {
		m := section.FindStringSubmatch(rest)
		if m == nil || m[1] != m[3] {
			return p
		}
		rest = rest[len(m[0]):]
		switch v := gjson.Parse(m[2]); m[1] {
		case "bridge_context":
			p.private = v.Get("chatType").String() == "p2p"
			if id := v.Get("senderId").String(); chat.ValidID(id) == nil {
				p.who = chat.Actor{ID: id, Name: v.Get("senderName").String()}
			}
			p.text = strings.TrimSpace(rest) // of early versions, which put the question after it
		case "user_input":
			p.text = v.Get("text").String()
			return p
		}
	}
}
