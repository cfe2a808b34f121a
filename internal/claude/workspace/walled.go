package workspace

import (
	"path/filepath"
	"slices"

	"magpie/internal/claude/wall"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// WallMode says whether the kernel is to hide this program's files from agents.
type WallMode string

// The values of [Config.Wall].
const (
	wallAuto    WallMode = "auto"
	wallOff     WallMode = "off"
	wallRequire WallMode = "require"
)

func (m WallMode) wanted() bool { return m != "" && m != wallOff }

// Works reports whether agents run behind a wall.
func (m WallMode) Works() bool { return m.wanted() && wall.Available() == nil }

// Missing says why agents run without a wall although one is wanted; nil = they do not.
func (m WallMode) Missing() error {
	if !m.wanted() {
		return nil
	}
	return wall.Available()
}

func (m WallMode) check() error {
	known := []string{string(wallAuto), string(wallOff), string(wallRequire)}
	switch {
	case m != "" && !slices.Contains(known, string(m)):
		return i18n.Mistakef("[claude] wall %q：应为 %s 之一", "[claude] wall %q: must be one of %s", m,
			i18n.Listing(known))
	case m == wallRequire && m.Missing() != nil:
		return i18n.Mistakef(
			`[claude] wall = "require"：这台机器上做不到：%v；要让没有这道墙的助手也能运行，就写 "auto"`,
			`[claude] wall = "require": this machine cannot do that: %v; to let agents run without it, write "auto"`,
			m.Missing())
	}
	return nil
}

// wallAround says what the kernel hides from a process: the program's data, the state of other chats' agents, the files
// with secrets, and the sessions of the machine's user. The login is not hidden: the CLI itself needs it. nil = there is
// no wall.
func wallAround(a Agent, spec Spec) *wall.Plan {
	if !a.Config.Wall.Works() {
		return nil
	}
	hide := append([]string{a.Config.Data, string(a.state)}, a.Config.Private...)
	show := []string{spec.Dir, spec.Files, a.Config.Command, a.state.settings(), a.state.loginSettings()}
	if a.folder.path != "" {
		for _, name := range sessionsOfMachine {
			hide = append(hide, filepath.Join(a.folder.machine, name))
		}
		show = append(show, a.folder.path, a.state.chatSettings(a.folder.path))
	}
	return &wall.Plan{Hide: outermost(realPaths(hide)), Show: realPaths(show)}
}

// realPaths are the paths without symbolic links, see [realPath]. Empty ones are left out.
func realPaths(paths []string) (list []string) {
	for _, path := range paths {
		if path != "" {
			list = append(list, realPath(path))
		}
	}
	return list
}

// outermost are the paths that are not below another one, each once.
func outermost(paths []string) []string {
	return slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(paths))), func(path string) bool {
		return slices.ContainsFunc(paths, func(other string) bool {
			return other != path && safepath.Contains(other, path)
		})
	})
}
