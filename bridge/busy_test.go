package bridge

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"magpie/internal/chat"
	"magpie/internal/claude"
)

// busyRig is a bridgeRig with many chats, and what the agent was given in them.
type busyRig struct {
	*bridgeRig
	mu    sync.Mutex
	built []BuiltContext
	said  int
}

func newBusyRig(t *testing.T, change func(*claude.Config)) *busyRig {
	t.Helper()
	c := &busyRig{bridgeRig: newRig(t, change)}
	c.remake(func(cfg *Config) {
		cfg.Observe = func(b BuiltContext) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.built = append(c.built, b)
		}
	})
	return c
}

func roomOf(i int) chat.Key { return chat.FeishuChat(fmt.Sprint("oc_", i)) }

// says has the i-th chat say something.
func (c *busyRig) says(i int) {
	c.Helper()
	c.said++
	m := incoming(fmt.Sprint("om_", c.said), "which way do the magpies fly today?")
	m.Key = roomOf(i)
	c.receive(m)
}

// answered waits until all that was said is answered, as long as there are answers.
func (c *busyRig) answered() {
	c.Helper()
	answers := func() int {
		return c.count(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND class = 'talk'`)
	}
	for n := answers(); n != c.said; n = answers() {
		c.until("the next answer", func() bool { return answers() != n })
	}
}

// live counts the questions that met a living process.
func (c *busyRig) live() (n int) {
	for _, b := range c.built {
		if b.Live {
			n++
		}
	}
	return n
}

// Eight people who write in turn keep a process each, despite background tasks.
func TestEightChatsKeepTheirProcesses(t *testing.T) {
	t.Parallel()
	const people, rounds = 8, 3
	for name, tc := range map[string]struct {
		titles, purpose string
		starts          int
	}{
		"titles by the chats' processes": {"1", "title", people},
		"titles apart":                   {"0", "separate title", 2 * people},
	} {
		t.Run(name, func(t *testing.T) {
			c := newBusyRig(t, func(c *claude.Config) { c.Env["MAGPIE_SCRIPTED_TITLES"] = tc.titles })
			c.start()
			for range rounds {
				for i := range people {
					c.says(i)
				}
				c.answered()
			}
			c.until("all titles", func() bool {
				return c.count(`SELECT COUNT(*) FROM chats WHERE topic <> ''`) == people
			})
			if s := c.pool.Stats(); s.Started > tc.starts || s.Idle != people {
				t.Errorf("%+v", s)
			}
			for _, b := range c.built[people:] {
				if !b.Live {
					t.Errorf("%v has lost its process", b.Key)
				}
			}
			// Titles are booked after they are stored. What a title has cost during which a turn began is part of the
			// turn's cost, so not each has a cost of its own.
			c.until("all titles to be booked", func() bool {
				return c.count(`SELECT COUNT(*) FROM ledger WHERE purpose = '`+tc.purpose+`'`) == people
			})
		})
	}
}

// With as many processes as chats, background tasks end none of the chats' processes.
func TestTasksEndNoProcess(t *testing.T) {
	t.Parallel()
	const people, rounds = 4, 3
	c := newBusyRig(t, func(c *claude.Config) {
		c.MaxProcesses, c.Env["MAGPIE_SCRIPTED_TITLES"], c.Quiet = people, "0", time.Millisecond
	})
	c.remake(func(cfg *Config) { cfg.Context.Memory.Capture = true })
	c.start()
	for range rounds {
		for i := range people {
			c.says(i)
		}
		c.answered()
	}
	live := c.live()
	// Before all chats have their processes there is room for one more.
	if s := c.pool.Stats(); live != people*(rounds-1) || s.Idle != people {
		t.Errorf("%d questions met a living process, %+v", live, s)
	}
}

// On a machine with 16 GB, 64 people find their processes again, and all of them are answered.
func TestSixtyFourChatsOnOneMachine(t *testing.T) {
	t.Parallel()
	const people, rounds = 64, 2
	const memory = "MemTotal: 16777216 kB\nMemAvailable: 15728640 kB\n"
	c := newBusyRig(t, func(c *claude.Config) {
		c.MaxTurns, c.Machine = 8, fstest.MapFS{"proc/meminfo": {Data: []byte(memory)}}
	})
	c.start()
	order := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		for _, i := range order.Perm(people) {
			c.says(i)
		}
		c.answered()
	}
	live := c.live()
	again := len(c.built) - people // the first question of each chat starts its process
	if len(c.built) != people*rounds || live*100 < again*95 {
		t.Errorf("%d of %d questions met a living process, %+v", live, again, c.pool.Stats())
	}
}
