package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"magpie/db"
	"magpie/feishu"
)

// database looks whether the database can be read and is whole, also while a service uses it.
func (d *doctor) database(ctx context.Context, c config) {
	if c.DB.Validate() != nil {
		return
	}
	path := databasePath(c.DB)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.add(fine, "", "database: %s will be made at the first start", path)
		return
	}
	var corrupt *db.CorruptError
	switch err := checkDatabase(ctx, c.DB); {
	case errors.As(err, &corrupt):
		d.add(wrong, "restore the latest file made by magpie backup, as said", "database: %v", err)
		return
	case err != nil:
		d.add(wrong, "see that the user that runs magpie may read it, and that this magpie is not older than its data", "database: %s: %v", path, err)
		return
	}
	if pid := servedBy(path); pid != 0 {
		d.add(fine, "", "database: %s is whole; process %d serves it", path, pid)
	} else {
		d.add(fine, "", "database: %s is whole; no process serves it", path)
	}
}

func databasePath(c db.Config) string {
	path, _ := strings.CutPrefix(c.URL, "sqlite://")
	return path
}

// checkDatabase reads the whole database.
func checkDatabase(ctx context.Context, c db.Config) error {
	store, err := db.OpenReadOnly(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(store.Check(ctx), store.Close())
}

// servedBy gives the process that serves the database, 0 when none does. The lock's file outlives it.
func servedBy(path string) int {
	text, err := os.ReadFile(path + ".lock")
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return 0
	}
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return 0
	}
	return pid
}

// testedCLI is the version of the CLI that the tests run.
const testedCLI = "2.1.197"

// cliPatience is how long the CLI may take to tell its version or login.
const cliPatience = 30 * time.Second

// cli looks whether the CLI is there, of a version that is known, and logged in.
func (d *doctor) cli(ctx context.Context, c config) {
	path, err := exec.LookPath(c.Claude.Command)
	if err != nil {
		return // the configuration's check has told
	}
	out, err := d.runCLI(ctx, c, path, "--version")
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	switch age := compareVersions(version, testedCLI); {
	case err != nil:
		d.add(wrong, "install it anew: npm install -g @anthropic-ai/claude-code", "claude: %s --version: %v", path, err)
		return
	case version == testedCLI:
		d.add(fine, "", "claude: %s is version %s", path, version)
	case age < 0:
		d.add(doubt, "npm install -g @anthropic-ai/claude-code@"+testedCLI, "claude: %s is version %s, older than the %s that magpie is tested with", path, version, testedCLI)
	default:
		d.add(fine, "", "claude: %s is version %s; magpie is tested with %s", path, version, testedCLI)
	}
	if _, err := d.runCLI(ctx, c, path, "auth", "status"); err != nil {
		d.add(wrong, "as the user that runs magpie: claude auth login, or set ANTHROPIC_API_KEY in [claude.env]", "claude: not logged in")
	} else {
		d.add(fine, "", "claude: logged in")
	}
}

// runCLI runs the CLI with its environment, in which there is nothing of ours.
func (d *doctor) runCLI(ctx context.Context, c config, path string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cliPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	for _, kv := range d.environ {
		if !strings.HasPrefix(kv, envPrefix) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	for name, value := range c.Claude.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// compareVersions tells whether a is older (-1), the same (0) or newer (1) than b, both like 2.1.197. What is no version
// counts as old.
func compareVersions(a, b string) int {
	var x, y [3]int
	_, errA := fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	if _, errB := fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2]); errA != nil || errB != nil {
		return -1
	}
	for i := range x {
		switch {
		case x[i] < y[i]:
			return -1
		case x[i] > y[i]:
			return 1
		}
	}
	return 0
}

// tolerance is how far two clocks may be apart.
const tolerance = time.Minute

// platform looks whether the platform takes the app, and what the app lacks there.
func (d *doctor) platform(ctx context.Context, c config) {
	if c.Feishu.Validate() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	found := feishu.Check(ctx, c.Feishu)
	var refusal *feishu.Error
	switch {
	case errors.As(found.Credentials, &refusal) && refusal.Code != 0:
		d.add(wrong, "copy id and secret anew from the app's page \"Credentials & Basic Info\"", "platform: the app is refused: %v", found.Credentials)
	case found.Credentials != nil:
		d.add(wrong, "check the network, its proxy, and [feishu] base_url", "platform: not reached: %v", found.Credentials)
	default:
		d.add(fine, "", "platform: it takes the app's id and secret")
		d.app(found)
	}
	switch {
	case !found.Dated:
	case found.Ahead.Abs() > tolerance:
		d.add(doubt, "let the system keep the time: timedatectl set-ntp true", "clock: %v from the platform's", found.Ahead)
	default:
		d.add(fine, "", "clock: right")
	}
}

// app tells what an app that the platform takes lacks.
func (d *doctor) app(found feishu.Checkup) {
	if found.Bot != nil {
		d.add(wrong, "add the Bot capability in the console and publish a new version", "bot: %v", found.Bot)
	} else {
		d.add(fine, "", "bot: there is one")
	}
	switch {
	case len(found.Missing) > 0:
		d.add(wrong, "add one of them under Permissions in the console, and publish a new version", "permissions of the app: missing %s", strings.Join(found.Missing, " or "))
	case found.Chats != nil:
		d.add(doubt, "see the list of permissions in README.md", "permissions of the app: %v", found.Chats)
	default:
		d.add(fine, "", "permissions of the app: it may see its chats")
	}
}

// Space that should be free: a full disk stops the store, and the agent.
const (
	roomy = 1 << 30   // bytes
	tight = 100 << 20 // bytes
)

// disk looks whether the database and the project have room.
func (d *doctor) disk(c config) {
	d.space("database", existing(filepath.Dir(databasePath(c.DB))))
	d.space("project", existing(c.Claude.Project))
}

func (d *doctor) space(what, path string) {
	free, err := freeSpace(path)
	switch {
	case err != nil:
		d.add(doubt, "look at it with df", "disk of the %s: %s: %v", what, path, err)
	case free < tight:
		d.add(wrong, "free some space", "disk of the %s: only %d MB are free at %s", what, free>>20, path)
	case free < roomy:
		d.add(doubt, "free some space", "disk of the %s: only %d MB are free at %s", what, free>>20, path)
	default:
		d.add(fine, "", "disk of the %s: %d GB are free at %s", what, free>>30, path)
	}
}

// existing is the nearest folder of a path that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

func freeSpace(path string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// manager looks who could start the program again after a crash.
func (d *doctor) manager() {
	var managers []string
	if (serviceFlags{}).needSystemd() == nil {
		managers = append(managers, "systemd (magpie service install)")
	}
	if _, err := exec.LookPath("pm2"); err == nil {
		managers = append(managers, "pm2 (scripts/ecosystem.config.js)")
	}
	if len(managers) == 0 {
		d.add(doubt, "install pm2, or see to it yourself that magpie serve is started again", "service manager: there is neither systemd nor pm2")
		return
	}
	d.add(fine, "", "service manager: %s", strings.Join(managers, ", "))
}
