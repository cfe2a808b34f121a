package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// Set by scripts/release.
var (
	release string // the version, such as 1.2.3; empty = not a release build
	commit  string // the commit it was built from
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Run prints the version.
func (v versionCmd) Run() error {
	if !v.JSON {
		fmt.Println(version())
		return nil
	}
	info := map[string]string{
		"version": versionName(), "commit": revision(), "go": runtime.Version(),
		"os": runtime.GOOS, "arch": runtime.GOARCH,
	}
	return json.NewEncoder(os.Stdout).Encode(info)
}

// version is the release, or else the version of the module and the commit.
func version() string {
	if at := revision(); release == "" && at != "" {
		return versionName() + " " + at
	}
	return versionName()
}

// versionName is the release, or else the version that Go gives the module.
func versionName() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// revision is the commit this was built from; empty = unknown.
func revision() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
