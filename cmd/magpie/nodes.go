package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"

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
	rows := [][]string{strings.Split(i18n.CmdBridgeColumns.In(l), "\t")}
	for i, b := range list {
		state := i18n.CmdBridgeEnded
		switch {
		case b.Living && i == 0:
			state = i18n.CmdBridgeLeads
		case b.Living:
			state = i18n.CmdBridgeLives
		}
		rows = append(rows, []string{i18n.Visible(b.Name), state.In(l),
			b.Since.Local().Format(time.DateTime), b.Until.Local().Format(time.DateTime), strconv.Itoa(b.Rooms)})
	}
	fmt.Print(table(rows))
	return nil
}

// table aligns the columns of rows, which have as many. A Chinese character is as wide as two letters.
func table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		last := len(row) - 1
		for i, cell := range row[:last] {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)+2))
		}
		b.WriteString(row[last] + "\n")
	}
	return b.String()
}
