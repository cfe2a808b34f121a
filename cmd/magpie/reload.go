package main

import (
	"context"
	"errors"
	"os"

	"github.com/rs/zerolog"

	"magpie/bridge"
	"magpie/internal/operator/config"
	"magpie/internal/operator/systemd"
)

// reloadResult is the result of a reload.
type reloadResult struct {
	bridge.Reloaded
	err error
}

// handleReloads reloads the configuration on each SIGHUP and each request of an admin, also of one in a chat of another
// bridge, until ctx is done. One goroutine handles all, so reloads never overlap.
func (p *program) handleReloads(ctx context.Context, hup <-chan os.Signal, m *systemd.Notifier) {
	current := p.cfg
	for {
		select {
		case <-hup:
			m.Reload(func() { current, _ = p.reload(current) })
		case <-p.store.Place().Reload():
			m.Reload(func() { current, _ = p.reload(current) })
		case reply := <-p.reloadRequests:
			var got reloadResult
			m.Reload(func() { current, got = p.reload(current) })
			reply <- got
		case <-ctx.Done():
			return
		}
	}
}

// requestReload reloads the configuration for an admin and waits for the result. Other bridges reload theirs soon after.
func (p *program) requestReload(ctx context.Context) (bridge.Reloaded, error) {
	if p.load == nil {
		return bridge.Reloaded{}, errors.New("there is no configuration to reload")
	}
	reply := make(chan reloadResult, 1)
	select {
	case p.reloadRequests <- reply:
	case <-ctx.Done():
		return bridge.Reloaded{}, ctx.Err()
	}
	got := <-reply // the request was accepted, so the reply comes even if ctx is done
	var err error
	if got.Others, err = p.store.Place().AskReload(ctx); err != nil {
		p.log.Error().Err(err).Msg("other bridges do not reload their configuration")
	}
	return got.Reloaded, got.err
}

// reload applies the keys that need no restart, and returns the configuration now in use. An invalid configuration
// changes nothing. The log has keys but no values, which may be secrets.
func (p *program) reload(current config.Config) (config.Config, reloadResult) {
	next, err := p.load()
	if err != nil {
		p.log.Error().Err(err).Msg("invalid configuration; keeping the old one")
		return current, reloadResult{err: err}
	}
	var got reloadResult
	current, got.Applied, got.Later = current.Reload(next)
	p.bridge.SetAccess(current.AccessRules())
	p.bridge.SetBudget(current.BudgetLimits())
	// Log the result at the more verbose of the old and the new level, so that it is visible in both directions.
	zerolog.SetGlobalLevel(min(zerolog.GlobalLevel(), current.Log.ZerologLevel()))
	p.log.Info().Strs("applied", got.Applied).Msg("configuration reloaded")
	if len(got.Later) > 0 {
		p.log.Warn().Strs("keys", got.Later).Msg("changed, but takes effect only after a restart")
	}
	zerolog.SetGlobalLevel(current.Log.ZerologLevel())
	return current, got
}
