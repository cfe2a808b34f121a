package contextmgr

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/embed"
	"magpie/internal/embed/embedtest"
)

// synonyms is all that the simulated endpoint knows about meaning.
var synonyms = []string{"舰队", "vessels"}

const (
	paraphrased = "the fleet has 12 vessels in total"
	howLarge    = "舰队规模多大？" // it shares no word with that
)

// embeddingsRig is a manager with a database and a simulated embeddings endpoint.
type embeddingsRig struct {
	*testing.T
	d    *db.DB
	e    *embedtest.Endpoint
	m    *Manager
	logs *bytes.Buffer
}

func newEmbeddingsRig(t *testing.T) *embeddingsRig {
	t.Helper()
	e, url := embedtest.Start(t, synonyms)
	s := senseOf(t, e, url)
	s.m.embeddings.client.Close()
	s.m.embeddings = patient(s.d, url, embedtest.Model, s.logs)
	t.Cleanup(s.m.embeddings.client.Close)
	return s
}

// patient uses an endpoint with a timeout that is long enough for a busy machine.
func patient(d *db.DB, url, model string, logs io.Writer) *embeddings {
	m := embeddingsOf(d, embed.Config{URL: url, Model: model, Key: embedtest.Key, Limit: time.Minute},
		zerolog.New(logs))
	m.timeout = time.Minute
	return m
}

func senseOf(t *testing.T, e *embedtest.Endpoint, url string) *embeddingsRig {
	t.Helper()
	d := dbtest.New(t)
	s := &embeddingsRig{T: t, d: d, e: e, logs: &bytes.Buffer{}}
	cfg := Defaults()
	cfg.Memory.EmbeddingsURL, cfg.Memory.EmbeddingsModel, cfg.Memory.EmbeddingsKey = url, embedtest.Model, embedtest.Key
	s.m = New(d, cfg, zerolog.New(s.logs))
	client := s.m.embeddings.client
	t.Cleanup(func() { client.Close() })
	return s
}

var here, there = chat.FeishuChat("oc_here"), chat.FeishuChat("oc_there")

// store stores messages.
func (s *embeddingsRig) store(key chat.Key, texts ...string) {
	s.Helper()
	var list []db.Record
	for _, text := range texts {
		list = append(list, db.Record{Kind: chat.Private, Message: chat.Message{
			Key: key, ID: "om_" + text, Role: chat.User, Class: chat.Talk, Text: text,
			Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		}})
	}
	if _, err := s.d.Messages().Importer()(s.Context(), list); err != nil {
		s.Fatal(err)
	}
}

// small is small talk.
func small(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("topic%d matter%d thing%d", i, i*7, i*13))
	}
	return texts
}

// learn computes the vectors of all stored messages.
func (s *embeddingsRig) learn() {
	s.Helper()
	b := backlog{embeddings: s.m.embeddings, size: embed.Batch}
	if err := b.work(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// recalled are the texts that are retrieved for a question.
func (s *embeddingsRig) recalled(key chat.Key, text string, change ...func(*Request)) string {
	s.Helper()
	r := Request{
		Key: key, Kind: chat.Private, Asked: []chat.Message{
			{Text: text, Time: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)},
		},
	}
	for _, f := range change {
		f(&r)
	}
	list, err := s.m.startSearch(s.Context(), r).retrieve(nothing, 5000)
	if err != nil {
		s.Fatal(err)
	}
	var texts []string
	for _, m := range list {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, "|")
}

// vectors is the number of a conversation's vectors of this model.
func (s *embeddingsRig) vectors(key chat.Key, model string) (n int) {
	s.Helper()
	if err := s.d.Search().Embeddings(s.Context(), key, 0, model, embedtest.Dims, 1_000_000,
		func(int64, []byte) { n++ }); err != nil {
		s.Fatal(err)
	}
	return n
}

func TestOtherWordsForTheSameAreRetrieved(t *testing.T) {
	s := newEmbeddingsRig(t)
	s.store(here, append([]string{paraphrased}, small(40)...)...)
	if got := s.recalled(here, howLarge); got != "" {
		t.Errorf("without vectors: %s", got)
	}
	s.learn()
	if got := s.recalled(here, howLarge); got != paraphrased {
		t.Errorf("recalled %q", got)
	}
	found, err := s.m.SearchHistory(t.Context(), HistoryQuery{Key: here, Text: howLarge, Limit: 5, Length: 1000})
	if err != nil || len(found) != 1 || found[0].Text != paraphrased {
		t.Errorf("the agent's search finds %v, %v", found, err)
	}
	s.m.embeddings = nil
	if got := s.recalled(here, howLarge); got != "" {
		t.Errorf("by words alone: %s", got)
	}
}

// Search by meaning adds to the matches by words and replaces none.
func TestWordsAndEmbeddingsAddUp(t *testing.T) {
	s := newEmbeddingsRig(t)
	s.store(here, slices.Concat([]string{paraphrased}, small(40), []string{"舰队 已经出发"})...)
	s.learn()
	got := s.recalled(here, howLarge)
	if !strings.HasPrefix(got, paraphrased+"|") || !strings.HasSuffix(got, "|舰队 已经出发") {
		t.Errorf("recalled %q", got)
	}
	both := s.recalled(here, "what was matter133?")
	s.m.embeddings = nil
	if words := s.recalled(here, "what was matter133?"); both != words || !strings.Contains(words, "topic19 ") {
		t.Errorf("recalled %q, by words %q", both, words)
	}
	if got := s.recalled(here, howLarge); !strings.HasSuffix(got, "|舰队 已经出发") || strings.Contains(got, paraphrased) {
		t.Errorf("by words %q", got)
	}
}

// Messages of another chat or of an ended conversation are not compared, however similar they are.
func TestOnlyTheConversationIsCompared(t *testing.T) {
	s := newEmbeddingsRig(t)
	s.store(there, append([]string{paraphrased}, small(40)...)...)
	s.store(here, append([]string{"the old vessels"}, small(40)...)...)
	s.learn()
	restart := chat.Incoming{Key: here, Kind: chat.Private, ID: "om_new", Text: "/new",
		Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	begin := db.Inbound{Incoming: restart, Class: chat.Command, Effects: []db.Effect{db.StartConversation{}}}
	if _, err := s.d.Messages().Accept(t.Context(), begin); err != nil {
		t.Fatal(err)
	}
	s.store(here, "x1 y1", "x2 y2", "x3 y3", "x4 y4", "x5 y5", "x6 y6", "x7 y7", "x8 y8", "x9 y9")
	s.learn()
	for epoch, want := range []string{"the old vessels", ""} {
		if got := s.recalled(here, howLarge, func(r *Request) { r.Epoch = int64(epoch) }); got != want {
			t.Errorf("epoch %d: recalled %q", epoch, got)
		}
	}
	list, err := s.m.embeddings.compare(t.Context(), here, 1, howLarge)
	if err != nil || len(list) != 9 {
		t.Errorf("%d vectors compared, %v", len(list), err)
	}
}

// The question itself may already have a vector. Its similarity to itself must not count.
func TestTheQuestionIsNotComparedWithItself(t *testing.T) {
	s := newEmbeddingsRig(t)
	far := strings.Join(small(14), " ") + " vessels"
	s.store(here, append(small(40), far)...)
	asked := chat.Incoming{
		Key: here, Kind: chat.Private, ID: "om_q", Text: howLarge, Time: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
	}
	a, err := s.d.Messages().Accept(t.Context(), db.Inbound{Incoming: asked, Class: chat.Talk})
	if err != nil {
		t.Fatal(err)
	}
	s.learn()
	near := s.m.embeddings.search(t.Context(), here, 0, howLarge)
	if own, other := near[42], near[41]; other <= 0 || other >= nearer*own {
		t.Fatalf("near: %v", near)
	}
	found, err := s.m.SearchHistory(t.Context(), HistoryQuery{
		Key: here, Turn: a.Turn, Text: howLarge, Limit: 1, Length: 1000,
	})
	if err != nil || len(found) != 1 || found[0].Text != far {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestSearchByWordsWithoutTheEndpoint(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{
		"slow":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"broken": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newEmbeddingsRig(t)
			s.store(here, append([]string{paraphrased}, small(40)...)...)
			s.learn()
			s.m.embeddings.timeout = searchTimeout
			s.e.Fail(fault)
			before := len(s.e.Calls())
			for range 6 {
				began := time.Now()
				if got := s.recalled(here, "matter133 舰队"); !strings.Contains(got, "topic19 ") ||
					strings.Contains(got, paraphrased) {
					t.Errorf("recalled %q", got)
				}
				if took := time.Since(began); took > 30*time.Second { // the endpoint's timeout is a minute
					t.Errorf("a question waited for %v", took)
				}
			}
			if n := len(s.e.Calls()) - before; n != 5 {
				t.Errorf("%d calls to an endpoint that fails", n)
			}
			if n := strings.Count(s.logs.String(), "semantic search failed; searching by words only"); n != 1 {
				t.Errorf("%d warnings within a minute: %s", n, s.logs)
			}
			if strings.Contains(s.logs.String(), embedtest.Key) || strings.Contains(s.logs.String(), "matter133") {
				t.Errorf("the log contains too much: %s", s.logs)
			}
		})
	}
}

// What is sent to the endpoint is redacted and limited.
func TestTheEndpointGetsNothingPrivate(t *testing.T) {
	s := newEmbeddingsRig(t)
	long := "mail long@example.com " + strings.Repeat("字", 5000)
	s.store(here, "I am bob@example.com, password: hunter2", long, " \n ", strings.Repeat(" ", 3000)+"x")
	s.learn()
	s.recalled(here, "who is carol@example.com? "+long)
	sent := s.e.Texts()
	for _, secret := range []string{"bob@", "hunter2", "long@", "carol@"} {
		if strings.Contains(sent, secret) {
			t.Errorf("%s was sent", secret)
		}
	}
	if n := strings.Count(sent, "[REDACTED_EMAIL]"); n != 4 {
		t.Errorf("%d redacted addresses were sent: %q", n, sent)
	}
}

// By default there are no requests and no vectors.
func TestEmbeddingsAreOffByDefault(t *testing.T) {
	s := newEmbeddingsRig(t)
	s.m = New(s.d, Defaults(), zerolog.Nop())
	s.store(here, append([]string{paraphrased}, small(5)...)...)
	s.recalled(here, howLarge)
	s.m.Run(t.Context()) // returns immediately
	if n := len(s.e.Calls()); n != 0 || s.vectors(here, embedtest.Model) != 0 {
		t.Errorf("%d calls, %d vectors", n, s.vectors(here, embedtest.Model))
	}
}

func TestVectorsAreMadeForWhatNeedsThem(t *testing.T) {
	s := newEmbeddingsRig(t)
	s.store(here, small(150)...)
	for i, class := range []chat.Class{chat.Overheard, chat.Command} {
		m := chat.Incoming{Key: here, Kind: chat.Group, ID: fmt.Sprintf("om_%d", i), Text: "not talk", Time: time.Now()}
		if _, err := s.d.Messages().Accept(t.Context(), db.Inbound{Incoming: m, Class: class}); err != nil {
			t.Fatal(err)
		}
	}
	s.learn()
	var sizes []int
	for _, call := range s.e.Calls() {
		sizes = append(sizes, len(call))
	}
	if !slices.Equal(sizes, []int{64, 64, 22}) || s.e.Calls()[0][0] != small(150)[149] ||
		strings.Contains(s.e.Texts(), "not talk") {
		t.Errorf("batches of %v, first %q", sizes, s.e.Calls()[0][0])
	}

	s.learn() // as after a restart
	if n := len(s.e.Calls()); n != 3 || s.vectors(here, embedtest.Model) != 150 {
		t.Errorf("%d calls, %d vectors", n, s.vectors(here, embedtest.Model))
	}

	s.e.Rename("double-2")
	cfg := s.m.cfg
	cfg.Memory.EmbeddingsModel = "double-2"
	s.m = New(s.d, cfg, zerolog.Nop())
	s.m.embeddings = patient(s.d, cfg.Memory.EmbeddingsURL, cfg.Memory.EmbeddingsModel, io.Discard)
	defer s.m.embeddings.client.Close()
	if list, err := s.m.embeddings.compare(t.Context(), here, 0, "x"); err != nil || len(list) != 0 {
		t.Errorf("%d vectors of another model compared, %v", len(list), err)
	}
	s.learn()
	if got := []int{s.vectors(here, embedtest.Model), s.vectors(here, "double-2")}; !slices.Equal(got, []int{0, 150}) {
		t.Errorf("vectors of the old model and of the new: %v", got)
	}
}

// A message that the endpoint refuses does not affect the others.
func TestOneBadMessageIsLeftOut(t *testing.T) {
	s := newEmbeddingsRig(t)
	s.store(here, append(small(30), append([]string{"POISON"}, small(60)[30:]...)...)...)
	s.e.Fail(func(w http.ResponseWriter, _ *http.Request) {
		calls := s.e.Calls()
		if slices.Contains(calls[len(calls)-1], "POISON") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.e.Dimensions(embedtest.Dims)(w, nil)
	})
	s.learn()
	if n := s.vectors(here, embedtest.Model); n != 60 {
		t.Errorf("%d vectors", n)
	}
}

// The background work resumes after an outage, includes later messages, and sends smaller batches to a slow endpoint.
func TestVectorsAreMadeInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := embedtest.New(t, synonyms)
		s := senseOf(t, e, e.Config().URL)
		// function calls instead of a network: sockets do not work in a synctest bubble
		s.m.embeddings = embeddingsOf(s.d, e.Config(), zerolog.New(s.logs))
		s.store(here, small(100)...)
		slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		s.e.Fail(slow)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.m.Run(ctx) }()
		time.Sleep(2*time.Minute + time.Second)
		if n := len(s.e.Calls()); n < 5 || n > 10 {
			t.Errorf("%d calls to an endpoint that hangs", n)
		}
		s.e.Fail(func(w http.ResponseWriter, r *http.Request) {
			if calls := s.e.Calls(); len(calls[len(calls)-1]) > 8 {
				slow(w, r)
				return
			}
			s.e.Dimensions(embedtest.Dims)(w, r)
		})
		time.Sleep(10 * time.Minute)
		if n := s.vectors(here, embedtest.Model); n != 100 {
			t.Errorf("%d vectors after the outage", n)
		}
		s.e.Fail(nil)
		s.store(here, "one more")
		time.Sleep(idlePause + time.Second)
		if n := s.vectors(here, embedtest.Model); n != 101 {
			t.Errorf("%d vectors", n)
		}
		cancel()
		<-done
		if strings.Contains(s.logs.String(), embedtest.Key) || strings.Contains(s.logs.String(), "topic") {
			t.Errorf("the log contains too much: %s", s.logs)
		}
	})
}

func TestNearest(t *testing.T) {
	list := func(cosines ...float64) (l []similarity) {
		for i, c := range cosines {
			l = append(l, similarity{int64(i), c})
		}
		return l
	}
	for name, tc := range map[string]struct {
		list []similarity
		want []int64
	}{
		"nothing":         {nil, nil},
		"all the same":    {list(0.8, 0.8, 0.8, 0.8), nil},
		"one stands out":  {list(0.70, 0.71, 0.72, 0.85, 0.69, 0.70, 0.71), []int64{3}},
		"many stand out":  {list(0.1, 0.11, 0.12, 0.13, 0.14, 0.6, 0.61, 0.62), []int64{5, 6, 7}},
		"a little nearer": {list(0.10, 0.12, 0.14, 0.16, 0.18, 0.20, 0.22), nil},
	} {
		var got []int64
		for seq := range outliers(slices.Clone(tc.list)) {
			got = append(got, seq)
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	var many []similarity
	for i := range 1000 {
		many = append(many, similarity{int64(i), float64(i % 10 / 9)}) // every tenth is similar
	}
	if n := len(outliers(many)); n != maxNear {
		t.Errorf("%d of 100 were selected", n)
	}
}

// BenchmarkNearest measures a search by meaning without the call: 20,000 vectors of 512 dimensions are read and
// compared.
func BenchmarkNearest(b *testing.B) {
	d := dbtest.New(b)
	grow(b, d, here, small(100), maxVectors)
	r := rand.New(rand.NewPCG(1, 2))
	random := func() embed.Vector {
		v := make(embed.Vector, 512)
		for i := range v {
			v[i] = byte(r.Uint32())
		}
		return v
	}
	list, err := d.Search().Unembedded(b.Context(), "m", 0, 0, 1<<40, maxVectors)
	if err != nil || len(list) != maxVectors {
		b.Fatal(len(list), err)
	}
	for part := range slices.Chunk(list, 2000) {
		var made []db.Unembedded
		for _, u := range part {
			u.Vector = random()
			made = append(made, u)
		}
		if err := d.Search().SaveEmbeddings(b.Context(), "m", made); err != nil {
			b.Fatal(err)
		}
	}
	asked := random()
	for b.Loop() {
		list := make([]similarity, 0, maxVectors)
		err := d.Search().Embeddings(b.Context(), here, 0, "m", 512, maxVectors, func(seq int64, v []byte) {
			list = append(list, similarity{seq, embed.Cosine(asked, v)})
		})
		if err != nil || len(list) != maxVectors {
			b.Fatal(len(list), err)
		}
		outliers(list)
	}
}
