package services

import (
	"cmp"
	"context"
	"fmt"

	"magpie/internal/operator/systemd"
)

// Manager is the name of the system's service manager.
const Manager = "Task Scheduler"

// Available is always nil: every Windows has the task scheduler.
func Available(_ string) error { return nil }

// Install installs and starts a service, or restarts it.
func Install(ctx context.Context, i Installation) error {
	j, err := newJob(i)
	if err != nil {
		return err
	}
	t, err := newScheduledTask(j)
	if err == nil && i.DryRun {
		fmt.Print(t.text())
		return nil
	}
	if err != nil {
		return err
	}
	return t.install(ctx)
}

// Uninstall stops a service and removes it.
func Uninstall(ctx context.Context, s Service, _ bool) error {
	return scheduledTask{job: job{Name: s.Name, Lang: cmp.Or(s.Lang, systemd.ConfiguredLang())}}.uninstall(ctx)
}

// Status prints the state of a service.
func Status(ctx context.Context, s Service) error {
	return scheduledTask{job: job{Name: s.Name}}.status(ctx)
}
