package main

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"

	"github.com/rs/zerolog"

	"magpie/bridge"
)

// applied are the keys that a running program takes over. All others are read at its start: its processes, database and
// connection were made with them.
var applied = []string{"[access] owner", "[access] admins", "[access] allow", "[access] deny", "[access] unauthorized_reply", "[access] approval_timeout",
	"[budget] turn_usd", "[budget] user_day_usd", "[budget] chat_day_usd", "[budget] user_day_tokens", "[budget] chat_day_tokens", "[log] level"}

// reloaded is what came of reading the configuration anew.
type reloaded struct {
	bridge.Reloaded
	err error
}

// reloads reads the configuration anew whenever hup or an admin asks for it, until ctx is done.
func (p *program) reloads(ctx context.Context, hup <-chan os.Signal, m *manager) {
	current := p.cfg
	for {
		select {
		case <-hup:
			m.reload(func() { current, _ = p.reload(current) })
		case told := <-p.wishes:
			var got reloaded
			m.reload(func() { current, got = p.reload(current) })
			told <- got
		case <-ctx.Done():
			return
		}
	}
}

// reread has the configuration read anew, for an admin.
func (p *program) reread(ctx context.Context) (bridge.Reloaded, error) {
	if p.load == nil {
		return bridge.Reloaded{}, errors.New("there is no configuration to read anew")
	}
	told := make(chan reloaded, 1)
	select {
	case p.wishes <- told:
	case <-ctx.Done():
		return bridge.Reloaded{}, ctx.Err()
	}
	got := <-told // it is being read
	return got.Reloaded, got.err
}

// reload applies what can be applied, and returns the configuration that the program now has. A configuration with a
// mistake changes nothing. The log names keys, and no values: they may be secrets.
func (p *program) reload(current config) (config, reloaded) {
	next, err := p.load()
	if err != nil {
		p.log.Error().Err(err).Msg("the configuration has a mistake; the old one stays in force")
		return current, reloaded{err: err}
	}
	var got reloaded
	for _, key := range changedKeys(current, next) {
		if slices.Contains(applied, key) {
			got.Applied = append(got.Applied, key)
		} else {
			got.Later = append(got.Later, key)
		}
	}
	current.Access, current.Budget, current.Log.Level = next.Access, next.Budget, next.Log.Level
	p.bridge.SetAccess(current.Access)
	p.bridge.SetBudget(current.Budget)
	// This is told at the old or the new level, whichever tells more.
	zerolog.SetGlobalLevel(min(zerolog.GlobalLevel(), current.Log.level()))
	p.log.Info().Strs("applied", got.Applied).Msg("configuration read anew")
	if len(got.Later) > 0 {
		p.log.Warn().Strs("keys", got.Later).Msg("changed, but in force only after a restart")
	}
	zerolog.SetGlobalLevel(current.Log.level())
	return current, got
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
