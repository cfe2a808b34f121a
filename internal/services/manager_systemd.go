//go:build !darwin && !windows

package services

import (
	"context"

	"magpie/internal/systemd"
)

// Manager names what runs services on this system.
const Manager = "systemd"

// Available fails where the manager does not run this machine; root is the folder that stands for /.
func Available(root string) error { return systemd.Available(root) }

// Install installs and starts a service. A second time it changes nothing.
func Install(ctx context.Context, i Installation) error { return i.Install(ctx) }

// Uninstall stops a service and removes it; with force also one that somebody has edited.
func Uninstall(ctx context.Context, s Service, force bool) error { return s.Uninstall(ctx, force) }

// Status prints how a service is.
func Status(ctx context.Context, s Service) error { return s.Status(ctx) }
