package bridge

import (
	"cmp"
	"context"
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
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
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
}

// UnmarshalText reads an entry that is only a path.
func (p *Project) UnmarshalText(text []byte) error {
	p.Path = string(text)
	return nil
}

// Permission modes that the code refers to.
const (
	defaultMode = "default"
	editsMode   = "acceptEdits"
	bypassMode  = "bypassPermissions"
)

var modes = workspace.PermissionModes

func modeRank(mode string) int { return slices.Index(modes, cmp.Or(mode, defaultMode)) }

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

// Workplace is a project from the view of chats: a folder in which agents may work, and the highest permission mode
// there.
type Workplace struct {
	name string // empty = the default project
	Dir  string
	Mode string
}

// label is the project's name for users, or the name of its folder, but not the path.
func (p Workplace) label() string { return cmp.Or(p.name, projectName(p.Dir)) }

// projectLabel names for users where the agent of a chat works.
func (cfg Config) projectLabel(c db.Chat) string {
	p, err := cfg.projectOf(c)
	if err != nil {
		return c.Settings.Project
	}
	return p.label()
}

// workplaces lists the projects, the default one first.
func (cfg Config) workplaces() []Workplace {
	list := []Workplace{{"", cfg.Project, cfg.PermissionMode}}
	for _, name := range slices.Sorted(maps.Keys(cfg.Projects)) {
		p := cfg.Projects[name]
		list = append(list, Workplace{name, p.Path, p.highestMode(cfg.PermissionMode)})
	}
	return list
}

// Workplaces lists where agents may work, the default project first; each folder and mode once.
func Workplaces(cfg Config) (list []Workplace) {
	for _, w := range cfg.workplaces() {
		w.name = ""
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// findProject looks a project up by the name that a user typed. Another project may have the name of the default one's
// folder.
func (cfg Config) findProject(name string) (Workplace, bool) {
	list := cfg.workplaces()
	usual, named := list[0], list[1:]
	if i := slices.IndexFunc(named, func(p Workplace) bool { return strings.EqualFold(p.name, name) }); i >= 0 {
		return named[i], true
	}
	return usual, slices.Contains(byDefault, strings.ToLower(name)) || strings.EqualFold(usual.label(), name)
}

// errNoProject means that the chat's project is no longer configured.
var errNoProject = errors.New("the chat's project is not configured")

// projectOf returns the project of a chat.
func (cfg Config) projectOf(c db.Chat) (Workplace, error) {
	for _, p := range cfg.workplaces() {
		if p.name == c.Settings.Project || p.name != "" && p.Dir == c.Settings.Project {
			return p, nil
		}
	}
	return Workplace{}, errNoProject
}

// workingDir returns the chat's working folder if agents may work there now: a symbolic link may have changed since
// startup.
func (cfg Config) workingDir(c db.Chat) (string, error) {
	p, err := cfg.projectOf(c)
	if err != nil {
		return "", err
	}
	dir, err := cfg.Guard.ResolveDir(p.Dir)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoProject, err)
	}
	return dir, nil
}

// projectDir is the chat's working folder; empty if its project is no longer configured.
func (cfg Config) projectDir(c db.Chat) string {
	p, err := cfg.projectOf(c)
	if err != nil {
		return ""
	}
	return p.Dir
}

// permissionMode is the mode that the chat has chosen, or the configured one, limited to what the project allows.
func (cfg Config) permissionMode(c db.Chat) string {
	mode := cmp.Or(c.Settings.Mode, cfg.PermissionMode)
	p, err := cfg.projectOf(c)
	// Without a project the strictest mode applies.
	if err != nil {
		return modes[0]
	}
	if modeRank(mode) > modeRank(p.Mode) || modeRank(mode) < 0 {
		return p.Mode
	}
	return mode
}

// workspace describes the working folder of a chat. A project that allows less than the default mode is read-only: an
// approved plan would leave that mode.
func (cfg Config) workspace(c db.Chat, dir string) approval.Workspace {
	p, err := cfg.projectOf(c)
	readOnly := err != nil || modeRank(p.Mode) < modeRank(defaultMode)
	return approval.Workspace{Dir: dir, ReadOnly: readOnly, AskAll: cfg.AskEverything}
}

// protectedPaths returns the files that only admins may let an agent touch.
func (cfg Config) protectedPaths() approval.ProtectedPaths {
	g := cfg.Guard
	return approval.ProtectedPaths{
		Data: g.Data, State: g.State, Received: cfg.Files.Folder, Files: g.Files, Homes: g.Homes,
	}
}

// projectName is the name, for users, of a project without a name of its own: that of its folder.
func projectName(dir string) string {
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

// CheckProjects reports all problems with the folders that agents work in.
func (cfg Config) CheckProjects() error {
	var errs []error
	if _, err := cfg.Guard.ResolveDir(cfg.Project); err != nil {
		errs = append(errs, i18n.Mistakef("[claude] project：%v", "[claude] project: %v", err))
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Projects)) {
		p := cfg.Projects[name]
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
		default:
			if _, err := cfg.Guard.ResolveDir(p.Path); err != nil {
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
		!slices.Contains(byDefault, strings.ToLower(name))
}

// listProjects is the command /projects.
func (cs *commandSet) listProjects(_ context.Context, o invocation) (commandResult, error) {
	var s strings.Builder
	s.WriteString(i18n.ProjectsHead.In(o.lang) + "\n")
	now, err := cs.cfg.projectOf(o.chat)
	var others []chat.Button
	for _, p := range cs.cfg.workplaces() {
		mark := ""
		if err == nil && p == now {
			mark = i18n.ProjectHere.In(o.lang)
		} else {
			others = append(others, turncard.CommandButton(p.label(), "/cd "+cmp.Or(p.name, byDefault[0])))
		}
		fmt.Fprintf(
			&s, i18n.ProjectLine.In(o.lang)+"\n", p.label(), modeWords[cmp.Or(p.Mode, defaultMode)].In(o.lang),
			mark,
		)
	}
	s.WriteString(i18n.ProjectsUsage.In(o.lang))
	return offer(s.String(), others)
}

// changeProject is the command /cd.
func (cs *commandSet) changeProject(ctx context.Context, o invocation) (commandResult, error) {
	if o.args == "" {
		return cs.listProjects(ctx, o)
	}
	if !cs.access.Load().InCharge(o.Incoming) {
		return o.say(i18n.ForAdminsInGroups)
	}
	cfg := cs.cfg
	p, ok := cfg.findProject(o.args)
	if ok {
		if _, err := cfg.Guard.ResolveDir(p.Dir); err != nil {
			cs.log.Error().Err(err).Str("project", p.label()).Msg("agents may not work in a project")
			ok = false
		}
	}
	if !ok {
		return o.say(i18n.NoSuchProject)
	}
	c := o.chat
	c.Settings.Project = p.name
	mode := modeWords[cmp.Or(cfg.permissionMode(c), defaultMode)].In(o.lang)
	return o.set(func(s *db.Settings) { s.Project = p.name }, i18n.ProjectChanged, p.label(), mode)
}

// changeMode is the command /mode.
func (cs *commandSet) changeMode(_ context.Context, o invocation) (commandResult, error) {
	p, err := cs.cfg.projectOf(o.chat)
	if err != nil {
		return o.say(i18n.ProjectGone)
	}
	free := modes[:modeRank(p.Mode)+1]
	if o.args == "" {
		var buttons []chat.Button
		for _, m := range free {
			buttons = append(buttons, turncard.CommandButton(modeWords[m].In(o.lang)+" ("+m+")", "/mode "+m))
		}
		return offer(i18n.ModeNow.Sprintf(o.lang, modeLabels(o.lang, cs.cfg.permissionMode(o.chat))), buttons)
	}
	if !cs.access.Load().InCharge(o.Incoming) {
		return o.say(i18n.ForAdminsInGroups)
	}
	i := slices.IndexFunc(modes, func(m string) bool {
		return strings.EqualFold(m, o.args) || modeNames[m] == o.args || modeWords[m].In(o.lang) == o.args
	})
	switch {
	case i < 0:
		return o.say(i18n.NoSuchMode, modeLabels(o.lang, free...))
	case i > modeRank(p.Mode):
		return o.say(i18n.ModeTooHigh, modeLabels(o.lang, modes[i]), modeLabels(o.lang, p.Mode))
	}
	return o.set(func(s *db.Settings) { s.Mode = modes[i] }, i18n.ModeChanged, modeLabels(o.lang, modes[i]))
}

// modeWords describe the modes.
var modeWords = map[string]i18n.Phrase{
	"plan": i18n.ModePlan, "dontAsk": i18n.ModeDontAsk, defaultMode: i18n.ModeDefault, editsMode: i18n.ModeEdits,
	"auto": i18n.ModeAuto, bypassMode: i18n.ModeBypass,
}

// modeLabels lists modes with their meaning and name.
func modeLabels(l i18n.Lang, list ...string) string {
	var shown []string
	for _, m := range list {
		m = cmp.Or(m, defaultMode)
		shown = append(shown, i18n.ModeNamed.Sprintf(l, modeWords[m].In(l), m))
	}
	return strings.Join(shown, i18n.Enumeration.In(l))
}

// modeNames are the Chinese names of the modes.
var modeNames = map[string]string{
	"plan": "计划", "dontAsk": "不询问", defaultMode: "默认", editsMode: "接受编辑", "auto": "自动", bypassMode: "跳过权限",
}

// GuardedFiles are patterns of the names of files and folders that make others obey, see [approval.Guarded].
func GuardedFiles() []string { return approval.Guarded() }
