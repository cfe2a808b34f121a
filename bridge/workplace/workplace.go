// Package workplace knows the folders in which agents may work: which one is whose chat's, the permission modes there,
// and what is off limits.
//
// It does not start agents, and it does not ask people.
package workplace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/bridge/approval"
	"magpie/db"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// Project is an entry of the [projects] section: a folder in which agents may work, and the highest permission mode
// there.
type Project struct {
	Path string `toml:"path"`
	Mode string `toml:"mode"` // the highest permission mode for chats; empty = the configured one
	// allows bypassPermissions, in which agents never ask for permission
	Bypass bool `toml:"bypass"`
	// the machines that have the folder; empty = each has it
	Nodes []string `toml:"nodes"`
}

// UnmarshalText reads an entry that is only a path.
func (p *Project) UnmarshalText(text []byte) error {
	p.Path = string(text)
	return nil
}

// Set is the folders in which agents may work, and the default permission mode.
type Set struct {
	Default string             // the default folder
	Mode    string             // of chats that have chosen none, and the highest one in the default folder
	Named   map[string]Project // what chats can switch to, by name
	Guard   Guard              // folders that are off limits to agents
	AskAll  bool               // the CLI asks before each tool use, even a read
	Node    string             // this machine
	// the names of all projects that the chats of a channel may use, the first one by default; others may use any
	Only map[string][]string
	// the default project is the one of this name; empty = the folder above
	usual string
}

// At is the folders in which the agents of a channel's chats may work. Others do not exist there.
func (s Set) At(channel string) Set {
	names := s.Only[channel]
	if len(names) == 0 {
		return s
	}
	all := s.Named
	s.Named, s.Only, s.usual = map[string]Project{}, nil, names[0]
	for _, name := range names {
		s.Named[name] = all[name]
	}
	return s
}

// IsHere reports whether a machine has a project's folder.
func (p Project) IsHere(node string) bool { return len(p.Nodes) == 0 || slices.Contains(p.Nodes, node) }

// DefaultMode is the mode of a project that names none.
const DefaultMode = "default"

// Further permission modes that the code refers to.
const (
	editsMode  = "acceptEdits"
	bypassMode = "bypassPermissions"
)

var modes = workspace.PermissionModes

func modeRank(mode string) int { return slices.Index(modes, cmp.Or(mode, DefaultMode)) }

// highestMode is the highest mode for chats in the project; usual is the configured one.
func (p Project) highestMode(usual string) string {
	switch {
	case p.Bypass:
		return bypassMode
	case p.Mode != "":
		return p.Mode
	case usual == bypassMode: // applies to all projects or to none
		return editsMode
	}
	return usual
}

// Place is a project from the view of chats: a folder in which agents may work, and the highest permission mode there.
type Place struct {
	Name string // empty = the default project
	Dir  string
	Mode string
	Away string // the machines that have it, if this one has not
}

// Label is the project's name for users, or the name of its folder, but not the path.
func (p Place) Label() string { return cmp.Or(p.Name, FolderName(p.Dir)) }

// Modes are the permission modes that chats may choose there.
func (p Place) Modes() []string { return modes[:modeRank(p.Mode)+1] }

// LabelOf names for users where the agent of a chat works.
func (s Set) LabelOf(c db.Chat) string {
	p, err := s.Of(c)
	if err != nil {
		return c.Settings.Project
	}
	return p.Label()
}

// List lists the projects, the default one first.
func (s Set) List() []Place {
	list := []Place{{Dir: s.Default, Mode: s.Mode}}
	if p, ok := s.Named[s.usual]; ok {
		list[0] = Place{Dir: p.Path, Mode: p.highestMode(s.Mode)}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Named)) {
		p := s.Named[name]
		place := Place{Name: name, Dir: p.Path, Mode: p.highestMode(s.Mode)}
		if !p.IsHere(s.Node) {
			place.Away = strings.Join(p.Nodes, ", ")
		}
		list = append(list, place)
	}
	return list
}

// Distinct lists where agents may work on this machine, the default project first; each folder and mode once.
func (s Set) Distinct() (list []Place) {
	for _, w := range s.List() {
		w.Name = ""
		if w.Away == "" && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// Find looks a project up by the name that a user typed. Another project may have the name of the default one's
// folder.
func (s Set) Find(name string) (Place, bool) {
	list := s.List()
	usual, named := list[0], list[1:]
	if i := slices.IndexFunc(named, func(p Place) bool { return strings.EqualFold(p.Name, name) }); i >= 0 {
		return named[i], true
	}
	return usual, slices.Contains(i18n.DefaultWords, strings.ToLower(name)) || strings.EqualFold(usual.Label(), name)
}

// ErrGone means that the chat's project is no longer configured.
var ErrGone = errors.New("the chat's project is not configured")

// AwayError means that another machine has the chat's project.
type AwayError struct{ Place }

func (e *AwayError) Error() string { return fmt.Sprintf("the project %s is on %s", e.Name, e.Away) }

// Of returns the project of a chat.
func (s Set) Of(c db.Chat) (Place, error) {
	for _, p := range s.At(c.Key.Channel).List() {
		if p.Name == c.Settings.Project || p.Name != "" && p.Dir == c.Settings.Project {
			return p, nil
		}
	}
	return Place{}, ErrGone
}

// Resolve returns the chat's working folder if agents may work there now: a symbolic link may have changed since
// startup.
func (s Set) Resolve(c db.Chat) (string, error) {
	p, err := s.Of(c)
	if err != nil {
		return "", err
	}
	if p.Away != "" {
		return "", &AwayError{p}
	}
	dir, err := s.Guard.ResolveDir(p.Dir)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrGone, err)
	}
	return dir, nil
}

// DirOf is the chat's working folder; empty if its project is no longer configured.
func (s Set) DirOf(c db.Chat) string {
	p, _ := s.Of(c)
	return p.Dir
}

// ModeOf is the mode that the chat has chosen, or the configured one, limited to what the project allows.
func (s Set) ModeOf(c db.Chat) string {
	mode := cmp.Or(c.Settings.Mode, s.Mode)
	p, err := s.Of(c)
	// Without a project the strictest mode applies.
	if err != nil {
		return modes[0]
	}
	if modeRank(mode) > modeRank(p.Mode) || modeRank(mode) < 0 {
		return p.Mode
	}
	return mode
}

// Workspace describes the working folder of a chat. A project that allows less than the default mode is read-only: an
// approved plan would leave that mode.
func (s Set) Workspace(c db.Chat, dir string) approval.Workspace {
	p, err := s.Of(c)
	readOnly := err != nil || modeRank(p.Mode) < modeRank(DefaultMode)
	return approval.Workspace{Dir: dir, ReadOnly: readOnly, AskAll: s.AskAll}
}

// FolderName is the name, for users, of a project without a name of its own: that of its folder.
func FolderName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// Guard names the folders in which agents must not work.
type Guard struct {
	Homes []string // nor in a folder that contains one
	Data  string   // the program's data; nor in a folder that contains it, or below it
	State string   // the agents' state, which may be elsewhere
	Files []string // the configuration, secrets and the agents' settings; not in a folder that contains one
	Later string   // a folder that may be missing, because it is created before it is used
}

// ResolveDir returns the folder with symbolic links resolved, or says why agents must not work there.
func (g Guard) ResolveDir(dir string) (string, error) {
	real, err := safepath.Dir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && dir == g.Later && dir != "":
		real, err = filepath.Abs(dir)
		err = errors.Join(err, g.CheckDir(real))
	case errors.Is(err, fs.ErrNotExist):
		return "", i18n.Mistakef("没有文件夹 %s：创建它，或换一个", "there is no folder %s: create it, or name another one", dir)
	case err == nil:
		err = g.CheckDir(real)
	}
	if err != nil {
		return "", err
	}
	return real, nil
}

// systemFolders would have to be given to the agent's user as a whole, which ruins a machine. Folders below them may be
// somebody's project.
var systemFolders = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/usr/local", "/var",
}

// CheckDir says why agents must not work in a folder, which need not exist yet; nil = they may.
func (g Guard) CheckDir(dir string) error {
	real, err := safepath.Resolve(dir)
	if err != nil {
		return err
	}
	// Only the root is its own parent.
	if real == filepath.Dir(real) {
		return i18n.Mistakef("助手不能在根目录里工作", "the agent cannot work in the root of the file system")
	}
	if slices.Contains(systemFolders, real) {
		return i18n.Mistakef("%s 属于操作系统，助手不能在里面工作：请换一个文件夹",
			"%s belongs to the operating system, so the agent cannot work in it: choose another folder", real)
	}
	// Keys and logins are in home folders, so an agent may work below one but not in it.
	for _, home := range g.Homes {
		if home, err := safepath.Dir(home); err == nil && safepath.Contains(real, home) {
			return i18n.Mistakef("助手不能直接在主目录或它的上级目录里工作，请在主目录里选一个文件夹",
				"the agent cannot work in a home folder itself or above it; choose a folder inside it")
		}
	}
	for _, file := range g.Files {
		if in, err := holdsFile(real, file); err != nil {
			return err
		} else if in {
			return i18n.Mistakef(
				"助手不能在放着配置或密钥的文件夹里工作，否则能读到应用密钥、修改自己的权限；请换一个不含 %s 的文件夹，或把那个文件移走",
				"the agent cannot work in a folder that holds Magpie's configuration or secret: it could read the app secret or "+
					"change its own permissions; choose a folder without %s, or move that file", file)
		}
	}
	if g.Data == "" {
		return nil
	}
	data, err := safepath.Resolve(g.Data)
	switch {
	case err != nil:
		return err
	case real == data:
		return i18n.Mistakef(
			"助手不能在这里工作，否则能读到所有聊天：鹊桥把数据放在 %s；换一个文件夹",
			"the agent cannot work here, since it could read every chat: Magpie keeps its data in %s; "+
				"choose another folder", real)
	case safepath.Contains(real, data):
		return i18n.Mistakef(
			"助手不能在这里工作，否则能读到所有聊天：%s 里有数据文件夹 %s；"+
				`把数据库放到别处，例如 [db] url = "%s"，或换一个文件夹`,
			"the agent cannot work here, since it could read every chat: %s contains the data folder %s; "+
				`put the database elsewhere, as in [db] url = "%s", or choose another folder`,
			real, data, dataElsewhere(os.Geteuid()))
	case safepath.Contains(data, real):
		return i18n.Mistakef(
			"助手不能在这里工作，否则能读到所有聊天：%s 在数据文件夹 %s 里；"+
				`换一个文件夹，或把数据库放到别处，例如 [db] url = "%s"`,
			"the agent cannot work here, since it could read every chat: %s lies in the data folder %s; "+
				`choose another folder, or put the database elsewhere, as in [db] url = "%s"`,
			real, data, dataElsewhere(os.Geteuid()))
	}
	return nil
}

// dataElsewhere is a place for the database where a user may make a folder.
func dataElsewhere(user int) string {
	if user == 0 {
		return "sqlite:///var/lib/magpie/magpie.db"
	}
	return "sqlite://~/.local/share/magpie/magpie.db"
}

// holdsFile reports whether a folder contains a file, or a link to it: whoever can change the link decides what is
// read.
func holdsFile(dir, file string) (bool, error) {
	folder, err := safepath.Resolve(filepath.Dir(file))
	if err != nil {
		return false, err
	}
	real, err := safepath.Resolve(file)
	return safepath.Contains(dir, folder) || safepath.Contains(dir, real), err
}

// Check reports all problems with the folders that agents work in.
func (s Set) Check() error {
	var errs []error
	if _, err := s.Guard.ResolveDir(s.Default); err != nil {
		errs = append(errs, i18n.Mistakef("[claude] project：%v", "[claude] project: %v", err))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Named)) {
		p := s.Named[name]
		fail := func(err error) {
			errs = append(errs, i18n.Mistakef("[projects] %s：%v", "[projects] %s: %v", name, err))
		}
		if !goodName(name) {
			fail(i18n.Mistakef("名字只能用文字、数字、- 和 _，不能是 default 或 auto",
				"the name must be of letters, digits, - and _, and not default or auto"))
		}
		switch {
		case p.Path == "":
			fail(i18n.Mistakef("缺少 path", "path is missing"))
		case p.IsHere(s.Node):
			if _, err := s.Guard.ResolveDir(p.Path); err != nil {
				fail(err)
			}
		}
		switch {
		case modeRank(p.Mode) < 0:
			fail(i18n.Mistakef("mode %q：应为 %s 之一", "mode %q: must be one of %s", p.Mode, i18n.Listing(modes)))
		case p.Mode == bypassMode && !p.Bypass:
			fail(i18n.Mistakef("mode bypassPermissions 需要 bypass = true", "mode bypassPermissions needs bypass = true"))
		case p.Bypass && p.Mode != "" && p.Mode != bypassMode:
			fail(i18n.Mistakef("bypass = true 比 mode %q 允许的更多", "bypass = true allows more than mode %q", p.Mode))
		}
	}
	return errors.Join(errs...)
}

// longestName is the maximum length of a project's name in bytes.
const longestName = 64

func goodName(name string) bool {
	odd := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' }
	return name != "" && len(name) <= longestName && utf8.ValidString(name) && !strings.ContainsFunc(name, odd) &&
		!slices.Contains(i18n.DefaultWords, strings.ToLower(name))
}
