package db

import (
	"context"
	"database/sql"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/db/engine"
	"magpie/internal/chat"
)

// Tx runs f in a write transaction that may write everything.
func (d *DB) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	if c, ok := d.engine.(lockChecker); ok {
		return c.Engine.Tx(ctx, unchecked(f))
	}
	return d.engine.Tx(ctx, f)
}

// RecordOrder has writes in a context of [Ordered] note their order.
func (d *DB) RecordOrder() { d.engine = orderRecorder{d.engine} }

type orderKey struct{}

// Ordered returns a context that notes when its last write was decided. Whoever decides by the same has another number, and
// the numbers are in the order of the commits, as each is taken while all locks are held.
func Ordered(ctx context.Context) (_ context.Context, at *int64) {
	at = new(int64)
	return context.WithValue(ctx, orderKey{}, at), at
}

type orderRecorder struct{ engine.Engine }

var decided atomic.Int64

func (r orderRecorder) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	at, ok := ctx.Value(orderKey{}).(*int64)
	if !ok {
		return r.Engine.Tx(ctx, f)
	}
	return r.Engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := f(ctx, tx)
		*at = decided.Add(1)
		return err
	})
}

// Conflicts is how many transactions an engine has repeated.
func (d *DB) Conflicts() int64 {
	if r, ok := d.engine.(orderRecorder); ok {
		if c, ok := r.Engine.(interface{ Conflicts() int64 }); ok {
			return c.Conflicts()
		}
	}
	return 0
}

// Read runs a query on one of the readers.
func (d *DB) Read(query string) (*sql.Rows, error) { return d.read.Query(query) }

// HotChats sets how many chats are cached, and empties the cache.
func (d *DB) HotChats(n int) {
	if d.chats != nil {
		d.chats = newChatCache(n)
	}
}

// CountHot returns the number of cached chats, and of rows known for them.
func (d *DB) CountHot() (chats, rows int) { return d.chats.hot.Len(), len(d.chats.keys) }

// Schema is the schema of this program.
func Schema() fs.FS { return schema }

// Frequent are statements that must not get slower with the number of turns and messages.
var Frequent = map[string]string{
	"chats with a message without a name": nameless, "messages without a name": fillNames,
	"versions of a message": selectVersions, "files sent before": sentBefore, "files of messages": selectFiles,
	"a file that was fetched": finishFile, "what a context report begins with": firstContextReport,
	"questions left": questionsLeft, "not recalled": countNotRecalled, "the answer on a card": answerShownBy,
	"a page of an answer": answerPage, "old buttons": oldButtons, "pages of an answer": insertPages, "earlier pages of an answer": forgetPages,
	"old files": expireFiles, "files of what was taken back": dropFiles, "where those lie": pathsOfMessages,
	"the turns of a chat": selectOpen, "their messages": selectTurnMessages, "messages that wait": selectWaitingMessages, "what people are asked": selectRequests,
	"the next turn":       selectNextTurn,
	"an interrupted turn": interruptedTurn, "a claim": beginClaimed, "a claim that was stored": selectClaimed,
	"chats with work": queuedChats, "running turns": runningTurns, "next delivery": nextPost, "due deliveries": duePosts,
	"turns of agents": agentTurns, "what an earlier process has left": leftChats,
	"who has asked last": lastAsker, "who pays for a turn": askersOfTurn, "what was booked last": lastReportBooked,
	"what waits":          backlog,
	"a turn that follows": openFollowUp, "turns that follow": followUpsOf, "turns that continue": continuationsOf,
	"known message": knownMessage, "a new message": newSeq, "history": selectHistory, "history for a summary": selectTaken,
	"history of a turn": selectAnswered, "unseen": selectUnseen,
	"questions":             selectAsked,
	"where an epoch begins": chatRange, "what is in front of a chat": countFront, "terms": findTerms,
	"messages by seq": selectMessages, "what is indexed": selectIndexed, "what to index": selectToIndex,
	"beginning of a session": sessionBegan, "what was overheard": selectOverheard, "last addressed": lastAddressed,
	"the last messages": selectLatest,
	"an import's epoch": epochInUse, "a conversation ended elsewhere": endKnown, "the oldest message": oldestMessage,
	"a message of the same name":    otherMessage,
	"chats that wait for a summary": awaitedCompactions,
	"answer":                        selectAnswer, "an earlier question": earlierQuestion, "cards before": continuedCards,
	"memories": selectMemories, "memories of a message": memoriesOf, "a memory": selectMemory,
	"next number of a memory": nextMemoryNumber, "versions of a memory": selectMemoryVersions,
	"messages by id": selectMessagesByID, "messages of the same turn": selectSameTurn,
	"an approval": selectApproval, "what waits for approval": openApprovals,
	"the number of an action": nextAction, "decisions": selectDecided,
	"what is settled": describeSettlement, "what goes on again": countContinued,
	"approvals of a turn": unansweredApproval, "settled approvals": forgetApprovals, "rules": selectRules,
	"settings": selectSettings, "waiting messages": waitingMessages, "sessions": pastSessions,
	"a session of the chat": sessionOfChat, "sessions that hold it": forgetPastSessions, "prompts": selectPrompts,
	"prompts of a session":    promptsOfSession,
	"the last context report": lastContextReport, "session of a machine": sessionAside, "a session set aside": setSessionAside,
	"who is let in": isAllowed, "what a user has spent": spent + "user_id = ?2", "what a chat has spent": spent + ofChat,
	"who waits for a turn": quietAskers, "an approval to repeat": repeatApproval, "a call that is void": forgetCall,
	"a day's business":    business,
	"a forgotten session": forgetSessionAside, "vectors of a conversation": selectEmbeddings, "a vector": saveEmbedding,
	"messages without a vector": selectUnembedded, "the vector of a deleted message": deleteEmbedding,
}

// At sets the clock.
func (d *DB) At(t testing.TB, now time.Time) {
	t.Helper()
	d.now = func() time.Time { return now }
}

// Hurry advances the clock by each whenever it is read.
func (d *DB) Hurry(t testing.TB, now time.Time, each time.Duration) {
	t.Helper()
	d.now = func() time.Time {
		now = now.Add(each)
		return now
	}
}

// IndexTerms are the terms under which a message is found.
func IndexTerms(m chat.Message) []string { return indexTerms(m) }

// SelectExport is the query that reads the whole History.
const SelectExport = selectExport

// IndexBatch is how many messages are indexed together.
const IndexBatch = indexBatch

// HoldIndex stops background indexing until it is released. The index of PostgreSQL has none.
func (d *DB) HoldIndex(t testing.TB) (release func()) {
	if d.indexing == nil { // it is written with the messages
		return func() {}
	}
	d.indexing.mu.Lock()
	release = sync.OnceFunc(d.indexing.mu.Unlock)
	t.Cleanup(release)
	return release
}

// OvertakeIndex calls f once, after the next batch was read and before it is indexed.
func (d *DB) OvertakeIndex(f func()) {
	d.indexing.mu.Lock()
	defer d.indexing.mu.Unlock()
	d.indexing.read = func() {
		d.indexing.read = nil
		f()
	}
}

// FillIndex indexes the waiting messages if they fill a batch.
func (d *DB) FillIndex(t testing.TB) {
	t.Helper()
	if d.indexing != nil {
		d.indexing.catchUp(t.Context())
	}
}

// Kill lets go of what a killed process would not hold any more. Its connections stay.
func (d *DB) Kill(t testing.TB) {
	t.Helper()
	d.place = nil
}
