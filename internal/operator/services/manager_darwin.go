package services

import (
	"cmp"
	"context"
	"fmt"

	"magpie/internal/operator/systemd"
)

// Manager is the name of the system's service manager.
const Manager = "launchd"

// Available is always nil: every Mac has launchd.
func Available(_ string) error { return nil }

// Install installs and starts a service, or restarts it.
func Install(ctx context.Context, i Installation) error {
	j, err := newJob(i)
	if err != nil {
		return err
	}
	a, err := newLaunchAgent(j)
	if err == nil && i.DryRun {
		fmt.Print(a.plist())
		return nil
	}
	if err != nil {
		return err
	}
	return a.install(ctx)
}

// Uninstall stops a service and removes it.
func Uninstall(ctx context.Context, s Service, _ bool) error {
	a, err := newLaunchAgent(job{Name: s.Name, Lang: cmp.Or(s.Lang, systemd.ConfiguredLang())})
	if err != nil {
		return err
	}
	return a.uninstall(ctx)
}

// Status prints the state of a service.
func Status(ctx context.Context, s Service) error {
	a, err := newLaunchAgent(job{Name: s.Name})
	if err != nil {
		return err
	}
	return a.status(ctx)
}
