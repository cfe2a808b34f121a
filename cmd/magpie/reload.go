package main

import (
	"context"
	"os"
	"reflect"
	"slices"

	"github.com/rs/zerolog"
)

// applied are the keys that a running program takes over. All others are read at its start: its processes, database and
// connection were made with them.
var applied = []string{"[access] owner", "[access] admins", "[access] allow", "[access] deny", "[access] stranger_reply", "[log] level"}

// reloads reads the configuration anew whenever hup asks for it, until ctx is done.
func (p *program) reloads(ctx context.Context, hup <-chan os.Signal, m *manager) {
	current := p.cfg
	for {
		select {
		case <-hup:
			m.reload(func() { current = p.reload(current) })
		case <-ctx.Done():
			return
		}
	}
}

// reload applies what can be applied, and returns the configuration that the program now has. A configuration with a
// mistake changes nothing. The log names keys, and no values: they may be secrets.
func (p *program) reload(current config) config {
	next, err := p.load()
	if err != nil {
		p.log.Error().Err(err).Msg("the configuration has a mistake; the old one stays in force")
		return current
	}
	var taken, later []string
	for _, key := range changedKeys(current, next) {
		if slices.Contains(applied, key) {
			taken = append(taken, key)
		} else {
			later = append(later, key)
		}
	}
	current.Access, current.Log.Level = next.Access, next.Log.Level
	p.bridge.SetAccess(current.Access)
	// This is told at the old or the new level, whichever tells more.
	zerolog.SetGlobalLevel(min(zerolog.GlobalLevel(), current.Log.level()))
	p.log.Info().Strs("applied", taken).Msg("configuration read anew")
	if len(later) > 0 {
		p.log.Warn().Strs("keys", later).Msg("changed, but in force only after a restart")
	}
	zerolog.SetGlobalLevel(current.Log.level())
	return current
}

// changedKeys lists the keys whose values differ, as the file writes them.
func changedKeys(a, b config) []string {
	var keys []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		section := x.Type().Field(i)
		name := section.Tag.Get("toml")
		if _, key := section.Tag.Lookup("env"); key { // a key outside of the sections
			if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
				keys = append(keys, name)
			}
			continue
		}
		for j := range section.Type.NumField() {
			key := section.Type.Field(j).Tag.Get("toml")
			if key != "-" && !reflect.DeepEqual(x.Field(i).Field(j).Interface(), y.Field(i).Field(j).Interface()) {
				keys = append(keys, "["+name+"] "+key)
			}
		}
	}
	return keys
}
