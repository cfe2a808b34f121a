package systemd

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
)

// Notifier reports the state of the program to systemd (sd_notify(3)): started, reloading, stopping, the status line,
// and a watchdog ping as long as the probe succeeds. Without systemd it does nothing.
type Notifier struct {
	send   func(state string) error
	every  time.Duration // between two watchdog pings; 0 = systemd wants none
	probe  func(context.Context) error
	status func() string
	log    zerolog.Logger
}

// NewNotifier returns a Notifier for the systemd that has started this program, if any. The probe must fail, or block
// until its context ends, if the program should be restarted; status is the line that "systemctl status" shows.
func NewNotifier(probe func(context.Context) error, status func() string, log zerolog.Logger) *Notifier {
	n := &Notifier{probe: probe, status: status, log: log}
	n.send = func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}
	patience, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn().Err(err).Msg("invalid watchdog settings of systemd; no keep-alives are sent")
	}
	n.every = patience / 2
	return n
}

// notify sends one message. A failure is only logged.
func (n *Notifier) notify(state string) {
	if err := n.send(state); err != nil {
		n.log.Warn().Err(err).Msg("systemd not notified")
	}
}

// Run reports that the program is ready, and then its state until ctx is done. Closing stopping reports the shutdown;
// watchdog pings continue during it.
func (n *Notifier) Run(ctx context.Context, stopping <-chan struct{}) {
	n.notify(daemon.SdNotifyReady)
	var tasks sync.WaitGroup
	if n.every > 0 {
		tasks.Go(func() { n.runWatchdog(ctx) })
	}
	n.reportStatus(ctx, stopping)
	tasks.Wait()
}

// runWatchdog sends a ping after each successful probe. A probe that hangs or fails sends none, so systemd restarts the
// program.
func (n *Notifier) runWatchdog(ctx context.Context) {
	for ctx.Err() == nil {
		probing, cancel := context.WithTimeout(ctx, n.every)
		err := n.probe(probing)
		cancel()
		if err == nil {
			n.notify(daemon.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			n.log.Error().Err(err).Msg("no keep-alive for systemd: the database does not answer")
		}
		select {
		case <-time.After(n.every):
		case <-ctx.Done():
		}
	}
}

// reportEvery is how often the status is polled.
const reportEvery = time.Second

// reportStatus shows the status in "systemctl status".
func (n *Notifier) reportStatus(ctx context.Context, stopping <-chan struct{}) {
	said := ""
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		// Only changes are sent: each message wakes the service manager.
		if line := n.status(); line != said {
			n.notify("STATUS=" + line)
			said = line
		}
		select {
		case <-tick.C:
		case <-stopping:
			n.notify(daemon.SdNotifyStopping + "\nSTATUS=stopping")
			<-ctx.Done()
			return
		case <-ctx.Done():
			return
		}
	}
}

// Reload reports a reload to systemd while f runs.
func (n *Notifier) Reload(f func()) {
	n.notify(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	f()
	n.notify(daemon.SdNotifyReady)
}
