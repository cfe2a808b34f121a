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

// Bounds of a search by meaning.
const (
	nearTime     = 500 * time.Millisecond // all that it may take, see embeddings.patience
	mostCompared = 20_000                 // vectors of a conversation, the newest
	mostNear     = 50                     // messages that it adds to those that words have found
)

// What counts as near. How alike unrelated texts are differs from model to model, so a message is measured against the
// others of its conversation: against the middle one, and in steps of how far the lower ones are apart. Unlike a
// mean these do not rise with the messages that fit.
const (
	leastNear = 3    // steps above the middle
	leastStep = 0.02 // of the cosine
	quartile  = 0.6745
	nearer    = 0.5 // of the nearest message's
)

// embedded is how much of a text counts for what it means, in runes.
const embedded = 2000

// embeddings finds messages by what they mean.
type embeddings struct {
	db     *db.DB
	client *embed.Client
	log    zerolog.Logger

	// all that a search may take: a question waits for it. Tests on a busy machine are more patient
	patience time.Duration

	slow   rate.Sometimes // complaints about searches
	behind rate.Sometimes // and about vectors that could not be made
}

// newEmbeddings is nil unless an endpoint is configured.
func newEmbeddings(store *db.DB, c MemoryConfig, log zerolog.Logger) *embeddings {
	if c.EmbeddingsURL == "" {
		return nil
	}
	m := embeddingsOf(store, embed.Config{URL: c.EmbeddingsURL, Model: c.EmbeddingsModel, Key: c.EmbeddingsKey, Limit: c.EmbeddingsWait}, log)
	m.patience = cmp.Or(c.EmbeddingsWait, nearTime)
	return m
}

func embeddingsOf(store *db.DB, c embed.Config, log zerolog.Logger) *embeddings {
	const often = time.Minute
	return &embeddings{db: store, client: embed.New(c), log: log, patience: nearTime, slow: rate.Sometimes{Interval: often}, behind: rate.Sometimes{Interval: often}}
}

// sendable is what the endpoint is told of a text; empty = nothing.
func sendable(text string) string {
	text = strings.TrimSpace(redact.Text(text, redact.All()))
	if r := []rune(text); len(r) > embedded {
		text = strings.TrimSpace(string(r[:embedded]))
	}
	return text
}

// near are the messages of a conversation that mean about the same as a text, by seq, with how near they are: 0 would
// be as near as any. It never fails, and without an endpoint: then the words have to do.
func (s *embeddings) near(ctx context.Context, key chat.Key, epoch int64, text string) map[int64]float64 {
	if s == nil {
		return nil
	}
	if text = sendable(text); text == "" {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	list, err := s.compare(soon, key, epoch, text)
	if err != nil {
		if ctx.Err() == nil {
			s.slow.Do(func() { s.log.Warn().Err(err).Stringer("chat", key).Msg("recalled by words only") })
		}
		return nil
	}
	return nearest(list)
}

// likeness is how alike a message and a text are.
type likeness struct {
	seq    int64
	cosine float64
}

func (s *embeddings) compare(ctx context.Context, key chat.Key, epoch int64, text string) (list []likeness, err error) {
	asked, err := s.client.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	err = s.db.Embeddings().Each(ctx, key, epoch, s.client.Model(), len(asked[0]), mostCompared, func(seq int64, v []byte) {
		if len(v) == len(asked[0]) {
			list = append(list, likeness{seq, embed.Cosine(asked[0], v)})
		}
	})
	return list, err
}

// nearest picks what stands out.
func nearest(list []likeness) map[int64]float64 {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b likeness) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(b.seq, a.seq)) })
	middle, low := list[len(list)/2].cosine, list[len(list)*3/4].cosine
	step := max((middle-low)/quartile, leastStep)
	found := map[int64]float64{}
	for _, l := range list[:min(len(list), mostNear)] {
		if steps := (l.cosine - middle) / step; steps >= leastNear {
			found[l.seq] = steps
		}
	}
	return found
}

// blend adds to what words say of messages how near they are. Both count as their part of the best, and the same. Ranks
// would be easier to add up, but would not tell how much better one message is than the next, by which [pick] chooses.
// It returns what the best has by one of the two.
func blend(hits []hit, near map[int64]float64) float64 {
	var words, meaning float64
	for _, h := range hits {
		words, meaning = max(words, h.score), max(meaning, near[h.Seq])
	}
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

// lull is how long the endpoint is left alone when there is nothing to do, or it does not answer.
const lull = 30 * time.Second

// wholeEvery is how often all messages are looked at, not only the new ones.
const wholeEvery = 24 * time.Hour

// Run makes the vectors of what is said until ctx is done. Without an endpoint for them it returns at once.
func (m *Manager) Run(ctx context.Context) {
	if m.embeddings != nil {
		m.embeddings.run(ctx)
	}
}

func (s *embeddings) run(ctx context.Context) {
	defer s.client.Close()
	b := backlog{embeddings: s, size: embed.Batch}
	for ctx.Err() == nil {
		switch err := b.work(ctx); {
		case err != nil && ctx.Err() == nil:
			s.behind.Do(func() { s.log.Warn().Err(err).Msg("no vectors for what was said; later") })
		case b.made > 0:
			s.log.Info().Int("messages", b.made).Msg("vectors made for what was said")
			b.made = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(lull):
		}
	}
}

// backlog are the messages that need vectors.
type backlog struct {
	*embeddings
	done int64     // the messages up to this id need none
	dim  int       // of the vectors that they have
	all  time.Time // when all messages were last looked at
	size int       // how many are sent at once
	made int
}

// work goes through the backlog, the newest first.
func (b *backlog) work(ctx context.Context) error {
	// Older vectors may have another length; and ids are given again when the newest messages are deleted.
	if dim := b.client.Dim(); dim != b.dim || time.Since(b.all) > wholeEvery {
		b.dim, b.done, b.all = dim, 0, time.Now()
	}
	newest := b.done
	for below := int64(math.MaxInt64); ; {
		list, err := b.db.Embeddings().Missing(ctx, b.client.Model(), b.dim, b.done, below, b.size)
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
			b.size = len(list) / 2 // one of them may be to blame, or they are too many
		case errors.Is(err, embed.ErrRefused):
			below = list[0].ID // it does without
		default:
			return err
		}
	}
}

// embed makes and stores the vectors of messages. Those that say nothing need none.
func (b *backlog) embed(ctx context.Context, list []db.Unembedded) error {
	var texts []string
	var done []db.Embedding
	for _, u := range list {
		if text := sendable(u.Text); text != "" {
			texts, done = append(texts, text), append(done, db.Embedding{Of: u})
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
	return b.db.Embeddings().Save(ctx, b.client.Model(), done)
}
