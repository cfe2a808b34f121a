package main

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"magpie/internal/claude"
)

// stopTime is how long a service manager gives the program to stop, unless shutdown_timeout wants more; stopRest of it
// is for processes that will not go.
const (
	stopTime = 90 * time.Second
	stopRest = 30 * time.Second
)

// unit is a unit file of systemd for the service.
type unit struct {
	Name    string
	System  bool   // of the machine; otherwise of one user, whose service manager can enforce less
	User    string // of a system unit
	Agents  string // the user as whom agents run; empty = that one
	Program string
	Config  string
	Dir     string // working folder: relative paths of the configuration begin there
	Path    string // PATH of the agent
	Secret  string // file that holds the app secret; empty = it is in the configuration
	// Environment is a file with variables; it need not exist.
	Environment string
	Writable    []string      // folders and files of a system unit that it writes to, beside its state
	Shutdown    time.Duration // shutdown_timeout
	Backoff     bool          // systemd 254 and later let the pause between restarts grow
	AgentsGroup string        // the group of the agents' user
	projects    []string      // in which agents work
	data        string        // where the database lies
	Configured  bool          // the configuration names the agents' user
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// stateDir is where system services of that name keep their data.
func stateDir(name string) string { return filepath.Join("/var/lib", name) }

// standardUnit is the one in scripts/magpie.service.
func standardUnit() unit {
	return unit{
		Name: "magpie", System: true, User: "magpie", Program: "/usr/local/bin/magpie", Config: "/etc/magpie/magpie.toml",
		Dir: stateDir("magpie"), Path: systemPath, Secret: "/etc/magpie/app_secret", Environment: "/etc/magpie/environment",
		Agents: "magpie-agent", AgentsGroup: "magpie-agent", Writable: []string{"/srv/magpie", stateDir("magpie-agent")},
	}
}

// StopSeconds is for the template.
func (u unit) StopSeconds() int { return int(max(stopTime, u.Shutdown+stopRest).Seconds()) }

// Capabilities is for the template.
func (u unit) Capabilities() string { return strings.Join(claude.Capabilities(), " ") }

// Hidden reports whether the service needs nothing of people's home folders.
func (u unit) Hidden() bool {
	paths := append([]string{u.Program, u.Config, u.Dir, u.Secret, u.Environment}, u.Writable...)
	paths = append(paths, filepath.SplitList(u.Path)...)
	return !slices.ContainsFunc(paths, func(p string) bool {
		return slices.ContainsFunc([]string{"/home/", "/root/", "/run/user/"}, func(home string) bool { return strings.HasPrefix(p+"/", home) })
	})
}

//go:embed magpie.service.tmpl
var unitText string

var unitTemplate = template.Must(template.New("magpie.service").Funcs(template.FuncMap{
	"arg":   func(s string) string { return word(strings.ReplaceAll(s, "$", "$$")) },
	"word":  word,
	"plain": plain,
}).Parse(unitText))

// plain escapes what systemd would expand (systemd.unit(5), Specifiers).
func plain(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// word makes one word of s, also where systemd splits at spaces (systemd.syntax(7), Quoting).
func word(s string) string {
	s = plain(s)
	if !strings.ContainsAny(s, " \t\"'\\;") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// String is the text of the file. Its first line tells later whether somebody has edited the rest.
func (u unit) String() string {
	var b strings.Builder
	if err := unitTemplate.Execute(&b, u); err != nil {
		panic(err) // a mistake in the template
	}
	return stamp(b.String()) + b.String()
}

func stamp(rest string) string {
	return fmt.Sprintf("# Written by \"magpie service install\", checksum %.8x. Change it with \"systemctl edit\", in a drop-in.\n", sha256.Sum256([]byte(rest)))
}

// pristine reports whether a unit file is as it was written.
func pristine(text string) bool {
	first, rest, ok := strings.Cut(text, "\n")
	return ok && first+"\n" == stamp(rest)
}
