// Package migrate reads the data of other bridges between Feishu and Claude Code, and reports what Magpie can import:
// the app, access rules, projects, settings, and conversations. It only reads their files.
//
// The result is written elsewhere.
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

	"magpie/bridge/access"
	"magpie/bridge/workplace"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/safepath"
)

// Options are the source and the destination.
type Options struct {
	From    string // the other bridge's configuration or its folder; empty = the usual place
	Name    string // its project or profile; empty = the only one, or the active one
	Secret  string // of the app; empty = the one in the other bridge's data
	Config  string // the magpie.toml to write
	Data    string // folder for the database
	Lang    i18n.Lang
	Environ []string
}

// Found is the data of another bridge, converted for Magpie.
type Found struct {
	Bridge  string // its name
	Path    string // of its configuration
	Chats   []Chat
	Skipped []string // what cannot be imported, and why

	file file
	opt  Options
}

// Chat is the conversations of a chat, and its settings.
type Chat struct {
	Key     chat.Key
	Kind    chat.Kind
	Project string // name of the project in which its agent works; empty = the default one
	Mention chat.MentionRule
	talks   []talk
}

// file is the configuration to write.
type file struct {
	Feishu struct {
		AppID     string `toml:"app_id"`
		AppSecret string `toml:"app_secret"`
		BaseURL   string `toml:"base_url,omitempty"`
	} `toml:"feishu"`
	Chat struct {
		Lang         string `toml:"lang,omitempty"`
		GroupMention string `toml:"group_mention,omitempty"`
	} `toml:"chat,omitempty"`
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

// reader collects the results.
type reader struct {
	*Found
	vars  map[string]string
	home  string
	guard workplace.Guard
}

func newReader(name string, o Options) reader {
	r := reader{Found: &Found{Bridge: name, opt: o}, vars: env.ToMap(o.Environ)}
	if r.home = r.vars["HOME"]; r.home == "" {
		r.home, _ = os.UserHomeDir()
	}
	r.guard = workplace.Guard{
		Homes: claude.Config{Environ: o.Environ}.Homes(), Data: o.Data, Files: []string{o.Config},
	}
	r.file.Projects = map[string]string{}
	r.file.DB.URL = "sqlite://" + filepath.Join(o.Data, "magpie.db")
	return r
}

// noteSkipped records something that is not imported.
func (r reader) noteSkipped(p i18n.Phrase, args ...any) {
	r.Skipped = append(r.Skipped, config.LocatePages(p.Sprintf(r.opt.Lang, args...)))
}

// fail is an error of the operator, or a configuration that cannot be used.
func (r reader) fail(p i18n.Phrase, args ...any) error {
	return &config.Error{Err: errors.New(p.Sprintf(r.opt.Lang, args...))}
}

// explain describes why a file cannot be used.
func (r reader) explain(err error) string {
	switch {
	case errors.Is(err, safepath.ErrNotRegular):
		return i18n.MigrateNotRegular.In(r.opt.Lang)
	case errors.Is(err, safepath.ErrTooLarge):
		return i18n.MigrateTooLarge.In(r.opt.Lang)
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

// usableDir returns a folder if an agent may work there; otherwise it notes the reason and returns an empty string.
func (r reader) usableDir(dir string) string {
	if dir = r.expandHome(strings.TrimSpace(dir)); dir == "" {
		return ""
	}
	if !filepath.IsAbs(dir) {
		r.noteSkipped(i18n.MigrateRelative, dir)
		return ""
	}
	if _, err := r.guard.ResolveDir(dir); err != nil {
		r.noteSkipped(i18n.MigrateNoProject, dir, err)
		return ""
	}
	return filepath.Clean(dir)
}

// maxProjects limits the number of imported projects.
const maxProjects = 200

// reservedNames cannot be names of projects: chats use them to reset a setting.
var reservedNames = []string{"default", "auto", "默认", "自动"}

// addProject adds a folder as a project that chats can switch to, and returns its name; empty = it is the default one,
// or none. Of several folders with the same name the later ones get a number.
func (r reader) addProject(name, dir string) string {
	if dir = r.usableDir(dir); dir == "" || dir == r.file.Claude.Project || len(r.file.Projects) >= maxProjects {
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

// grantAccess grants access to users and chats, or makes users admins, if the IDs are those of Feishu.
func (r reader) grantAccess(list *[]string, key string, ids []string) {
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
		r.noteSkipped(i18n.MigrateOddIDs, key, fmt.Sprintf("%q", odd[:min(len(odd), 5)]), len(odd))
	}
}

// setMode imports a permission mode, unless it lets the agent do anything without asking.
func (r reader) setMode(mode string) {
	switch mode {
	case "", "default":
	case "bypassPermissions":
		r.noteSkipped(i18n.MigrateBypass)
	default:
		if slices.Contains(workspace.PermissionModes, mode) {
			r.file.Claude.PermissionMode = mode
		} else {
			r.noteSkipped(i18n.MigrateOddMode, mode)
		}
	}
}

// finish checks the required values.
func (r reader) finish() (*Found, error) {
	f := &r.file
	f.Feishu.AppSecret = cmp.Or(r.opt.Secret, f.Feishu.AppSecret)
	if f.Feishu.AppSecret == "" {
		r.noteSkipped(i18n.MigrateNoSecret)
	}
	if f.Claude.Project == "" {
		r.noteSkipped(i18n.MigrateDefaultProject, workspace.DefaultProject)
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

// dropSilent drops the chats that only have a setting: there is nothing that it could apply to.
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
		r.noteSkipped(i18n.MigrateSilentChats, silent)
	}
}
