package systemd

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"magpie/internal/claude/account"
	"magpie/internal/i18n"
)

// StopTimeout is how long a service manager gives the program to stop, unless shutdown_timeout is longer.
const StopTimeout = 90 * time.Second

// stopGrace is the part of it for processes that do not end.
const stopGrace = 30 * time.Second

// unit is the data of a unit file. The fields used by the template are exported.
type unit struct {
	Name    string
	System  bool   // of the machine; otherwise of one user, whose service manager can enforce less
	User    string // of a system unit
	Program string
	Config  string
	Dir     string // working folder, the base of relative paths in the configuration
	Path    string // PATH of the agent
	Secret  string // file with the app secret; empty = it is in the configuration

	Agents agents
	data   string // folder of the database

	Environment  string        // a file with variables; it need not exist
	Writable     []string      // paths that a system unit writes to, besides its state
	Shutdown     time.Duration // shutdown_timeout
	Lang         i18n.Lang     // of what is said meanwhile; empty = the locale's
	RestartSteps bool          // systemd 254 and later let the pause between restarts grow
}

// agents are the user and the folders of agents.
type agents struct {
	User       string   // empty = the user that runs the service
	Group      string   // of that user
	Configured bool     // the configuration names that user
	projects   []string // folders in which agents work
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// stateDir is where system services of that name keep their data.
func stateDir(name string) string { return filepath.Join("/var/lib", name) }

// standardUnit is the one in scripts/magpie.service.
func standardUnit() unit {
	return unit{
		Name: "magpie", System: true, User: "magpie", Program: "/usr/local/bin/magpie", Path: systemPath,
		Config: "/etc/magpie/magpie.toml", Secret: "/etc/magpie/app_secret", Environment: "/etc/magpie/environment",
		Dir: stateDir("magpie"), Agents: agents{User: "magpie-agent", Group: "magpie-agent"},
		Writable: []string{"/srv/magpie", stateDir("magpie-agent")},
	}
}

// StopSeconds is for the template.
func (u unit) StopSeconds() int { return int(max(StopTimeout, u.Shutdown+stopGrace).Seconds()) }

// Capabilities is for the template.
func (u unit) Capabilities() string { return strings.Join(account.Capabilities(), " ") }

// HidesHome reports whether the service needs no file below people's home folders, so that the unit can hide them.
func (u unit) HidesHome() bool {
	paths := append([]string{u.Program, u.Config, u.Dir, u.Secret, u.Environment}, u.Writable...)
	paths = append(paths, filepath.SplitList(u.Path)...)
	return !slices.ContainsFunc(paths, func(p string) bool {
		return slices.ContainsFunc([]string{"/home/", "/root/", "/run/user/"}, func(home string) bool {
			return strings.HasPrefix(p+"/", home)
		})
	})
}

//go:embed magpie.service.tmpl
var unitText string

// In the arguments of ExecStart a dollar sign begins a variable and a percent sign a specifier (systemd.service(5)).
var unitTemplate = template.Must(template.New("magpie.service").Funcs(template.FuncMap{
	"arg":   func(s string) string { return quote(strings.ReplaceAll(s, "$", "$$")) },
	"word":  quote,
	"plain": escapeSpecifiers,
}).Parse(unitText))

// escapeSpecifiers escapes what systemd would expand (systemd.unit(5), Specifiers).
func escapeSpecifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// quote makes one word of s, even where systemd splits at spaces (systemd.syntax(7), Quoting).
func quote(s string) string {
	s = escapeSpecifiers(s)
	if !strings.ContainsAny(s, " \t\"'\\;") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// String is the text of the file. Its first line has a checksum, which shows a later run whether the rest was edited.
func (u unit) String() string {
	var b strings.Builder
	if err := unitTemplate.Execute(&b, u); err != nil {
		panic(err) // an error in the template
	}
	return checksumLine(b.String()) + b.String()
}

func checksumLine(rest string) string {
	return fmt.Sprintf("# Written by \"magpie service install\", checksum %.8x. "+
		"Change it with \"systemctl edit\", in a drop-in.\n", sha256.Sum256([]byte(rest)))
}

// isPristine reports whether a unit file is unchanged since it was written.
func isPristine(text string) bool {
	first, rest, ok := strings.Cut(text, "\n")
	return ok && first+"\n" == checksumLine(rest)
}
