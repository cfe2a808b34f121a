package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"magpie/db/sqlite"
	"magpie/feishu"
)

// manager tells systemd how the program is: that it has started, is reloading, is stopping, how the connection to the
// platform stands, and, as long as the probe succeeds, that it lives. Without systemd nothing is told.
type manager struct {
	send   func(state string) error
	every  time.Duration // between two signs of life; 0 = systemd wants none
	probe  func(context.Context) error
	status func() feishu.Status
	log    zerolog.Logger
}

func newManager(probe func(context.Context) error, status func() feishu.Status, log zerolog.Logger) *manager {
	m := &manager{probe: probe, status: status, log: log}
	m.send = func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}
	patience, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn().Err(err).Msg("the watchdog of systemd is not understood, and gets no signs of life")
	}
	m.every = patience / 2
	return m
}

// tell sends one message. That systemd is deaf is no reason to stop working.
func (m *manager) tell(state string) {
	if err := m.send(state); err != nil {
		m.log.Warn().Err(err).Msg("systemd could not be told")
	}
}

// run says that the program is ready, and keeps systemd informed until ctx is done. Signs of life go on while the
// program stops, which begins when stopping is closed.
func (m *manager) run(ctx context.Context, stopping <-chan struct{}) {
	m.tell(daemon.SdNotifyReady)
	var tasks sync.WaitGroup
	if m.every > 0 {
		tasks.Go(func() { m.feed(ctx) })
	}
	m.report(ctx, stopping)
	tasks.Wait()
}

// probeTime is how long the store may take to answer.
const probeTime = 5 * time.Second

// feed sends a sign of life whenever the probe has succeeded. One that hangs or fails sends none, so that systemd
// starts the program anew. A database that is lost is no reason for that: its content is in this process only until it
// is saved, and a restart cannot bring it back.
func (m *manager) feed(ctx context.Context) {
	for ctx.Err() == nil {
		probing, cancel := context.WithTimeout(ctx, min(probeTime, m.every))
		err := m.probe(probing)
		cancel()
		if err == nil || errors.As(err, new(*sqlite.LostError)) {
			m.tell(daemon.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			m.log.Error().Err(err).Msg("no sign of life for systemd: the store does not answer")
		}
		wait(ctx, m.every)
	}
}

// reportEvery is how often the connection is looked at.
const reportEvery = time.Second

// report shows how the connection is in the status line of "systemctl status".
func (m *manager) report(ctx context.Context, stopping <-chan struct{}) {
	said := ""
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		if line := statusLine(m.status()); line != said {
			m.tell("STATUS=" + line)
			said = line
		}
		select {
		case <-tick.C:
		case <-stopping:
			m.tell(daemon.SdNotifyStopping + "\nSTATUS=stopping")
			<-ctx.Done()
			return
		case <-ctx.Done():
			return
		}
	}
}

// reload tells systemd that f reads the configuration anew.
func (m *manager) reload(f func()) {
	m.tell(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	f()
	m.tell(daemon.SdNotifyReady)
}

// statusLine says in one line how the connection is.
func statusLine(st feishu.Status) string {
	var since string
	if !st.Since.IsZero() {
		since = " since " + st.Since.Format(time.DateTime)
	}
	switch {
	case st.Connected:
		return "connected to the platform" + since
	case st.LastError == nil:
		return "connecting to the platform"
	}
	// The platform's words may have several lines; the next line would be another message to systemd.
	return "not connected to the platform" + since + ": " + strings.Join(strings.Fields(st.LastError.Error()), " ")
}

// wait returns after d, or when ctx is done.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
