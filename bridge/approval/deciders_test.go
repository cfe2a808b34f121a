package approval

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// deciding is Requests on a real database, in a chat in which a member has asked something.
type deciding struct {
	*testing.T
	as    *Requests
	store *db.DB
	claim db.Claim
	dir   string
	data  string
}

var (
	boss   = chat.Actor{ID: "ou_boss", Name: "老板"}
	nobody = chat.Actor{ID: "ou_9", Name: "小红"}
)

func newDeciding(t *testing.T, kind chat.Kind, rules access.Config) *deciding {
	t.Helper()
	root := deliverytest.Folders(t, "work", "data")
	d := &deciding{T: t, dir: filepath.Join(root, "work"), data: filepath.Join(root, "data")}
	path := filepath.Join(d.data, "magpie.db")
	must(t, dbtest.Write(path))
	store := dbtest.Open(t, path)
	d.store = store
	key := chat.FeishuChat("oc_1")
	m := chat.Incoming{Key: key, Kind: kind, ID: "om_1", Text: "go", Actor: asker}
	dbtest.Accept(t, store, db.Inbound{Incoming: m, Class: chat.Talk})
	var err error
	if d.claim, err = store.Turns().Claim(t.Context(), key, db.Start{Session: "s", Prompt: "p", Resume: true}); err != nil {
		t.Fatal(err)
	}
	rules.Allow = []string{"*"}
	out := delivery.NewOutbox(store, &deliverytest.Recorder{}, delivery.Spool{}, english, zerolog.Nop())
	who := access.NewAuthorizer(rules, store.Access(), nil, 0, zerolog.Nop())
	cfg := Config{Protected: ProtectedPaths{Data: d.data}, Language: english, Interrupted: nothingInterrupted{}}
	d.as = NewRequests(cfg, store, out, who, zerolog.Nop())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); d.as.jobs.Run(t.Context(), stop) }()
	t.Cleanup(func() { close(stop); <-done })
	return d
}

// wants makes the agent ask for a tool. It returns the immediate answer, if any, and the waiting approval.
func (d *deciding) wants(q claude.ToolAsk) (decisions chan claude.Decision, waiting *db.Approval) {
	d.Helper()
	decisions = make(chan claude.Decision, 4)
	answer := func(v claude.Decision) bool { decisions <- v; return true }
	waits := d.as.RequestDecision(d.Context(), d.claim, Workspace{Dir: d.dir}, q, answer)
	list, err := d.store.Access().OpenApprovals(d.Context(), d.claim.Turn.Key)
	if err != nil || waits != (len(list) == 1) {
		d.Fatalf("waits %v, %+v, %v", waits, list, err)
	}
	if waits {
		return decisions, &list[0]
	}
	return decisions, nil
}

func (d *deciding) press(a *db.Approval, who chat.Actor, do string) string {
	d.Helper()
	toast, err := d.as.Press(d.Context(), chat.Press{
		ID: "ev_" + who.ID + do, Key: a.Key, Actor: who, Action: chat.Action{Do: do, Turn: a.Turn, ID: ActionID(*a)},
	}, i18n.English)
	if err != nil {
		d.Error(err)
	}
	return toast
}

// card is the next card that is posted in the chat.
func (d *deciding) card() (c chat.Card) {
	d.Helper()
	post, err := d.store.Outbox().Next(d.Context(), d.claim.Turn.Key)
	if err != nil || post.Card == nil {
		d.Fatalf("%+v, %v", post, err)
	}
	must(d, d.store.Outbox().MarkDelivered(d.Context(), post, "om_card"))
	return *post.Card
}

// By default the asker decides. With deciders = "admins" only admins may allow, and the asker may still refuse.
// Requests that name the program's own files are always for admins, and no rule of the chat covers them.
func TestWhoDecides(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		deciders string
		private  bool // the input names the program's own files
		tool     string
		admins   bool // only admins may allow it
	}{
		"a command":                      {"", false, "Bash", false},
		"a command, asker":               {access.AskersDecide, false, "Bash", false},
		"a command, admins":              {access.AdminsDecide, false, "Bash", true},
		"the program's files":            {"", true, "Bash", true},
		"the program's files, admins":    {access.AdminsDecide, true, "Bash", true},
		"a question, admins":             {access.AdminsDecide, false, claude.QuestionTool, false},
		"a plan, admins":                 {access.AdminsDecide, false, claude.PlanTool, true},
		"a plan that names files, asker": {access.AskersDecide, true, claude.PlanTool, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeciding(t, chat.Group, access.Config{Owner: boss.ID, Deciders: tc.deciders})
			command := "make test"
			if tc.private {
				command = "sqlite3 " + d.data + "/magpie.db"
			}
			ask := askFor(t, tc.tool, map[string]any{"command": command})
			if tc.tool != "Bash" {
				ask.Input = json.RawMessage(`{"plan":"` + command + `","questions":[{"question":"` + command + `"}]}`)
			}
			decisions, a := d.wants(ask)
			if a == nil {
				t.Fatal("nobody is asked")
			}
			if tc.private && a.Always != nil {
				t.Errorf("for good: %+v", a.Always)
			}
			got := d.card().Footer
			if strings.Contains(got, "Only an admin") != tc.admins ||
				strings.Contains(got, "Magpie's own files") != (tc.admins && tc.private) {
				t.Errorf("the card says %q", got)
			}
			if got := d.press(a, nobody, DoAllow); got != i18n.ApprovalNotYours.In(i18n.English) {
				t.Errorf("somebody else gets %q", got)
			}
			if tc.tool == claude.QuestionTool { // needs an answer
				return
			}
			if tc.admins {
				if got := d.press(a, asker, DoAllow); got != i18n.AdminsAllow.In(i18n.English) {
					t.Errorf("the asker gets %q", got)
				}
				if len(decisions) != 0 {
					t.Fatal("the asker has allowed it")
				}
				d.press(a, boss, DoAllow)
			} else {
				d.press(a, asker, DoAllow)
			}
			if v := <-decisions; !v.Allow {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestWhoAskedMayRefuseWhatOnlyAdminsAllow(t *testing.T) {
	t.Parallel()
	d := newDeciding(t, chat.Group, access.Config{Owner: boss.ID, Deciders: access.AdminsDecide})
	decisions, a := d.wants(askFor(t, "Bash", map[string]any{"command": "make test"}))
	d.press(a, asker, DoRefuse)
	if v := <-decisions; v.Allow {
		t.Error("it was allowed")
	}
}

// An "always" rule does not cover the program's own files.
func TestARuleDoesNotAllowWhatOnlyAdminsMay(t *testing.T) {
	t.Parallel()
	d := newDeciding(t, chat.Group, access.Config{Owner: boss.ID})
	ask := askFor(t, "Bash", map[string]any{"command": "ls -l"})
	_, a := d.wants(ask)
	d.press(a, asker, DoAlways)
	if decisions, a := d.wants(ask); a != nil || !(<-decisions).Allow {
		t.Fatal("there is no rule")
	}
	file := filepath.Join(d.data, "-l") // a file with the name of an option
	d.as.reserved = NewReservedPaths(ProtectedPaths{Data: d.data, Files: []string{file}}, d.store)
	if _, a := d.wants(ask); a == nil {
		t.Error("the rule allows it")
	}
}

// Where no admin can press a button, the card says so, and the agent does not wait.
func TestNobodyWaitsForAMissingAdmin(t *testing.T) {
	t.Parallel()
	denied := access.Config{Admins: []string{"ou_2"}, Deny: []string{"ou_2"}}
	for name, tc := range map[string]struct {
		kind   chat.Kind
		access access.Config
		want   i18n.Phrase
	}{
		"no admin":                   {chat.Group, access.Config{}, i18n.NoAdmins},
		"a denied admin":             {chat.Group, denied, i18n.NoAdmins},
		"a private chat of a member": {chat.Private, access.Config{Owner: boss.ID}, i18n.AdminsAway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.access.Deciders = access.AdminsDecide
			d := newDeciding(t, tc.kind, tc.access)
			decisions, a := d.wants(askFor(t, "Bash", map[string]any{"command": "make test"}))
			if a != nil {
				t.Fatal("it waits")
			}
			if v := <-decisions; v.Allow || v.Why != nobodyMayAllow {
				t.Errorf("%+v", v)
			}
			c := d.card()
			if c.Status != tc.want.In(i18n.English) { // it was visible before it was closed
				c = d.card()
			}
			if c.Status != tc.want.In(i18n.English) || len(c.Buttons) != 0 || c.Form != nil {
				t.Errorf("card %+v", c)
			}
		})
	}
	d := newDeciding(t, chat.Private, access.Config{Owner: asker.ID, Deciders: access.AdminsDecide})
	if _, a := d.wants(askFor(t, "Bash", map[string]any{"command": "make test"})); a == nil {
		t.Error("the owner is not asked in his own chat")
	}
}

// With ask = "everything" the agent's own notes and this program's tools need no approval, and a read-only project can
// be read.
func TestWhatIsAskedWhereEverythingIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		w     Workspace
		tool  string
		path  string
		waits bool
		allow bool // the answer if it does not wait
	}{
		"a to-do list":                 {Workspace{AskAll: true}, "TodoWrite", "", false, true},
		"a tool of this program":       {Workspace{AskAll: true}, agenttools.Prefix + "remember", "", false, true},
		"reading":                      {Workspace{AskAll: true}, "Read", "a.txt", true, false},
		"a tool that is not known":     {Workspace{AskAll: true}, "mcp__magpies__remember", "", true, false},
		"a to-do list, asked by rules": {Workspace{}, "TodoWrite", "", true, false},
		"looking":                      {Workspace{AskAll: true, ReadOnly: true}, "Read", "a.txt", true, false},
		"searching":                    {Workspace{AskAll: true, ReadOnly: true}, "Grep", "", true, false},
		"looking elsewhere":            {Workspace{AskAll: true, ReadOnly: true}, "Read", "/etc/hostname", false, false},
		"running, for looking only":    {Workspace{AskAll: true, ReadOnly: true}, "Bash", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeciding(t, chat.Group, access.Config{Owner: boss.ID})
			tc.w.Dir = d.dir
			input := map[string]any{"command": "ls"}
			if tc.path != "" {
				input = map[string]any{"file_path": tc.path}
			} else if tc.tool == "Grep" {
				input = map[string]any{"pattern": "x"}
			}
			decisions := make(chan claude.Decision, 1)
			answer := func(v claude.Decision) bool { decisions <- v; return true }
			waits := d.as.RequestDecision(t.Context(), d.claim, tc.w, askFor(t, tc.tool, input), answer)
			if waits != tc.waits {
				t.Fatalf("waits: %v", waits)
			}
			if waits {
				return
			}
			if v := <-decisions; v.Allow != tc.allow {
				t.Errorf("%+v", v)
			}
		})
	}
}
