// Package doctor checks whether everything that the bridge needs is there, even while it runs: the configuration, the
// CLI and its login, the database, the platform's settings of the app, disk space, a service manager. Each finding says
// what to do. The package neither does it nor prints the report.
package doctor

import (
	"context"
	"os/exec"
	"slices"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// Examine runs all checks with this environment and the configuration at path; an empty path means the one that the
// bridge would find. Checks that need a value missing from a broken configuration are skipped.
func Examine(ctx context.Context, r *Report, path string, environ []string) {
	c, found, readable := checkConfig(r, path, environ)
	if !readable {
		checkManagers(r)
		return
	}
	checkRules(r, c)
	cli := CLI{Config: c.Claude, Environ: environ, NoConfig: !found}
	if _, err := exec.LookPath(c.Claude.Command); err != nil && !found {
		cli.AddMissing(r)
	}
	if path, _ := cli.Check(ctx, r); path != "" && c.Claude.Validate() == nil {
		cli.CheckStart(ctx, r, c.BridgeConfig())
	}
	cli.checkServers(ctx, r, projectsOf(c)...)
	platform := CheckPlatform(ctx, r, c)
	checkOwner(ctx, r, c, platform.App)
	if c.Feishu.Validate() == nil && platform.Credentials == nil {
		checkIDs(ctx, r, c)
	}
	checkApps(ctx, r, c)
	if !found { // setup decides where the data will be
		checkManagers(r)
		return
	}
	CheckDisk(r, c)
	checkListen(r, c)
	checkManagers(r)
	checkDatabase(ctx, r, c) // last: a large one takes a while
}

// checkApps checks the further apps, each as if it were the only one. What is found has its name.
func checkApps(ctx context.Context, r *Report, c config.Config) {
	for _, a := range c.Apps {
		alone := c
		alone.Feishu, alone.Access, alone.Apps = a.Config, a.OwnAccess(), nil
		own := &Report{Lang: r.Lang, OnFinding: func(f Finding) {
			f.What = a.Name + i18n.Colon.In(r.Lang) + f.What
			r.add(f)
		}}
		platform := CheckPlatform(ctx, own, alone)
		checkOwner(ctx, own, alone, platform.App)
		if a.Config.Validate() == nil && platform.Credentials == nil {
			checkIDs(ctx, own, alone)
		}
	}
}

// projectsOf are the folders of the projects on this machine, the default one first.
func projectsOf(c config.Config) (list []string) {
	for _, p := range c.BridgeConfig().Projects.Distinct() {
		if !slices.Contains(list, p.Dir) {
			list = append(list, p.Dir)
		}
	}
	return list
}
