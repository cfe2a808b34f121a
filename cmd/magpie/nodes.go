package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"magpie/db"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// nodesCmd lists the bridges of a database.
type nodesCmd struct{ configFlag }

// Run prints a line for each bridge that lives, and for each that has ended within a day.
func (n nodesCmd) Run(ctx context.Context) (err error) {
	c, err := config.ReadForDatabase(n.Config, os.Environ())
	if err != nil {
		return err
	}
	store, err := db.OpenReadOnly(ctx, c.DBConfig())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	l := userLang()
	if c.DB.DSN().IsFile() {
		fmt.Println(i18n.CmdOneBridge.In(l))
		return nil
	}
	list, err := store.Bridges(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Println(i18n.CmdNoBridges.In(l))
		return nil
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, i18n.CmdBridgeColumns.In(l))
	for i, b := range list {
		state := i18n.CmdBridgeEnded
		switch {
		case b.Living && i == 0:
			state = i18n.CmdBridgeLeads
		case b.Living:
			state = i18n.CmdBridgeLives
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\n", i18n.Visible(b.Name), state.In(l),
			b.Since.Local().Format(time.DateTime), b.Until.Local().Format(time.DateTime), b.Rooms)
	}
	return t.Flush()
}
