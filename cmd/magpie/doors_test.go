package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"magpie/feishu"
	"magpie/internal/chat"
	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// feishuDoor is Feishu's door on the simulated platform.
func feishuDoor(t *testing.T) doortest.Door {
	return doortest.Door{
		New:   func(t *testing.T, o doortest.Options) doortest.Service { return feishuHouse{newHouse(t, o)} },
		Steps: ordinarySteps(t), Several: true, Files: true,
		Unplug: func(s doortest.Service) func() { return s.(feishuHouse).sim.Unplug() },
	}
}

func TestFeishuIsADoor(t *testing.T) {
	t.Parallel()
	doortest.Run(t, feishuDoor(t))
}

// An app with a name is a door as the one without, also where there is no other.
func TestAnAppWithANameIsADoor(t *testing.T) {
	t.Parallel()
	d := feishuDoor(t)
	d.Steps = []string{"message: stored", "turn: claiming", "card: posted", "delivery: begun"}
	d.New = func(t *testing.T, o doortest.Options) doortest.Service {
		return feishuHouse{newHouse(t, o, func(c *config.Config) {
			c.Apps, c.Feishu = []config.App{{Name: "sales", Config: c.Feishu}}, feishu.Config{Pace: c.Feishu.Pace,
				NameWait: c.Feishu.NameWait, AckTimeout: c.Feishu.AckTimeout}
		})}
	}
	doortest.Run(t, d)
}

// ordinarySteps are the steps of a crash that an ordinary question reaches; the others have tests of their own.
func ordinarySteps(t *testing.T) []string {
	t.Helper()
	steps := crashSteps(t)
	for test, theirs := range ofOthers(steps) {
		for _, step := range theirs {
			i := slices.Index(steps, step)
			if i < 0 {
				t.Fatalf("%s: there is no step %q, or another test covers it, too", test, step)
			}
			steps = slices.Delete(steps, i, i+1)
		}
	}
	return steps
}

// house is a service as the suite of doors uses it, whatever the door is.
type house struct{ *service }

func newHouse(t *testing.T, o doortest.Options, change ...func(*config.Config)) house {
	t.Helper()
	s := newService(t, feishusim.Config{Redeliver: crashRedeliver}, append(change, func(c *config.Config) {
		c.Claude.AllowedTools, c.Claude.MaxProcesses = o.Allowed, 20
		c.Shutdown.Duration, c.HTTP.Listen = 10*time.Second, "127.0.0.1:0"
		if o.CLI {
			realCLI(t)(c)
		}
	})...)
	h := house{s}
	t.Cleanup(func() {
		select {
		case <-s.done:
		default:
			h.Stop()
		}
		s.clean()
	})
	return h
}

func (h house) Start(failpoint string) {
	h.run("MAGPIE_CRASH_AT=" + failpoint)
	h.connected()
}

func (h house) Died() bool { return h.died(patience) }

func (h house) Stop() {
	if took := h.terminate(); took > h.cfg.Shutdown.Duration+busy {
		h.Errorf("the stop took %v", took)
	}
}

// listensAt finds the address of the pages in the log.
var listensAt = regexp.MustCompile(`"address":"(127\.0\.0\.1:\d+)"`)

func (h house) Ready() bool {
	all := listensAt.FindAllStringSubmatch(h.Log(), -1)
	if len(all) == 0 {
		return false
	}
	resp, err := http.Get("http://" + all[len(all)-1][1] + "/readyz")
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

func (h house) Log() string { return h.logs.String() }

func (h house) Count(query string) int { return h.count(query) }

func (h house) Agents() (pids []int) {
	for _, agent := range h.agents() {
		first, _, _ := strings.Cut(agent, " ")
		pid, err := strconv.Atoi(first)
		must(h.service, err)
		pids = append(pids, pid)
	}
	return pids
}

func (h house) Transcripts() (list []string) {
	must(h.service, filepath.WalkDir(filepath.Dir(databaseOf(h.cfg)), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".jsonl") {
			list = append(list, path)
		}
		return err
	}))
	return list
}

func (h house) Project() string { return h.cfg.Claude.Project }

func (h house) Model() *modelsim.Server { return h.model }

// feishuHouse is a service with people in Feishu.
type feishuHouse struct{ house }

func (h feishuHouse) Await(ctx context.Context, cond func() bool) error {
	return h.sim.Await(ctx, func(*feishusim.View) bool { return cond() })
}

func (h feishuHouse) Open(people int) doortest.Room {
	r := feishuRoom{h.sim, "", map[doortest.Person]feishusim.User{
		doortest.Asker: h.sim.AddUser("小明"), doortest.Member: h.sim.AddUser("小红"), doortest.Stranger: h.sim.AddUser("路人"),
	}}
	r.chat = h.sim.PrivateChat(r.people[doortest.Asker])
	if people > 1 {
		r.chat = h.sim.Group("测试群", r.people[doortest.Asker], r.people[doortest.Member])
	}
	return r
}

// feishuRoom is a chat of the simulated platform.
type feishuRoom struct {
	*feishusim.Server
	chat   string
	people map[doortest.Person]feishusim.User
}

func (r feishuRoom) Say(by doortest.Person, text string) string {
	var opts []feishusim.SendOption
	if r.chat != r.PrivateChat(r.people[doortest.Asker]) {
		opts = append(opts, feishusim.Mention())
	}
	return r.Server.Say(r.chat, r.people[by], text, opts...)
}

func (r feishuRoom) Again(id string) {
	for _, newEvent := range []bool{false, true} {
		r.Redeliver(id, newEvent)
	}
}

func (r feishuRoom) Press(by doortest.Person, on doortest.Shown, a chat.Action) (string, error) {
	got, err := r.Act(context.Background(), on.ID, r.people[by], feishusim.Action{Value: a, Forged: true})
	return string(got), err
}

func (r feishuRoom) Answers(id string) (list []doortest.Shown) {
	for _, m := range replies(r.View(), r.chat, id) {
		s := doortest.Shown{ID: m.ID, Text: visibleText(m), Live: m.Last().Streaming, Buttons: cardButtons(m)}
		for _, state := range m.States {
			s.Looks = append(s.Looks, state.Text)
		}
		if key := fileKey.FindStringSubmatch(m.Content); key != nil {
			_, s.Data, _ = r.File(key[1])
		}
		list = append(list, s)
	}
	return list
}

// cardButtons are the buttons of a card with their actions.
func cardButtons(m feishusim.Message) (list []chat.Button) {
	var card any
	_ = json.Unmarshal(m.Last().Card, &card) // other messages have none
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, child := range node {
				walk(child)
			}
		case map[string]any:
			if node["tag"] == "button" {
				var button struct {
					Text      struct{ Content string }
					Behaviors []struct{ Value chat.Action }
				}
				_ = json.Unmarshal(mustJSON(node), &button) // what has no action is no button of ours
				for _, b := range button.Behaviors {
					list = append(list, chat.Button{Label: button.Text.Content, Action: b.Value})
				}
				return
			}
			for _, name := range slices.Sorted(maps.Keys(node)) {
				walk(node[name])
			}
		}
	}
	walk(card)
	return list
}
