package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"magpie/internal/i18n"
	"magpie/internal/operator/doctor"
)

// doctorCmd exits with an error if a check has failed, so scripts need not parse its output.
type doctorCmd struct {
	configFlag
	JSON bool `help:"Print one JSON object." name:"json"`
}

// Run checks everything that the bridge needs, even while the bridge runs.
func (d doctorCmd) Run(ctx context.Context) error {
	report := doctor.Report{Lang: i18n.OfLocale(os.Environ())}
	if !d.JSON {
		report.OnFinding = func(f doctor.Finding) { fmt.Println(f) }
	}
	doctor.Examine(ctx, &report, d.Config, os.Environ())
	if d.JSON {
		if err := printJSON(os.Stdout, report.Findings); err != nil {
			return err
		}
	}
	if report.Has(doctor.Fail) {
		return errors.New(i18n.CmdUnhealthy.In(report.Lang)) // the findings have been printed
	}
	return nil
}

// printJSON treats warnings as healthy: scripts act on OK, and a warning needs no immediate action.
func printJSON(w io.Writer, list []doctor.Finding) error {
	healthy := true
	for _, f := range list {
		healthy = healthy && f.State != doctor.Fail
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		OK       bool             `json:"ok"`
		Findings []doctor.Finding `json:"findings"`
	}{healthy, list})
}
