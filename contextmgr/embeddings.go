package contextmgr

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/embed"
)

// Limits of a semantic search.
const (
	searchTimeout = 500 * time.Millisecond // see embeddings.timeout
	maxVectors    = 20_000                 // newest vectors of a conversation
	maxNear       = 50                     // messages that it adds to the result of the word search
)

// Thresholds. How similar unrelated texts are depends on the model, so a message is compared with the others of its
// conversation: its distance from the median, in steps of the spread of the lower half. Unlike mean and standard
// deviation, these do not grow with the messages that match.
const (
	leastNear = 3    // steps above the median
	leastStep = 0.02 // in units of the cosine
	quartile  = 0.6745
	nearer    = 0.5 // fraction of the nearest message's distance
)

// maxEmbedRunes is how much of a text is embedded, in runes.
const maxEmbedRunes = 2000

// embeddings searches messages by meaning.
type embeddings struct {
	db     *db.DB
	client *embed.Client
	log    zerolog.Logger

	// timeout of a search, since a question waits for it; tests on a busy machine use a longer one
	timeout time.Duration

	searchLog  rate.Sometimes // limits warnings about searches
	backlogLog rate.Sometimes // limits warnings about vectors that could not be made
}

// newEmbeddings returns nil unless an endpoint is configured.
func newEmbeddings(store *db.DB, c MemoryConfig, log zerolog.Logger) *embeddings {
	if c.EmbeddingsURL == "" {
		return nil
	}
	m := embeddingsOf(store,
		embed.Config{URL: c.EmbeddingsURL, Model: c.EmbeddingsModel, Key: c.EmbeddingsKey, Limit: c.EmbeddingsWait},
		log)
	m.timeout = cmp.Or(c.EmbeddingsWait, searchTimeout)
	return m
}

// embeddingsOf logs at most one failure of each kind per minute: an endpoint that is down fails with every message.
func embeddingsOf(store *db.DB, c embed.Config, log zerolog.Logger) *embeddings {
	const often = time.Minute
	return &embeddings{
		db: store, client: embed.New(c), log: log, timeout: searchTimeout, searchLog: rate.Sometimes{Interval: often},
		backlogLog: rate.Sometimes{Interval: often},
	}
}

// sendable is the text that may be sent to the endpoint: redacted and bounded; empty = nothing.
func sendable(text string) string {
	text = strings.TrimSpace(redact.Text(text, redact.All()))
	if r := []rune(text); len(r) > maxEmbedRunes {
		text = strings.TrimSpace(string(r[:maxEmbedRunes]))
	}
	return text
}

// search returns the messages of a conversation with a meaning similar to the text: their distance above the median, by
// seq. It never fails; without an endpoint or after an error only the word search is used.
func (s *embeddings) search(ctx context.Context, key chat.Key, epoch int64, text string) map[int64]float64 {
	if s == nil {
		return nil
	}
	if text = sendable(text); text == "" {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	list, err := s.compare(soon, key, epoch, text)
	if err != nil {
		if ctx.Err() == nil {
			// The word search still works, so this is a warning, at most once a minute.
			s.searchLog.Do(func() {
				s.log.Warn().Err(err).Stringer("chat", key).Msg("semantic search failed; searching by words only")
			})
		}
		return nil
	}
	return outliers(list)
}

// similarity of a message and the text of the search.
type similarity struct {
	seq    int64
	cosine float64
}

// compare embeds the text and computes its similarity to the stored vectors of the conversation. Vectors of another
// length are skipped.
func (s *embeddings) compare(ctx context.Context, key chat.Key, epoch int64,
	text string) (list []similarity, err error) {
	asked, err := s.client.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	err = s.db.Search().Embeddings(ctx, key, epoch, s.client.Model(), len(asked[0]), maxVectors,
		func(seq int64, v []byte) {
			if len(v) == len(asked[0]) {
				list = append(list, similarity{seq, embed.Cosine(asked[0], v)})
			}
		})
	return list, err
}

// outliers selects the outliers: messages clearly more similar than the rest of the conversation.
func outliers(list []similarity) map[int64]float64 {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b similarity) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(b.seq, a.seq))
	})
	middle, low := list[len(list)/2].cosine, list[len(list)*3/4].cosine
	step := max((middle-low)/quartile, leastStep)
	found := map[int64]float64{}
	for _, l := range list[:min(len(list), maxNear)] {
		if steps := (l.cosine - middle) / step; steps >= leastNear {
			found[l.seq] = steps
		}
	}
	return found
}

// blend adds the semantic scores to the scores of the words. Each is scaled to its maximum, and both have the same
// weight. Ranks would be easier to combine, but would not show how much better one message is than the next, which
// [selectHits] uses. It returns the maximum that either part alone can reach.
func blend(hits []hit, near map[int64]float64) float64 {
	var words, meaning float64
	for _, h := range hits {
		words, meaning = max(words, h.score), max(meaning, near[h.Seq])
	}
	// Without a second score there is nothing to scale.
	if meaning == 0 {
		return words
	}
	for i := range hits {
		h := &hits[i]
		if words > 0 {
			h.score /= words
		}
		if n := near[h.Seq] / meaning; n >= nearer {
			h.score += n
		}
	}
	return 1
}

// idlePause is how long the backlog pauses when it is done, or after an error.
const idlePause = 30 * time.Second

// fullScanEvery is how often all messages, not only new ones, are checked for vectors.
const fullScanEvery = 24 * time.Hour

// Run creates the vectors of messages until ctx is done, while this bridge leads. Without an endpoint it returns at once.
func (m *Manager) Run(ctx context.Context) {
	if m.embeddings != nil {
		m.embeddings.run(ctx)
	}
}

// run processes the backlog repeatedly. An endpoint that is down delays vectors, but nothing else.
func (s *embeddings) run(ctx context.Context) {
	defer s.client.Close()
	b := backlog{embeddings: s, size: embed.Batch}
	for ctx.Err() == nil {
		var err error
		if s.db.Place().Leads() {
			err = b.work(ctx)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			s.backlogLog.Do(func() { s.log.Warn().Err(err).Msg("no embeddings for messages; trying again later") })
		case b.made > 0:
			s.log.Info().Int("messages", b.made).Msg("embeddings made for messages")
			b.made = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(idlePause):
		}
	}
}

// backlog processes the messages that need vectors.
type backlog struct {
	*embeddings
	done int64     // messages up to this id are done
	dim  int       // length of the current vectors
	all  time.Time // time of the last full scan
	size int       // messages per call
	made int
}

// work processes the backlog, newest messages first, because most questions are about them.
func (b *backlog) work(ctx context.Context) error {
	// Rescan all if the vectors' length has changed, and from time to time: IDs are reused after deletions.
	if dim := b.client.Dim(); dim != b.dim || time.Since(b.all) > fullScanEvery {
		b.dim, b.done, b.all = dim, 0, time.Now()
	}
	newest := b.done
	for below := int64(math.MaxInt64); ; {
		list, err := b.db.Search().Unembedded(ctx, b.client.Model(), b.dim, b.done, below, b.size)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			b.done = newest
			return nil
		}
		newest = max(newest, list[0].ID)
		switch err := b.embed(ctx, list); {
		case err == nil:
			below = list[len(list)-1].ID
			b.size = min(b.size+1, embed.Batch)
		case len(list) > 1 && (errors.Is(err, embed.ErrRefused) || errors.Is(err, context.DeadlineExceeded)):
			b.size = len(list) / 2 // one of them may be rejected, or the batch is too large
		case errors.Is(err, embed.ErrRefused):
			below = list[0].ID // this single message is rejected: skip it
		default:
			return err
		}
	}
}

// embed creates and stores the vectors of messages. Messages without text need none.
func (b *backlog) embed(ctx context.Context, list []db.Unembedded) error {
	var texts []string
	var done []db.Unembedded
	for _, u := range list {
		if text := sendable(u.Text); text != "" {
			texts, done = append(texts, text), append(done, u)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	vectors, err := b.client.Embed(ctx, texts)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		done[i].Vector = v
	}
	b.made += len(done)
	return b.db.Search().SaveEmbeddings(ctx, b.client.Model(), done)
}
