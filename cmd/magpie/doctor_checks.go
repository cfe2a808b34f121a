package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"magpie/db"
	"magpie/db/sqlite"
	"magpie/feishu"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// reading is how long a database may take to be read as a whole: some seconds per GB on a good disk.
const reading = 5 * time.Minute

// database looks whether the database can be read and is whole, also while a service uses it.
func (d *doctor) database(ctx context.Context, c config) {
	if c.DB.Validate() != nil {
		return
	}
	path := databasePath(c.DB)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.noDatabase(c.DB, path)
		return
	}
	reads, cancel := context.WithTimeout(ctx, reading)
	defer cancel()
	var corrupt *sqlite.CorruptError
	switch err := checkDatabase(reads, c.DB); {
	case errors.As(err, &corrupt):
		d.add(stateFail, d.lang.say(doctorTexts.Restore), doctorTexts.DBBroken, err)
		return
	case err != nil && reads.Err() != nil:
		d.add(stateWarn, d.lang.say(doctorTexts.CheckCopy), doctorTexts.DBSlow, path, reading)
		return
	case err != nil:
		d.add(stateFail, d.lang.say(doctorTexts.MayRead), doctorTexts.DBUnread, path, err)
		return
	}
	if pid := servedBy(path); pid != 0 {
		d.add(stateOK, "", doctorTexts.DBServed, path, pid)
	} else {
		d.add(stateOK, "", doctorTexts.DBWhole, path)
	}
	d.rows(reads, c.DB, path)
}

// namedRows is how many rows the doctor names.
const namedRows = 10

// rows names the rows of the database that cannot be read.
func (d *doctor) rows(ctx context.Context, c db.Config, path string) {
	store, err := db.OpenReadOnly(ctx, c)
	if err != nil {
		d.add(stateWarn, d.lang.say(doctorTexts.MayRead), doctorTexts.DBUnread, path, err)
		return
	}
	defer store.Close() //nolint:errcheck // it was only read
	if store.Current(ctx) != nil {
		return // an older schema; its rows can be read once the bridge has started
	}
	rows, err := store.Unreadable(ctx)
	if err != nil {
		d.add(stateWarn, d.lang.say(doctorTexts.MayRead), doctorTexts.DBUnread, path, err)
		return
	}
	if len(rows) == 0 {
		return
	}
	var names []string
	for _, row := range rows[:min(len(rows), namedRows)] {
		names = append(names, row.String())
	}
	if len(rows) > namedRows {
		names = append(names, "…")
	}
	d.add(stateWarn, d.lang.say(doctorTexts.CorrectRows, path), doctorTexts.RowsUnread, len(rows), strings.Join(names, "; "))
}

// noDatabase says why there is no database: none was made yet, or one was lost.
func (d *doctor) noDatabase(c db.Config, path string) {
	copies, err := c.Rescued()
	switch pid := servedBy(path); {
	case err != nil:
		d.add(stateFail, d.lang.say(doctorTexts.MayRead), doctorTexts.DBUnread, path, err)
	case len(copies) > 0:
		last := copies[len(copies)-1]
		d.add(stateFail, d.lang.say(doctorTexts.PutBack, path, last), doctorTexts.DBRescued, path, last)
	case pid != 0:
		d.add(stateFail, d.lang.say(doctorTexts.SeeLog), doctorTexts.DBLost, path, pid)
	default:
		d.add(stateOK, "", doctorTexts.DBLater, path)
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

// servedBy gives the process that serves the database, 0 when none does. The lock's file outlives the lock, and to try
// for the lock would be in the way of a program that starts; so the system is asked who holds it.
func servedBy(path string) int {
	path += ".lock"
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return 0
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil { // not Linux: that the process lives must do
		if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
			return 0
		}
		return pid
	}
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil || !strings.Contains(string(locks), fmt.Sprintf(":%d ", st.Ino)) {
		return 0
	}
	return pid
}

// The versions of the CLI that the tests run: the oldest that is supported, and today's.
const (
	oldestCLI = "2.1.197"
	testedCLI = "2.1.330"
)

// rules looks for rules that allow agents more than those who wrote them may have meant.
func (d *doctor) rules(c config) {
	if bare := c.Claude.BareRules(); len(bare) > 0 {
		d.add(stateWarn, d.lang.say(doctorTexts.RulesNarrow), doctorTexts.RulesBare, strings.Join(bare, ", "))
	}
}

// cliPatience is how long the CLI may take to tell its version or login.
const cliPatience = 30 * time.Second

// cli looks whether the CLI is there, of a version that is known, and logged in.
func (d *doctor) cli(ctx context.Context, c config) {
	if path, ok := d.installed(ctx, c); ok {
		d.login(ctx, c, path)
	}
	d.limits(c.Claude.Limits())
}

// limits tells how many turns and processes there may be, and why.
func (d *doctor) limits(l claude.Limits) {
	turns, processes := d.lang.say(doctorTexts.Configured), d.lang.say(doctorTexts.Configured)
	if l.Cores > 0 {
		turns = fmt.Sprintf(d.lang.say(doctorTexts.ByCores), l.Cores)
	}
	if l.Memory > 0 {
		processes = fmt.Sprintf(d.lang.say(doctorTexts.ByMemory), l.Memory>>20)
	}
	d.add(stateOK, "", doctorTexts.Limits, l.Turns, turns, l.Processes, processes)
}

// installed looks whether the CLI is there, and of a version that is known. It reports false when it cannot be run.
func (d *doctor) installed(ctx context.Context, c config) (path string, ok bool) {
	path, err := exec.LookPath(c.Claude.Command)
	if err != nil {
		return "", false // the configuration's check has told
	}
	out, err := d.runCLI(ctx, c, path, "--version")
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	switch {
	case err != nil:
		d.add(stateFail, d.lang.say(doctorTexts.CLIReinstall), doctorTexts.CLIFails, path, err)
		return path, false
	case compareVersions(version, oldestCLI) < 0:
		d.add(stateWarn, "npm install -g @anthropic-ai/claude-code@"+testedCLI, doctorTexts.CLIOld, path, version, oldestCLI, testedCLI)
	case compareVersions(version, testedCLI) < 0:
		d.add(stateWarn, "npm install -g @anthropic-ai/claude-code@"+testedCLI, doctorTexts.CLIOpen, path, version, testedCLI)
	case compareVersions(version, testedCLI) > 0:
		d.add(stateWarn, d.lang.say(doctorTexts.CLIStay), doctorTexts.CLINew, path, version, oldestCLI, testedCLI)
	default:
		d.add(stateOK, "", doctorTexts.CLIVersion, path, version)
	}
	return path, true
}

// login looks whether the CLI is logged in.
func (d *doctor) login(ctx context.Context, c config, path string) {
	if _, err := d.runCLI(ctx, c, path, "auth", "status"); err != nil {
		d.add(stateFail, d.lang.say(doctorTexts.CLILogin), doctorTexts.CLINoLogin)
	} else {
		d.add(stateOK, "", doctorTexts.CLILoggedIn)
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

// compareVersions tells whether a is older (-1), the same (0) or newer (1) than b, both like 2.1.197. What is no
// version counts as old.
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
func (d *doctor) platform(ctx context.Context, c config) feishu.Checkup {
	if c.Feishu.Validate() != nil {
		return feishu.Checkup{}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	found := feishu.Check(ctx, c.Feishu)
	console := c.Feishu.Console()
	switch {
	case found.Refused():
		d.add(stateFail, d.lang.say(doctorTexts.CopyAnew, console.Credentials()), doctorTexts.Refused, found.Credentials)
	case found.Credentials != nil:
		d.add(stateFail, d.lang.say(doctorTexts.CheckNetwork), doctorTexts.Unreached, found.Credentials)
	default:
		d.add(stateOK, "", doctorTexts.Taken)
		d.app(found, found.App.Lacks(c.scopes(ctx)...).Scopes, console)
		d.events(found, console)
	}
	switch {
	case !found.Dated:
	case found.Ahead.Abs() > tolerance:
		d.add(stateWarn, d.lang.say(doctorTexts.KeepTime), doctorTexts.Clock, found.Ahead)
	default:
		d.add(stateOK, "", doctorTexts.ClockRight)
	}
	return found
}

// scopes are the permissions that the app needs because of what is configured, and of what groups have set for
// themselves.
func (c config) scopes(ctx context.Context) (list []string) {
	department := func(id string) bool { return strings.HasPrefix(id, "od_") }
	if slices.ContainsFunc(c.Access.Allow, department) || slices.ContainsFunc(c.Access.Deny, department) {
		list = append(list, feishu.ForDepartments...)
	}
	rules := append(c.mentions(ctx), c.Feishu.GroupMention)
	if slices.ContainsFunc(rules, func(r chat.MentionRule) bool { return r.Known() && r != chat.MentionOnly }) {
		list = append(list, feishu.ForAllOfGroups...)
	}
	return list
}

// mentions are the rules that groups have set for themselves, as far as the database tells; what is wrong with it is
// told apart.
func (c config) mentions(ctx context.Context) (rules []chat.MentionRule) {
	store, err := db.OpenReadOnly(ctx, c.DB)
	if err != nil {
		return nil
	}
	defer store.Close() //nolint:errcheck // it was only read
	set, err := store.Chats().Mentions(ctx)
	if err != nil {
		return nil
	}
	for _, r := range set {
		rules = append(rules, chat.MentionRule(r))
	}
	return rules
}

// app tells what an app that the platform takes may not do, and which permissions it lacks.
func (d *doctor) app(found feishu.Checkup, lacks []string, console feishu.Console) {
	if found.Bot != nil {
		d.add(stateFail, d.lang.say(doctorTexts.AddBot, console.Bot(), console.Versions()), doctorTexts.BotNone, found.Bot)
	} else {
		d.add(stateOK, "", doctorTexts.Bot)
	}
	add := func(scopes []string) string {
		return d.lang.say(doctorTexts.AddScopes, console.Scopes(scopes), console.Versions())
	}
	switch {
	case len(found.Missing) > 0:
		d.add(stateFail, add(found.Missing), doctorTexts.ScopesRefused, strings.Join(found.Missing, d.lang.say(doctorTexts.ScopesAny)))
	case found.Chats != nil:
		d.add(stateWarn, d.lang.say(doctorTexts.SeeList), doctorTexts.ScopesUnknown, found.Chats)
	case len(lacks) > 0:
		d.add(stateWarn, add(lacks), doctorTexts.ScopesLack, strings.Join(lacks, ", "))
	default:
		d.add(stateOK, "", doctorTexts.Scopes)
	}
}

// events tells what the app is not told, if the platform says so.
func (d *doctor) events(found feishu.Checkup, console feishu.Console) {
	if found.Told != nil {
		return // the permission that is missing for it has been named
	}
	lacks := found.App.Lacks()
	do := d.lang.say(doctorTexts.AddEvents, console.Events(), console.Versions())
	switch missing := append(lacks.Events, lacks.Callbacks...); {
	case lacks.Deaf():
		d.add(stateFail, do, doctorTexts.Deaf, strings.Join(missing, ", "))
	case len(missing) > 0:
		d.add(stateWarn, do, doctorTexts.EventsLack, strings.Join(missing, ", "))
	default:
		d.add(stateOK, "", doctorTexts.Events)
	}
	if len(lacks.Useful) > 0 {
		d.add(stateOK, "", doctorTexts.EventsUseful, strings.Join(lacks.Useful, ", "), console.Events())
	}
}

// owner tells to whom the bot belongs, when the configuration lets nobody in.
func (d *doctor) owner(ctx context.Context, c config, app feishu.App) {
	if !c.Access.Unset() || c.Feishu.AppID == "" {
		return
	}
	user := app.Owner
	if store, err := db.OpenReadOnly(ctx, c.DB); err == nil { // what is wrong with it is told apart
		if found, err := store.Owners().Found(ctx, c.Feishu.AppID); err == nil {
			user = found.User
		}
		_ = store.Close() // it was only read
	}
	if user == "" {
		d.add(stateWarn, d.lang.say(doctorTexts.MakeOwner), doctorTexts.Nobody)
		return
	}
	d.add(stateOK, "", doctorTexts.OwnedBy, user)
}

// Space that should be free: a full disk stops the store, and the agent.
const (
	roomy = 1 << 30   // bytes
	tight = 100 << 20 // bytes
)

// disk looks whether the database and the project have room.
func (d *doctor) disk(c config) {
	d.space(doctorTexts.Database, existing(filepath.Dir(databasePath(c.DB))))
	d.space(doctorTexts.Project, existing(c.Claude.Project))
}

func (d *doctor) space(of phrase, path string) {
	what := d.lang.say(of)
	free, err := freeSpace(path)
	switch {
	case err != nil:
		d.add(stateWarn, d.lang.say(doctorTexts.DiskLook), doctorTexts.DiskUnread, what, path, err)
	case free < tight:
		d.add(stateFail, d.lang.say(doctorTexts.DiskFree), doctorTexts.DiskTight, what, free>>20, path)
	case free < roomy:
		d.add(stateWarn, d.lang.say(doctorTexts.DiskFree), doctorTexts.DiskTight, what, free>>20, path)
	default:
		d.add(stateOK, "", doctorTexts.DiskRoomy, what, free>>30, path)
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
		d.add(stateWarn, d.lang.say(doctorTexts.InstallManager), doctorTexts.NoManager)
		return
	}
	d.add(stateOK, "", doctorTexts.Managers, strings.Join(managers, ", "))
}
