// Package migrate reads what other bridges between Feishu and Claude Code have stored, and says what of it Magpie can
// carry over: the app, who may use the bot, projects, settings, and what was said. Their files are only read.
//
// Writing what comes of it does not belong here.
package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"magpie/bridge"
	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/config"
	"magpie/internal/safepath"
)

// Options say what is read, and where what comes of it will go.
type Options struct {
	From    string // the other bridge's configuration, or the folder of it; empty = where it usually lies
	Name    string // which of its projects or profiles; empty = the only one, or the active one
	Secret  string // of the app; empty = the one that the other bridge has
	Config  string // the magpie.toml that is to be written
	Data    string // folder for the database
	Lang    i18n.Lang
	Environ []string
}

// Found is what another bridge has stored, as Magpie would have it.
type Found struct {
	Bridge string // its name
	Path   string // of its configuration
	Chats  []Chat
	Notes  []string // what cannot be carried over, and why

	file file
	opt  Options
}

// Chat is what was said in a chat, and what was set for it.
type Chat struct {
	Key     chat.Key
	Kind    chat.Kind
	Project string // name of the project in which its agent works; empty = the usual one
	Mention chat.MentionRule
	talks   []talk
}

// file is the configuration that is written.
type file struct {
	Feishu struct {
		AppID        string `toml:"app_id"`
		AppSecret    string `toml:"app_secret"`
		BaseURL      string `toml:"base_url,omitempty"`
		Lang         string `toml:"lang,omitempty"`
		GroupMention string `toml:"group_mention,omitempty"`
	} `toml:"feishu"`
	Claude struct {
		Project        string `toml:"project,omitempty"`
		Model          string `toml:"model,omitempty"`
		Effort         string `toml:"effort,omitempty"`
		PermissionMode string `toml:"permission_mode,omitempty"`
	} `toml:"claude,omitempty"`
	Access struct {
		Admins []string `toml:"admins,omitempty"`
		Allow  []string `toml:"allow,omitempty"`
	} `toml:"access,omitempty"`
	Projects map[string]string `toml:"projects,omitempty"`
	DB       struct {
		URL string `toml:"url"`
	} `toml:"db"`
}

// reader collects what is found.
type reader struct {
	*Found
	vars  map[string]string
	home  string
	guard bridge.Guard
}

func newReader(name string, o Options) reader {
	r := reader{Found: &Found{Bridge: name, opt: o}, vars: env.ToMap(o.Environ)}
	if r.home = r.vars["HOME"]; r.home == "" {
		r.home, _ = os.UserHomeDir()
	}
	r.guard = bridge.Guard{
		Homes: claude.Config{Environ: o.Environ}.Homes(), Data: o.Data, Files: []string{o.Config},
	}
	r.file.Projects = map[string]string{}
	r.file.DB.URL = "sqlite://" + filepath.Join(o.Data, "magpie.db")
	return r
}

// note says what is not carried over.
func (r reader) note(p i18n.Phrase, args ...any) {
	r.Notes = append(r.Notes, p.Sprintf(r.opt.Lang, args...))
}

// fail is a mistake of the operator, or a configuration that cannot be used.
func (r reader) fail(p i18n.Phrase, args ...any) error {
	return &config.Error{Err: errors.New(p.Sprintf(r.opt.Lang, args...))}
}

// why says in words why a file cannot be used.
func (r reader) why(err error) string {
	switch {
	case errors.Is(err, errNotRegular):
		return textNotRegular.In(r.opt.Lang)
	case errors.Is(err, errTooLarge):
		return textTooLarge.In(r.opt.Lang)
	}
	var path *os.PathError
	if errors.As(err, &path) { // the file is named anyway
		err = path.Err
	}
	return err.Error()
}

// expandHome replaces ~ at the beginning of a path.
func (r reader) expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(r.home, rest)
	}
	return path
}

// usable is a folder in which an agent may work here; else it is noted why not, and the answer is empty.
func (r reader) usable(dir string) string {
	if dir = r.expandHome(strings.TrimSpace(dir)); dir == "" {
		return ""
	}
	if !filepath.IsAbs(dir) {
		r.note(textRelative, dir)
		return ""
	}
	if _, err := r.guard.Check(dir); err != nil {
		r.note(textNoProject, dir, err)
		return ""
	}
	return filepath.Clean(dir)
}

// mostProjects bounds how many projects are taken over.
const mostProjects = 200

// reservedNames are not those of projects: chats take their settings back with them.
var reservedNames = []string{"default", "auto", "默认", "自动"}

// addProject makes a folder a project to which chats can change, and returns its name; empty = it is the usual one, or
// none. Of several folders with the same name the later ones get a number.
func (r reader) addProject(name, dir string) string {
	if dir = r.usable(dir); dir == "" || dir == r.file.Claude.Project || len(r.file.Projects) >= mostProjects {
		return ""
	}
	for known, path := range r.file.Projects {
		if path == dir {
			return known
		}
	}
	name = cmp.Or(safepath.Slug(name, 48), safepath.Slug(filepath.Base(dir), 48), "project")
	if slices.Contains(reservedNames, strings.ToLower(name)) {
		name += "-project"
	}
	free := name
	for n := 2; r.file.Projects[free] != ""; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	r.file.Projects[free] = dir
	return free
}

// allow lets people and chats in, or makes people admins, as far as the ids are those of Feishu.
func (r reader) allow(list *[]string, key string, ids []string) {
	var odd []string
	for _, id := range ids {
		id = strings.TrimSpace(id)
		a := access.Config{Allow: []string{id}}
		if key == "admins" {
			a = access.Config{Admins: []string{id}}
		}
		switch {
		case id == "" || id == "*" || slices.Contains(*list, id):
		case a.Validate() != nil || chat.ValidID(id) != nil:
			odd = append(odd, id)
		default:
			*list = append(*list, id)
		}
	}
	if len(odd) > 0 {
		r.note(textOddIDs, key, fmt.Sprintf("%q", odd[:min(len(odd), 5)]), len(odd))
	}
}

// setMode takes over a permission mode, unless it lets the agent do anything unasked.
func (r reader) setMode(mode string) {
	switch mode {
	case "", "default":
	case "bypassPermissions":
		r.note(textBypass)
	default:
		if slices.Contains(claude.PermissionModes, mode) {
			r.file.Claude.PermissionMode = mode
		} else {
			r.note(textOddMode, mode)
		}
	}
}

// finish checks what has to be there.
func (r reader) finish() (*Found, error) {
	f := &r.file
	f.Feishu.AppSecret = cmp.Or(r.opt.Secret, f.Feishu.AppSecret)
	if f.Feishu.AppSecret == "" {
		r.note(textNoSecret)
	}
	if f.Claude.Project == "" {
		r.note(textDefaultProject, claude.DefaultProject)
	}
	check := config.Defaults()
	check.Feishu.AppID, check.Feishu.BaseURL = f.Feishu.AppID, f.Feishu.BaseURL
	check.Feishu.AppSecret = cmp.Or(f.Feishu.AppSecret, "secret") // it may be given later
	check.Access = access.Config{Admins: f.Access.Admins, Allow: f.Access.Allow}
	if err := errors.Join(check.Feishu.Validate(), check.Access.Validate()); err != nil {
		return nil, &config.Error{Err: fmt.Errorf("%s: %w", r.Path, err)}
	}
	r.dropSilent()
	return r.Found, nil
}

// dropSilent leaves out the chats of which nothing is known but a setting: there is nothing that it could be set for.
func (r reader) dropSilent() {
	silent := 0
	r.Chats = slices.DeleteFunc(r.Chats, func(c Chat) bool {
		none := len(c.talks) == 0
		if none && (c.Project != "" || c.Mention != "") {
			silent++
		}
		return none
	})
	if silent > 0 {
		r.note(textSilentChats, silent)
	}
}
