package db

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"magpie/internal/chat"
)

// Tx runs f in a write transaction, as the methods of DB do.
func (d *DB) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return d.tx(ctx, f)
}

// Waiting is how many write transactions wait for the writer.
func (d *DB) Waiting() int { return len(d.writer.whoWaits()) }

// CopyLock copies the open lock file, as a fork does, until free is called.
func (d *DB) CopyLock(t testing.TB) (free func()) {
	t.Helper()
	fd, err := syscall.Dup(int(d.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Close(fd); err != nil {
			t.Error(err)
		}
	}
}

// LimitPages lets the database grow by a number of pages only, as on a disk that is nearly full.
func (d *DB) LimitPages(t testing.TB, more int) {
	t.Helper()
	var now int
	if err := d.read.QueryRow("PRAGMA page_count").Scan(&now); err != nil {
		t.Fatal(err)
	}
	var limit int
	if err := d.write.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", now+more)).Scan(&limit); err != nil || limit != now+more {
		t.Fatalf("page limit %d, %v", limit, err)
	}
}

// Unchecked has the database write without a look at its files.
func (d *DB) Unchecked() { d.files.known = nil }

// InPlace looks whether the files are in place.
func (d *DB) InPlace() error { return d.files.check() }

// alone calls f while the writer does nothing: it looks after the log also after it has said what became of a group.
func (w *writer) alone(f func()) {
	w.leading <- struct{}{}
	defer func() { <-w.leading }()
	f()
}

// WaitForReaders sets what is otherwise readersTime.
func (d *DB) WaitForReaders(t testing.TB, most time.Duration) {
	t.Helper()
	d.writer.alone(func() { d.writer.readersTime = most })
}

// TrimAt is the size of the log from which it is emptied.
func (d *DB) TrimAt() (size int64) {
	d.writer.alone(func() { size = d.writer.trimAt })
	return size
}

// LimitLog sets what is otherwise walLimit.
func (d *DB) LimitLog(t testing.TB, bytes int64) {
	t.Helper()
	d.writer.alone(func() { d.writer.walLimit, d.writer.trimAt = bytes, bytes })
	if _, err := d.write.Exec(fmt.Sprintf("PRAGMA journal_size_limit = %d", bytes)); err != nil {
		t.Fatal(err)
	}
}

// Read runs a query on one of the readers.
func (d *DB) Read(query string) (*sql.Rows, error) { return d.read.Query(query) }

// HotChats sets how many chats are kept in memory, and forgets those that are.
func (d *DB) HotChats(n int) { d.chats = newChatCache(n) }

// CountHot is how many chats are in memory, and how many rows are known for them.
func (d *DB) CountHot() (chats, rows int) { return d.chats.hot.Len(), len(d.chats.keys) }

// Migrate brings the schema to that of files.
func (d *DB) Migrate(ctx context.Context, files fs.FS) error { return migrate(ctx, d, files) }

// Schema is the schema of this program.
func Schema() fs.FS { return schema }

// QuickCheck is the check at Open, with another idea of what is small.
func (d *DB) QuickCheck(ctx context.Context, closed bool, small int64) error {
	return checkQuickly(ctx, d, closed, small)
}

// HasLog reports whether the database at path was left without being closed.
func HasLog(path string) bool { return hasLog(path) }

// Frequent are statements that must not get slower with the number of turns and messages there are.
var Frequent = map[string]string{
	"a message without a name": anyNameless, "messages without a name": fillNames,
	"versions of a message": selectVersions, "files sent before": takeAlong, "files of messages": selectFiles, "a file that was fetched": settleFile, "who was told": firstTold,
	"questions left": questionsLeft, "what stands": countStanding, "the answer on a card": answerShownBy, "old files": expireFiles, "files of what was taken back": dropFiles, "where those lie": pathsOfMessages, "a known event": knownEvent,
	"a queued turn": queuedTurn, "the queued turns": queuedTurns, "a late turn": lateTurn, "an interrupted turn": interruptedTurn, "a claim": claimTurn,
	"chats with work": queuedChats, "running turns": runningTurns, "next delivery": nextPost, "due deliveries": duePosts,
	"who has asked last": lastAsker, "who pays for a turn": askersOfTurn, "what waits": backlog, "known message": knownMessage, "history": selectHistory, "history of a turn": selectAnswered, "unseen": selectUnseen, "questions": selectAsked,
	"where an epoch begins": chatRange, "what is in front of a chat": countFront, "terms": findTerms, "messages by seq": selectMessages, "what is indexed": selectIndexed, "what to index": selectToIndex,
	"beginning of a session": sessionBegan, "what was overheard": selectOverheard, "last addressed": lastAddressed, "the last messages": selectLatest,
	"an import's epoch": epochInUse, "a conversation ended elsewhere": endKnown, "the oldest message": oldestMessage, "a message of the same name": otherMessage,
	"chats that wait for a summary": awaitedCompactions, "the oldest open turn": oldestOpen,
	"answer": selectAnswer, "an earlier question": earlierQuestion, "cards before": continuedCards,
	"memories": selectMemories, "memories of a message": memoriesOf, "a memory": selectMemory, "next number of a memory": nextMemoryNumber, "versions of a memory": selectMemoryVersions, "messages by id": selectMessagesByID,
	"an approval": selectApproval, "what waits for approval": waitingApprovals, "approvals of a turn": unansweredApproval, "settled approvals": forgetApprovals, "rules": selectRules,
	"settings": selectSettings, "waiting messages": waitingMessages, "sessions": pastSessions, "a session of the chat": sessionOfChat, "sessions that hold it": forgetPastSessions, "prompts": selectPrompts, "what was told": lastTold, "session of a machine": sessionAside, "a session set aside": setSessionAside,
	"who is let in": isAllowed, "what a user has spent": spent + "user_id = ?2", "what a chat has spent": spent + ofChat,
	"a forgotten session": forgetSessionAside, "vectors of a conversation": selectEmbeddings, "a vector": saveEmbedding, "messages without a vector": selectUnembedded, "the vector of a deleted message": deleteEmbedding,
}

// At sets the clock.
func (d *DB) At(t testing.TB, now time.Time) {
	t.Helper()
	d.now = func() time.Time { return now }
}

// Hurry lets so much time pass whenever somebody looks at the clock.
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
