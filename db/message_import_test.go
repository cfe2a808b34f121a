package db_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/racetest"
)

// record is talk of the current conversation, that many seconds after the Unix epoch.
func record(id string, role chat.Role, second int64) db.Record {
	return db.Record{Kind: chat.Private, Message: chat.Message{
		Key: oc, ID: id, Role: role, Class: chat.Talk, Text: "text of " + id, Time: time.Unix(second, 0).UTC(),
	}}
}

// before makes r part of a conversation that is over.
func before(epoch int64, r db.Record) db.Record {
	r.Past, r.Epoch = true, epoch
	return r
}

func imported(t *testing.T, d *db.DB, list ...db.Record) (added int) {
	t.Helper()
	added, err := d.Messages().Importer()(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// exported reads all records, without the fields that only one database knows.
func exported(t *testing.T, records iter.Seq2[db.Record, error]) (list []db.Record) {
	t.Helper()
	for r, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Turn = 0, 0
		if !r.Past {
			r.Epoch = 0
		}
		list = append(list, r)
	}
	return list
}

func ids(list []db.Record) string {
	var s []string
	for _, r := range list {
		s = append(s, r.ID)
	}
	return strings.Join(s, " ")
}

// conversation is the content of the chat's next prompt, oldest first.
func conversation(t *testing.T, d *db.DB, key chat.Key) string {
	t.Helper()
	c, err := d.Chats().Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for m, err := range d.Messages().Range(t.Context(), key, c.Epoch, 0, 1<<62) {
		if err != nil {
			t.Fatal(err)
		}
		s = append(s, m.ID)
	}
	slices.Reverse(s)
	return strings.Join(s, " ")
}

// lived is a database with some history: turns, a conversation that ended, a late answer in it, a command, and a group
// whose messages are overheard.
func lived(t *testing.T) *db.DB {
	t.Helper()
	d := fresh(t)
	accept(t, d, say("om_1", "我叫小明"))
	c := claim(t, d, "s1")
	accept(t, d, db.Inbound{Incoming: say("om_2", "/new").Incoming, Class: chat.Command,
		Effects: []db.Effect{db.StartConversation{}}})
	accept(t, d, say("om_3", "line one\nline two <&> \u2028 \x00 😀"))
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "late"})
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s2").Turn, Answer: "in time"})
	group := say("om_4", "大家好")
	group.Key, group.Kind, group.Class, group.Title = chat.FeishuChat("oc_2"), chat.Group, chat.Overheard, "测试群"
	accept(t, d, group)
	topic := say("om_5", "in a topic")
	topic.Key = chat.Key{Channel: "feishu", Kind: "chat", ID: "oc_2", Thread: "omt_1"}
	accept(t, d, topic)
	return d
}

func TestAnImportOfAnExportIsTheSameHistory(t *testing.T) {
	from, to := lived(t), fresh(t)
	want := exported(t, from.Messages().Export(t.Context(), chat.Key{}))
	if got := ids(want); got != "om_1 om_2 om_3 answer:1 answer:2 om_4 om_5" {
		t.Fatalf("exported %s", got)
	}
	if n := imported(t, to, want...); n != 7 {
		t.Errorf("%d messages are new", n)
	}
	if diff := cmp.Diff(want, exported(t, to.Messages().Export(t.Context(), chat.Key{}))); diff != "" {
		t.Error(diff)
	}
	if got := conversation(t, to, oc); got != "om_3 answer:2" {
		t.Errorf("the current conversation is %s", got)
	}
	if n := imported(t, to, want...); n != 0 {
		t.Errorf("%d messages are new the second time", n)
	}
	if diff := cmp.Diff(want, exported(t, to.Messages().Export(t.Context(), chat.Key{}))); diff != "" {
		t.Error(diff)
	}
	if got := ids(exported(t, to.Messages().Export(t.Context(), chat.FeishuChat("oc_2")))); got != "om_4" {
		t.Errorf("exported of one chat: %s", got)
	}
	if got := exported(t, to.Messages().Export(t.Context(), chat.FeishuChat("oc_3"))); got != nil {
		t.Errorf("exported of a chat that does not exist: %s", ids(got))
	}
}

// Imported messages are history: they are not answered.
func TestImportedMessagesAreNotAnswered(t *testing.T) {
	d := fresh(t)
	imported(t, d, record("om_1", chat.User, 1))
	if keys, err := d.Turns().Queued(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("chats with work: %v, %v", keys, err)
	}
	if b, err := d.Outbox().Backlog(t.Context()); err != nil || b != (db.Backlog{}) {
		t.Errorf("what waits: %+v, %v", b, err)
	}
}

func TestWhatIsOlderThanAChatComesBeforeIt(t *testing.T) {
	d := fresh(t)
	imported(t, d, record("b1", chat.User, 100), record("b2", chat.Assistant, 101))
	im := d.Messages().Importer()
	for _, list := range [][]db.Record{
		{record("a1", chat.User, 10), record("c1", chat.User, 200)},
		{record("a3", chat.User, 30), record("a2", chat.User, 20), record("b1", chat.User, 100),
			record("c2", chat.User, 150)},
	} {
		if _, err := im(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	if got := conversation(t, d, oc); got != "a1 a3 a2 b1 b2 c1 c2" {
		t.Errorf("history %s", got)
	}
	imported(t, d, record("z1", chat.User, 1), record("z2", chat.Assistant, 2))
	e := say("om_1", "new")
	accept(t, d, e)
	if got := conversation(t, d, oc); got != "z1 z2 a1 a3 a2 b1 b2 c1 c2 om_1" {
		t.Errorf("history %s", got)
	}
}

// Each is older than everything in the chat.
func TestOldHistoriesCanBeAddedOneByOne(t *testing.T) {
	racetest.Skip(t)
	d := fresh(t)
	imported(t, d, record("now", chat.User, 1_000_000))
	for day := range 1000 { // newest first
		if _, err := d.Messages().Importer()(t.Context(), []db.Record{record(fmt.Sprint("day", day), chat.User,
			int64(900_000-day))}); err != nil {
			t.Fatalf("import %d: %v", day+1, err)
		}
	}
}

// An import reserves its range of seqs in its first step, which may be small.
func TestAnImportInManyStepsKeepsItsOrder(t *testing.T) {
	racetest.Skip(t)
	d := fresh(t)
	imported(t, d, record("now", chat.User, 1_000_000))
	im := d.Messages().Importer()
	n := int64(0)
	for _, size := range []int{1, 2000, 1, 2000} {
		var list []db.Record
		for range size {
			n++
			list = append(list, record(fmt.Sprintf("%05d", n), chat.User, n))
		}
		if _, err := im(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Fields(conversation(t, d, oc))
	if len(got) != 4003 || !slices.IsSorted(got) {
		t.Errorf("%d messages, in order: %v", len(got), slices.IsSorted(got))
	}
}

// The order of a file counts, not its times: an answer may carry the time of another clock.
func TestAnImportKeepsItsOrder(t *testing.T) {
	d := fresh(t)
	imported(t, d, record("1", chat.User, 50), record("2", chat.Assistant, 40), record("3", chat.User, -3),
		record("4", chat.User, 60))
	if got := conversation(t, d, oc); got != "1 2 3 4" {
		t.Errorf("history %s", got)
	}
}

func TestAConversationThatWasEndedStaysEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		had  []db.Record
		adds []db.Record
		want string
	}{
		"into an empty chat": {nil, []db.Record{before(0, record("1", chat.User, 1)), before(3, record("2", chat.User, 2)),
			record("3", chat.User, 3)}, "3"},
		"into one that goes on": {
			[]db.Record{record("0", chat.User, 0)}, []db.Record{before(5, record("1", chat.User, 1)),
				record("2", chat.User, 2)}, "0 2",
		},
		"the current one comes first": {nil, []db.Record{record("1", chat.User, 1), before(0, record("2", chat.User, 2)),
			record("3", chat.User, 3)}, "1 3"},
		"nothing goes on": {nil, []db.Record{before(0, record("1", chat.User, 1)),
			before(1, record("2", chat.User, 2))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			imported(t, d, tc.had...)
			for _, r := range tc.adds {
				imported(t, d, r)
			}
			if got := conversation(t, d, oc); got != tc.want {
				t.Errorf("the current conversation is %q, want %q", got, tc.want)
			}
			if n := len(exported(t, d.Messages().Export(t.Context(), chat.Key{}))); n != len(tc.had)+len(tc.adds) {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// A later export may contain the end of a conversation that an earlier import added as current.
func TestALaterImportEndsAConversation(t *testing.T) {
	d := fresh(t)
	imported(t, d, record("a1", chat.User, 1), record("a2", chat.Assistant, 2))
	if err := compact(t, d, 0, db.Summary{Text: "what a1 said", Seq: 1}, ""); err != nil {
		t.Fatal(err)
	}
	imported(t, d, before(0, record("a1", chat.User, 1)), before(0, record("a2", chat.Assistant, 2)),
		before(0, record("a3", chat.User, 3)),
		record("b1", chat.User, 10))
	if got := conversation(t, d, oc); got != "b1" {
		t.Errorf("the conversation is %s; a1, a2 and a3 are from before /new", got)
	}
	if c, err := d.Chats().Get(t.Context(), oc); err != nil || c.Summary.Text != "" || c.Summary.Seq != 0 {
		t.Errorf("the summary %+v of the ended conversation is still there, %v", c.Summary, err)
	}
}

// The IDs of answers are numbers of turns, which each database counts for itself.
func TestAnswersOfTwoDatabasesAreDistinct(t *testing.T) {
	from, to := lived(t), fresh(t)
	old := exported(t, from.Messages().Export(t.Context(), oc))
	accept(t, to, say("om_9", "first here"))
	finish(t, to, db.TurnResult{Turn: claim(t, to, "s1").Turn, Answer: "another answer of the first turn"})
	for range 2 {
		imported(t, to, old...)
	}
	all := exported(t, to.Messages().Export(t.Context(), chat.Key{}))
	var answers []string
	for _, r := range all {
		if r.Role == chat.Assistant {
			answers = append(answers, r.Text)
		}
	}
	slices.Sort(answers)
	if diff := cmp.Diff([]string{"another answer of the first turn", "in time", "late"}, answers); diff != "" {
		t.Error(diff)
	}
	again := fresh(t)
	imported(t, again, all...)
	if diff := cmp.Diff(all, exported(t, again.Messages().Export(t.Context(), chat.Key{}))); diff != "" {
		t.Error(diff)
	}
	accept(t, again, say("om_10", "what now?"))
	c := claim(t, again, "s2")
	finish(t, again, db.TurnResult{Turn: c.Turn, Answer: "the newest answer"})
	if got, err := again.Turns().Answer(t.Context(), oc, c.Turn.ID); err != nil || got != "the newest answer" {
		t.Errorf("answer %q of turn %d, %v", got, c.Turn.ID, err)
	}
}

// The History of another machine contains an answer with the number of a turn that is still open here.
func TestAnImportLeavesAnOpenTurnItsAnswer(t *testing.T) {
	d := fresh(t)
	a := accept(t, d, say("om_1", "question"))
	for range 2 {
		imported(t, d, record(fmt.Sprintf("answer:%d", a.Turn), chat.Assistant, 100))
	}
	c := claim(t, d, "s")
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "the answer"})
	if got, err := d.Turns().Answer(t.Context(), oc, c.Turn.ID); err != nil || got != "the answer" {
		t.Errorf("the turn's answer is %q, %v", got, err)
	}
	if n := len(exported(t, d.Messages().Export(t.Context(), chat.Key{}))); n != 3 {
		t.Errorf("%d messages, want the question and two answers", n)
	}
}

// An import with a huge number must not use up the numbers of turns.
func TestAForgedAnswerDoesNotUseUpTheTurns(t *testing.T) {
	d := fresh(t)
	imported(t, d, record("answer:9223372036854775807", chat.Assistant, 1), record("answer:-1", chat.Assistant, 2),
		record("answer:99999999999999999999", chat.Assistant, 3))
	if a := accept(t, d, say("om_1", "hello")); a.Turn != 1 {
		t.Errorf("turn %d", a.Turn)
	}
}

func TestAnImportIsAllOrNothing(t *testing.T) {
	d := fresh(t)
	bad := record("2", "nobody", 2)
	if n, err := d.Messages().Importer()(t.Context(), []db.Record{record("1", chat.User, 1),
		bad}); err == nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if got := exported(t, d.Messages().Export(t.Context(), chat.Key{})); len(got) != 0 {
		t.Errorf("%d messages", len(got))
	}
}

// An export reads the History as of its start, in order and without sorting.
func TestAnExportIsASnapshot(t *testing.T) {
	d := fresh(t)
	for i := range 300 {
		imported(t, d, record(fmt.Sprint(i), chat.User, int64(i)))
	}
	n := 0
	for _, err := range d.Messages().Export(t.Context(), chat.Key{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			imported(t, d, record("new", chat.User, 1000))
		}
		n++
	}
	if n != 300 {
		t.Errorf("%d messages, want 300", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range d.Messages().Export(ctx, chat.Key{}) {
		if err != nil {
			t.Fatal(err)
		}
		break // the connection returns to the pool
	}
	if dbtest.OnPostgres() {
		return
	}
	for _, step := range plan(t, d, db.SelectExport) {
		if strings.Contains(step, "TEMP B-TREE") || step == "SCAN messages" {
			t.Errorf("step %q", step)
		}
	}
}

// BenchmarkImport imports 10,000 messages of 50 chats.
func BenchmarkImport(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		d := fresh(b)
		list := make([]db.Record, 10_000)
		for i := range list {
			list[i] = record(fmt.Sprint(i), chat.User, int64(i))
			list[i].Key = chat.FeishuChat(fmt.Sprint("oc_", i%50))
			list[i].Text = strings.Repeat("鹊桥 ", 50)
		}
		b.StartTimer()
		im := d.Messages().Importer()
		for part := range slices.Chunk(list, 2000) {
			if _, err := im(b.Context(), part); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(10_000*b.N)/b.Elapsed().Seconds(), "messages/s")
}
