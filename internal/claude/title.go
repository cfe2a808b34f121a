package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
)

// ErrNoProcess means that a session has no running process.
var ErrNoProcess = errors.New("the session has no process")

// ErrNoTitle means that the model returned no title.
var ErrNoTitle = errors.New("the model has found no title")

// Title asks the process of a session for a title for text. The CLI asks the model with nothing but the text. It writes
// nothing into the transcript, and the session does not see it. If a turn runs meanwhile, the cost is part of the
// process's next report. A reply with an error still contains the cost.
func (pl *Pool) Title(ctx context.Context, session, text string) (Reply, error) {
	p := pl.ofSession(session)
	if p == nil {
		return Reply{}, ErrNoProcess
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pl.cfg.TaskLimit.Duration, ErrErrandTimeout)
	defer cancel()
	turns := p.meter.turns()
	v, err := requestControl(ctx, p, stream.TitleRequest(text))
	if err != nil {
		return Reply{}, fmt.Errorf("title of a session: %w", err)
	}
	title := strings.TrimSpace(v.Get("title").String())
	if title == "" {
		err = ErrNoTitle
	}
	r, spentErr := unreportedCost(ctx, p, turns)
	r.Text = title
	return r, errors.Join(err, spentErr)
}

// unreportedCost is what a process has used of the model since its last report, without a text. It is zero if the
// process has started more than that many turns: the report of the next one includes it.
func unreportedCost(ctx context.Context, p *Process, turns int) (r Reply, err error) {
	used, err := requestControl(ctx, p, stream.UsageRequest())
	if err != nil {
		return r, fmt.Errorf("cost outside of a turn: %w", err)
	}
	model, cost, total := stream.SessionUsage(used)
	if cost, usage, ok := p.meter.readBetween(turns, cost, total); ok {
		r.Model, r.CostUSD, r.Usage = model, cost, usage
	}
	return r, nil
}

// requestControl sends a request to the CLI itself, and waits for the response.
func requestControl(ctx context.Context, p *Process, what stream.Request) (gjson.Result, error) {
	id, to := uuid.NewString(), make(chan gjson.Result, 1)
	defer p.out.awaitResponse(id, to)()
	p.in.SendRequest(id, what)
	select {
	case v := <-to:
		if v.Get("subtype").String() != "success" {
			return gjson.Result{}, fmt.Errorf("the CLI refuses: %s", v.Get("error"))
		}
		return v.Get("response"), nil
	case <-p.child.Exited():
		return gjson.Result{}, p.exitError()
	case <-ctx.Done():
		return gjson.Result{}, context.Cause(ctx)
	}
}

// meter holds the last totals that a process has reported; they count from its start.
type meter struct {
	mu        sync.Mutex
	cost      float64 // in USD
	usage     stream.Usage
	turnCount int  // turns
	running   bool // a turn is running and has not reported yet
	reported  bool // at least one report has arrived
}

// beginTurn records that a turn begins.
func (m *meter) beginTurn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turnCount++
	m.running = true
}

// turns is the number of turns; -1 = one is running.
func (m *meter) turns() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		return -1
	}
	return m.turnCount
}

// endTurn evaluates the report at the end of a turn and returns the cost of the turn in USD. The first report of a
// process may include the cost of earlier processes of its session.
func (m *meter) endTurn(e stream.Result) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = false
	first := !m.reported
	cost, _ := m.update(e.CostUSD, e.Total)
	if first && e.OfTurn != nil {
		return *e.OfTurn
	}
	return cost
}

// readBetween evaluates a report that was requested after that many turns. If a turn has started since, the difference
// is left to that turn's report, which includes both.
func (m *meter) readBetween(turns int, cost float64, usage stream.Usage) (more float64, used stream.Usage, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.turnCount != turns {
		return 0, stream.Usage{}, false
	}
	more, used = m.update(cost, usage)
	return more, used, true
}

// update stores a report and returns the difference to the previous one. The caller holds mu.
func (m *meter) update(cost float64, usage stream.Usage) (float64, stream.Usage) {
	more, was := max(0, cost-m.cost), m.usage
	if usage == (stream.Usage{}) { // not every report includes it
		usage = was
	}
	m.cost, m.usage, m.reported = cost, usage, true
	return more, stream.Usage{
		Input: max(0, usage.Input-was.Input), Output: max(0, usage.Output-was.Output),
		CacheRead: max(0, usage.CacheRead-was.CacheRead), CacheNew: max(0, usage.CacheNew-was.CacheNew),
	}
}
