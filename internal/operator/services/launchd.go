package services

import (
	"context"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"magpie/internal/i18n"
	"magpie/internal/operator/systemd"
)

//go:embed agent.plist.tmpl
var agentText string

var agentTemplate = template.Must(
	template.New("agent.plist").Funcs(template.FuncMap{"xml": escapeXML}).Parse(agentText),
)

// escapeXML escapes s for the text of an element.
func escapeXML(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

// launchAgent is the bridge as a launchd agent of one user (launchd.plist(5)).
type launchAgent struct {
	job
	Path string // PATH of the agents: launchd's own has only the system's programs
	Home string
	UID  int
}

// Label is the name of the job.
func (a launchAgent) Label() string { return "local." + a.Name }

// Log is the path of the output.
func (a launchAgent) Log() string { return filepath.Join(a.Home, "Library", "Logs", a.Name+".log") }

// StopSeconds is how long launchd waits after SIGTERM.
func (a launchAgent) StopSeconds() int { return int(systemd.StopTimeout.Seconds()) }

// plist is the text of the property list.
func (a launchAgent) plist() string {
	var b strings.Builder
	if err := agentTemplate.Execute(&b, a); err != nil {
		panic(err) // an error in the template
	}
	return b.String()
}

// file is the path of the property list.
func (a launchAgent) file() string {
	return filepath.Join(a.Home, "Library", "LaunchAgents", a.Label()+".plist")
}

// target names the job among those of the user who is logged in at the screen.
func (a launchAgent) target() string { return fmt.Sprintf("gui/%d/%s", a.UID, a.Label()) }

// newLaunchAgent makes the agent of this user.
func newLaunchAgent(j job) (launchAgent, error) {
	home, err := os.UserHomeDir()
	return launchAgent{job: j, Path: os.Getenv("PATH"), Home: home, UID: os.Getuid()}, err
}

// install writes the property list and starts the job, or restarts a running one.
func (a launchAgent) install(ctx context.Context) error {
	path := a.file()
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(a.Log())} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := a.unload(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(a.plist()), 0o644); err != nil {
		return err
	}
	fmt.Print(i18n.ServiceWrote.Line(a.Lang, path))
	if err := run(ctx, "launchctl", "bootstrap", fmt.Sprintf("gui/%d", a.UID), path); err != nil {
		return err
	}
	fmt.Print(i18n.ServiceStartedAtLogin.Line(a.Lang, a.Name, a.Log()))
	return nil
}

// unloadTick is the interval at which an ending job is checked.
const unloadTick = 100 * time.Millisecond

// unload ends the job, if it is loaded, and waits until it is gone: launchd does not accept it a second time.
func (a launchAgent) unload(ctx context.Context) error {
	if run(ctx, "launchctl", "print", a.target()) != nil {
		return nil
	}
	if err := run(ctx, "launchctl", "bootout", a.target()); err != nil {
		return err
	}
	for range systemd.StopTimeout / unloadTick {
		if run(ctx, "launchctl", "print", a.target()) != nil {
			return ctx.Err()
		}
		time.Sleep(unloadTick)
	}
	return i18n.Mistakef("%s 没有结束", "%s does not end", a.target())
}

// uninstall ends the job and removes its property list.
func (a launchAgent) uninstall(ctx context.Context) error {
	if err := a.unload(ctx); err != nil {
		return err
	}
	err := os.Remove(a.file())
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Print(i18n.ServiceNothingToDo.Line(a.Lang, a.file()))
		return nil
	} else if err != nil {
		return err
	}
	fmt.Print(i18n.ServiceRemoved.Line(a.Lang, a.file()))
	return nil
}

// status prints launchd's information about the job.
func (a launchAgent) status(ctx context.Context) error {
	return show(ctx, "launchctl", "print", a.target())
}
