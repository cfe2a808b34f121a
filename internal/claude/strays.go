package claude

import (
	"context"
	"os"
	"time"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/transcript"
)

// Stray is an agent that an earlier run of the program has left behind and that still runs. Nobody hears it any more,
// but it writes its transcript, and ends with its turn, since its input has ended.
type Stray struct {
	process proctree.Stray
	session string
	cfg     Config
	users   []uint32
}

// Strays finds the strays, by their sessions.
func Strays(c Config) (map[string]Stray, error) {
	users, err := c.AgentUsers()
	if err != nil {
		return nil, err
	}
	list := map[string]Stray{}
	for session, p := range proctree.Strays(c.Instance, users...) {
		list[session] = Stray{p, session, c, users}
	}
	return list, nil
}

// Sweep ends what an earlier run of this program with this configuration has left behind, but not the strays of the
// spared sessions; see [proctree.Sweep]. It must be called before the first turn.
func Sweep(ctx context.Context, c Config, spared ...string) (killed int, err error) {
	users, err := c.AgentUsers()
	if err != nil {
		return 0, err
	}
	return proctree.Sweep(ctx, c.Instance, spared, users...)
}

// How often a stray is looked at, and how long one may take to end after its turn.
const (
	strayPoll  = 100 * time.Millisecond
	strayGrace = 3 * time.Second
)

// Await waits until the stray has ended its turn, whose transcript is that file; then it ends what is left of it. It
// waits as long as a turn may take, and as long as a tool may be silent, but no longer once the agent was told that
// nobody can be asked. read reads the outcome so far; it is called whenever the transcript has grown.
func (s Stray) Await(ctx context.Context, file string, read func() transcript.Outcome) {
	var size int64
	var did transcript.Outcome
	began, quiet := time.Now(), time.Now()
	over := func(since time.Time, limit time.Duration) bool { return limit > 0 && time.Since(since) > limit }
	tick := time.NewTicker(strayPoll)
	defer tick.Stop()
	for s.process.Alive() && !did.Alone && !(did.Ended && over(quiet, strayGrace)) &&
		!over(began, s.cfg.TurnLimit.Duration) && !over(quiet, s.cfg.ToolSilence.Duration) {
		if info, err := os.Stat(file); err == nil && info.Size() != size {
			size, quiet, did = info.Size(), time.Now(), read()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.end(ctx)
			return
		}
	}
	s.end(ctx)
}

// end ends the stray with all that it has started, so that its transcript is complete.
func (s Stray) end(ctx context.Context) {
	_, _ = proctree.Sweep(context.WithoutCancel(ctx), s.cfg.Instance+"/"+s.session, nil, s.users...)
}
