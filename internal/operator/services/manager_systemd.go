//go:build !darwin && !windows

package services

import (
	"context"

	"magpie/internal/operator/systemd"
)

// Manager is the name of the system's service manager.
const Manager = "systemd"

// Available returns an error if the manager does not run this machine; root is the folder used as /.
func Available(root string) error { return systemd.Available(root) }

// Install installs and starts a service. A second time it changes nothing.
func Install(ctx context.Context, i Installation) error { return i.Install(ctx) }

// Uninstall stops a service and removes it; with force even one that was edited.
func Uninstall(ctx context.Context, s Service, force bool) error { return s.Uninstall(ctx, force) }

// Status prints the state of a service.
func Status(ctx context.Context, s Service) error { return s.Status(ctx) }
