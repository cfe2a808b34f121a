package bridge

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/bridge/workplace"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// answered is a turn of an earlier process, in a session that was kept.
func (l *bridgeRig) answered(id, text string) db.Session {
	l.Helper()
	transcript := l.abandonedTurn(id, text)
	turn := l.left()
	l.append(transcript, turn.Prompt, message("end_turn", `{"type":"text","text":"yes"}`))
	s := db.Session{ID: turn.Session, Node: "here", Cwd: realPath(l.config.Project)}
	l.must(l.store.Turns().Finish(l.Context(), db.TurnResult{Turn: turn, State: convo.Done, Answer: "yes", Session: s}))
	return s
}

// message is what an agent has said, in the transcript of its session.
func message(stop string, blocks ...string) string {
	return `{"type":"assistant","uuid":"` + uuid.NewString() + `","message":{"id":"m1","role":"assistant","model":"m",` +
		`"stop_reason":"` + stop + `","content":[` + strings.Join(blocks, ",") +
		`],"usage":{"input_tokens":7,"output_tokens":3}}}`
}

// append adds a prompt and more to a transcript, as the CLI does.
func (l *bridgeRig) append(path, prompt string, more ...string) {
	l.Helper()
	l.must(os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	l.must(err)
	lines := append([]string{`{"type":"user","uuid":"` + prompt + `","promptId":"` + uuid.NewString() +
		`","message":{"role":"user","content":"x"}}`}, more...)
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	l.must(err)
	l.must(f.Close())
}

// sessionOfTheLastTurn is the session in which the last turn was answered.
func (l *bridgeRig) sessionOfTheLastTurn() (id string) {
	l.Helper()
	side := l.store.Side()
	l.must(side.QueryRow(`SELECT session_id FROM turns WHERE state = 'done' ORDER BY id DESC LIMIT 1`).Scan(&id))
	l.must(side.Close())
	return id
}

// The program died when the question had just reached the session. It is asked again under another ID; its old copy in
// the session is not mistaken for foreign text.
func TestAQuestionThatIsAskedAgainIsKnownToTheSession(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	s := l.answered("om_1", "hello")
	path, err := l.config.Transcripts("").Path(l.config.Project, s.ID)
	l.must(err)
	l.say("om_2", "and now?")
	c := l.claim(room)
	if !c.Resume {
		t.Fatal("no session to go on with")
	}
	l.append(path, c.Turn.Prompt)
	l.start()
	l.ended(convo.Done, 2)
	if got := l.sessionOfTheLastTurn(); got != s.ID || strings.Contains(l.logs.String(), "session lost") {
		t.Errorf("answered in session %s, want %s", got, s.ID)
	}
}

// If the store cannot tell what was asked, as with an old version, a session is resumed unchecked, and its content is
// not relied on.
func TestASessionThatCannotBeComparedIsResumed(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.remake(func(c *Config) { c.Context.Mode = contextmgr.Economy })
	s := l.answered("om_1", "hello")
	l.sql(`UPDATE turns SET prompt_id = ''`)
	l.start()
	l.say("om_2", "and now?")
	l.ended(convo.Done, 2)
	if got := l.sessionOfTheLastTurn(); got != s.ID {
		t.Errorf("answered in session %s, want %s", got, s.ID)
	}
	report, err := l.store.Turns().LastReport(t.Context(), room, 0)
	if want := (db.ContextReport{Session: sessionResumed, Unsure: true, Messages: 2}); err != nil || report != want {
		t.Errorf("report %+v, want %+v (%v)", report, want, err)
	}
}

// A session is still known after hundreds of turns were answered elsewhere.
func TestASessionThatWasLongAwayIsKnown(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	s := l.answered("om_1", "hello")
	l.sql(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
		INSERT INTO turns (chat_key, epoch, state, prompt_id, created_at)
		SELECT 'feishu:chat:oc_1', 0, 'done', 'p' || i, 0 FROM n`)
	l.start()
	l.say("om_2", "and now?")
	l.until("the answer", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE session_id <> '' AND state = 'done'`) == 2
	})
	report, err := l.store.Turns().LastReport(t.Context(), room, 0)
	if got := l.sessionOfTheLastTurn(); err != nil || got != s.ID || report.Unsure || report.Incomplete {
		t.Errorf("answered in session %s, want %s; report %+v (%v)", got, s.ID, report, err)
	}
}

func TestWhereASessionCanBeResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	b := &Bridge{cfg: &Config{Node: "here", Projects: workplace.Set{Default: link,
		Named: map[string]workplace.Project{"other": {Path: t.TempDir()}, "away": {Path: filepath.Join(dir, "gone")}}}}}
	for name, tc := range map[string]struct {
		project string
		session db.Session
		want    claude.LostCause
	}{
		"here":                       {"", db.Session{Node: "here", Cwd: dir}, ""},
		"from before it was written": {"", db.Session{}, ""},
		"on another machine":         {"", db.Session{Node: "there", Cwd: dir}, claude.LostMachine},
		"in another folder":          {"other", db.Session{Node: "here", Cwd: dir}, claude.LostElsewhere},
		"in a folder that is away":   {"away", db.Session{Node: "here", Cwd: dir}, ""},
	} {
		c := db.Chat{Settings: db.Settings{Project: tc.project}, Session: tc.session}
		if got := b.cfg.checkResumable(c); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestWhatStatusSaysOfTheLastTurn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		report db.ContextReport
		zh, en string
	}{
		{db.ContextReport{Session: sessionLive}, "会话进行中", "live session"},
		{db.ContextReport{Session: sessionLive, Messages: 2}, "会话进行中 + 2 条历史消息",
			"live session + 2 earlier messages"},
		{db.ContextReport{Session: sessionLive, Messages: 1}, "会话进行中 + 1 条历史消息", "live session + 1 earlier message"},
		{db.ContextReport{Session: sessionResumed, Messages: 12}, "续接会话 + 12 条历史消息",
			"resumed session + 12 earlier messages"},
		{db.ContextReport{Session: sessionResumed, Unread: true}, "续接会话（历史读取失败）",
			"resumed session (history unavailable)"},
		{db.ContextReport{Session: sessionResumed, Incomplete: true, Messages: 2}, "续接会话，补上了缺少的消息 + 2 条历史消息",
			"resumed session, missing messages added + 2 earlier messages"},
		{db.ContextReport{Session: sessionResumed, Unsure: true}, "续接会话，未能核对",
			"resumed session, not verified"},
		{db.ContextReport{Session: sessionBegun}, "新会话", "new session"},
		{db.ContextReport{Session: sessionBegun, Messages: 4}, "新会话 + 4 条历史消息", "new session + 4 earlier messages"},
		{db.ContextReport{Session: sessionBegun, Lost: string(claude.LostMachine), Messages: 48}, "会话在另一台电脑上，已恢复 48 条消息",
			"session is on another machine – restored 48 messages"},
		{db.ContextReport{Session: sessionBegun, Lost: string(claude.LostTooLong), Unread: true}, "会话过长，历史也读取失败",
			"session too long, history unavailable"},
	} {
		if got := describe(tc.report, i18n.Chinese); got != tc.zh {
			t.Errorf("%+v: %q, want %q", tc.report, got, tc.zh)
		}
		if got := describe(tc.report, i18n.English); got != tc.en {
			t.Errorf("%+v: %q, want %q", tc.report, got, tc.en)
		}
	}
	seen := map[i18n.Phrase]bool{}
	for _, c := range []claude.LostCause{claude.LostMissing, claude.LostCorrupt, claude.LostElsewhere,
		claude.LostMachine, claude.LostForeign, claude.LostTooLong, claude.LostRefused, claude.LostUnknown} {
		p := lostText(c)
		if seen[p] {
			t.Errorf("%s has the words of another cause", c)
		}
		seen[p] = true
	}
}

func TestTheContextReportFollowsThePrompt(t *testing.T) {
	t.Parallel()
	resumed := contextmgr.Prompt{UseResume: true, Stats: contextmgr.Stats{Messages: 3}}
	for name, tc := range map[string]struct {
		r    contextmgr.Request
		p    contextmgr.Prompt
		lost claude.LostCause
		want db.ContextReport
	}{
		"a living process": {contextmgr.Request{Live: true, Synced: contextmgr.Synced{Verified: true}}, resumed, "",
			db.ContextReport{Session: sessionLive, Messages: 3}},
		"resumed": {contextmgr.Request{Synced: contextmgr.Synced{Verified: true}}, resumed, "",
			db.ContextReport{Session: sessionResumed, Messages: 3}},
		"behind": {contextmgr.Request{Synced: contextmgr.Synced{Verified: true, Incomplete: true}}, resumed, "",
			db.ContextReport{Session: sessionResumed, Messages: 3, Incomplete: true}},
		"not compared": {contextmgr.Request{}, resumed, "",
			db.ContextReport{Session: sessionResumed, Messages: 3, Unsure: true}},
		"lost": {contextmgr.Request{Lost: true}, contextmgr.Prompt{Unread: io.ErrUnexpectedEOF}, claude.LostMissing,
			db.ContextReport{Session: sessionBegun, Lost: string(claude.LostMissing), Unread: true}},
	} {
		if got := reportOf(tc.r, tc.p, tc.lost); *got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, *got, tc.want)
		}
	}
}
