package main

import (
	"context"
	"os"

	"magpie/internal/operator/services"
)

// serviceCmd uses the system's service manager; magpie has no daemon mode of its own.
type serviceCmd struct {
	Install   serviceInstallCmd   `cmd:"" help:"Write the unit file and start the service."`
	Uninstall serviceUninstallCmd `cmd:"" help:"Stop the service and remove its unit file. Configuration and data stay."`
	Status    serviceStatusCmd    `cmd:"" help:"Show the service's status."`
}

// serviceFlags select the service.
type serviceFlags struct {
	Name  string `help:"Name of the service." default:"magpie"`
	Scope string `help:"system: for the whole machine. user: for this user only. auto: system if run as root." enum:"auto,system,user" default:"auto"`
	Root  string `help:"Folder that stands for / when files are written." hidden:"" type:"path"`
}

func (f serviceFlags) service() services.Service {
	system := f.Scope == "system" || f.Scope == "auto" && os.Geteuid() == 0
	return services.Service{Name: f.Name, System: system, Root: f.Root}
}

type serviceInstallCmd struct {
	serviceFlags
	configFlag
	User   string `help:"User that runs a system service. Default: whoever called sudo, or magpie." placeholder:"NAME"`
	Agents string `help:"User that runs the agents of a system service; \"same\" = the one that runs the service. Default: [claude] user, or else a dedicated user, which is created unless a person runs the service." placeholder:"NAME"`
	Secret string `name:"secret-file" help:"File with the app secret, if the configuration does not contain it." type:"path" placeholder:"FILE"`
	DryRun bool   `help:"Print the unit file and do nothing."`
	Force  bool   `help:"Overwrite a unit file that was edited."`
}

// Run installs the service.
func (s serviceInstallCmd) Run(ctx context.Context) error {
	return services.Install(ctx, services.Installation{
		Service: s.service(), Config: s.Config, User: s.User, Agents: s.Agents, Secret: s.Secret,
		DryRun: s.DryRun, Force: s.Force,
	})
}

// serviceUninstallCmd never touches configuration and data.
type serviceUninstallCmd struct {
	serviceFlags
	Force bool `help:"Remove a unit file that was edited."`
}

// Run removes the service.
func (s serviceUninstallCmd) Run(ctx context.Context) error {
	return services.Uninstall(ctx, s.service(), s.Force)
}

type serviceStatusCmd struct{ serviceFlags }

// Run shows the state of the service.
func (s serviceStatusCmd) Run(ctx context.Context) error { return services.Status(ctx, s.service()) }
