package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/internal/chat"
)

// Post is something to be shown until the platform has confirmed it: a text, or a new state of a turn's card.
type Post struct {
	ID  int64
	Key chat.Key
	// the turn of the card; 0 = a text, the card of an approval or a grant, or a card that is never redrawn
	Turn     int64
	Approval string // the approval of the card; empty = none
	Grant    string // the subject of the card's grant; empty = none
	Idem     string // the idempotency key, of its chat
	ReplyTo  string // the platform's ID of the message to reply to
	Text     string
	Mentions []string      // users to mention; empty = nobody
	Card     *chat.Card    // nil = a text
	File     *FileDelivery // of the turn, shown instead of a card; nil = none
	Attempts int           // so far
	Due      time.Time     // not before
	Created  time.Time
	CardID   string    // the existing card; empty = none as far as is known
	Begun    time.Time // when the turn's first question arrived: its card is not older
}

// Outbox stores pending posts in their order.
type Outbox struct{ db *DB }

// Outbox returns the outbox in the database.
func (d *DB) Outbox() Outbox { return Outbox{d} }

const insertPost = `INSERT INTO outbox (chat_key, turn_id, approval_id, subject, idem, reply_to, content, card,
	file_delivery_id, next_at, created_at, mentions)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?11) ON CONFLICT (idem) DO NOTHING`

// post enqueues a delivery, in the transaction of the change that it reports. What answers a message at another door
// than the chat's own is shown at both.
func (o Outbox) post(ctx context.Context, tx *sql.Tx, p Post) error {
	err := o.insert(ctx, tx, p)
	if err == nil && p.to().IsElsewhere() && p.Approval == "" && p.Grant == "" && p.File == nil {
		own := Post{Key: p.Key, Idem: p.Idem + ":own", Text: p.Text}
		if p.Card != nil {
			card := *p.Card // a copy that is not redrawn; people decide where they have asked
			card.Buttons, card.Form = nil, nil
			own.Card = &card
		}
		err = o.insert(ctx, tx, own)
	}
	return err
}

// idem is the idempotency key among those of all chats: IDs of messages may be the same in two.
func (p Post) idem() string { return p.Key.String() + " " + p.Idem }

// to is the message that p answers.
func (p Post) to() chat.Ref { return chat.Ref{Key: p.Key, ID: p.ReplyTo} }

func (o Outbox) insert(ctx context.Context, tx *sql.Tx, p Post) error {
	content := p.Text
	if p.Card != nil {
		data, err := json.Marshal(p.Card.OfTurn(p.Turn).InThread(p.Key.Thread))
		if err != nil {
			return fmt.Errorf("card: %w", err)
		}
		content = string(data)
	}
	var file int64
	if p.File != nil {
		file = p.File.ID
	}
	_, err := tx.ExecContext(ctx, insertPost, p.Key.String(), p.Turn, p.Approval, p.Grant, p.idem(), p.ReplyTo,
		content, p.Card != nil, file,
		millis(o.db.now()), encodeList(p.Mentions))
	if err != nil {
		return fmt.Errorf("leave for delivery: %w", err)
	}
	return nil
}

// Enqueue adds a post that belongs to no message or turn; of a file, Text is the content. While a post with the same Idem
// is waiting, or a file with it is known, it adds nothing.
func (o Outbox) Enqueue(ctx context.Context, p Post) error {
	err := o.db.chatsTx(ctx, []chat.Key{p.Key}, func(ctx context.Context, tx *sql.Tx) (err error) {
		if p.File != nil {
			_, err = o.postFile(ctx, tx, p)
			return err
		}
		return o.post(ctx, tx, p)
	})
	if err != nil {
		return fmt.Errorf("add a delivery in %v: %w", p.Key, err)
	}
	return nil
}

const postColumns = `o.id, o.turn_id, o.approval_id, o.subject, o.idem, o.reply_to, o.content, o.card, o.attempts,
	o.next_at, o.created_at, COALESCE(t.card_id, a.card_id, g.card_id, ''), COALESCE(t.created_at, a.created_at, 0),
	o.file_delivery_id, o.mentions
	FROM outbox o LEFT JOIN turns t ON t.id = o.turn_id LEFT JOIN approvals a ON a.id = o.approval_id
	LEFT JOIN grants g ON g.subject = o.subject`

const nextPost = `SELECT ` + postColumns + ` WHERE o.chat_key = ?1 ORDER BY o.id`

// Next returns the oldest pending post of a chat, or [ErrNotFound].
func (o Outbox) Next(ctx context.Context, key chat.Key) (Post, error) {
	p, err := queryOne(ctx, o.db.read, scanPost, nextPost, key.String())
	if errors.Is(err, ErrNotFound) {
		return Post{}, ErrNotFound
	} else if err != nil {
		return Post{}, fmt.Errorf("next delivery in %v: %w", key, err)
	}
	p.Key = key
	if p.File != nil {
		*p.File, err = o.FileDelivery(ctx, p.File.ID)
	}
	return p, err
}

// scanPost reads a row of postColumns. Of a file it reads only the ID.
func scanPost(scan scanner) (p Post, err error) {
	var content, mentions string
	var isCard bool
	var due, created, begun, file int64
	if err := scan(&p.ID, &p.Turn, &p.Approval, &p.Grant, &p.Idem, &p.ReplyTo, &content, &isCard,
		&p.Attempts, &due, &created, &p.CardID, &begun, &file, &mentions); err != nil {
		return Post{}, err
	}
	if mentions != encodeList(nil) {
		if err := json.Unmarshal([]byte(mentions), &p.Mentions); err != nil {
			return Post{}, err
		}
	}
	p.Due, p.Created, p.Begun = fromMillis(due), fromMillis(created), fromMillis(begun)
	// A post of a turn is always a card, even without the mark.
	switch {
	case file != 0:
		p.Text, p.File = content, &FileDelivery{ID: file}
		return p, nil
	case p.Turn == 0 && !isCard:
		p.Text = content
		return p, nil
	}
	p.Card = new(chat.Card)
	return p, json.Unmarshal([]byte(content), p.Card)
}

const deletePost = `DELETE FROM outbox WHERE id = ?1`

// overwritePost changes or deletes a post. A reply may quote a memory, whose text must not stay in the file when it is
// forgotten: even a row that only grows may move and leave its old content behind.
func overwritePost(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	return withSecureDelete(ctx, tx, func() error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// MarkDelivered removes a post from the outbox; an empty message ID means that nothing was shown. Files and posts
// without a turn join the History under the platform's message ID. For the card of a turn the ID is that of the buttons
// that must be removed when a newer card follows, see [Outbox.OldButtons].
func (o Outbox) MarkDelivered(ctx context.Context, p Post, messageID string) error {
	err := o.db.chatTx(ctx, p.Key, func(ctx context.Context, tx *sql.Tx) error {
		err := overwritePost(ctx, tx, deletePost, p.ID)
		if err != nil {
			return err
		}
		text := p.Text
		switch {
		case p.File != nil:
			if err := p.File.recordDelivery(ctx, tx, messageID); err != nil {
				return err
			}
			text = p.File.historyText()
		case p.Approval != "" || p.Grant != "":
			return nil
		case p.Turn != 0:
			_, err := tx.ExecContext(ctx, setNewestButtons, p.Turn, messageID)
			return err
		case p.Card != nil:
			text = p.Card.Body
		}
		if messageID == "" {
			return nil
		}
		// without a chat there is no History either
		_, _, err = o.db.Messages().insert(ctx, tx, &chat.Message{
			Key: p.Key, ID: messageID, Role: chat.Assistant, Class: chat.Command, Text: text, Time: o.db.now(),
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("note delivery %d: %w", p.ID, err)
	}
	return nil
}

const earlierQuestion = `SELECT message_id FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
	AND role = 'user'` + written + `
	AND state <> 'recalled' AND seq < (SELECT seq FROM messages WHERE chat_key = ?1 AND message_id = ?3)
	ORDER BY +seq DESC LIMIT 1`

const readdressTurn = `UPDATE turns SET reply_to = ?2 WHERE id = ?1`

const readdressPosts = `UPDATE outbox SET reply_to = ?2 WHERE turn_id = ?1`

// Readdress moves the answer of a turn with several questions to the previous question. It returns [ErrNotFound] if
// there is none.
func (o Outbox) Readdress(ctx context.Context, p Post) error {
	err := o.db.chatTx(ctx, p.Key, func(ctx context.Context, tx *sql.Tx) error {
		var id string
		err := tx.QueryRowContext(ctx, earlierQuestion, p.Key.String(), p.Turn, p.ReplyTo).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		} else if err != nil {
			return err
		}
		id = PlatformID(id)
		if _, err := tx.ExecContext(ctx, readdressTurn, p.Turn, id); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, readdressPosts, p.Turn, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("readdress delivery %d: %w", p.ID, err)
	}
	return nil
}

const delayPost = `UPDATE outbox SET attempts = attempts + 1, next_at = ?2, obstacle = ?3, why = ?4,
	id = CASE WHEN ?5 = 1 THEN ` + nextPostID + ` ELSE id END WHERE id = ?1`

// Delay postpones a post that could not be delivered. If it yields, later posts go first: a file must not hold up an
// answer.
func (o Outbox) Delay(ctx context.Context, p Post, until time.Time, f Failure, yields bool) error {
	err := o.db.chatTx(ctx, p.Key, func(ctx context.Context, tx *sql.Tx) error {
		return overwritePost(ctx, tx, delayPost, p.ID, millis(until), f.Obstacle, f.Why, yields)
	})
	if err != nil {
		return fmt.Errorf("put delivery %d off: %w", p.ID, err)
	}
	return nil
}

// Only the oldest post of each chat counts: later ones wait with it.
const continuedCards = `WITH RECURSIVE earlier (id) AS (
	SELECT continues FROM turns WHERE id = ?1 UNION SELECT (
		SELECT continues FROM turns WHERE id = earlier.id
	) FROM earlier WHERE id > 0)
	SELECT card_id FROM turns WHERE id IN (SELECT id FROM earlier) AND card_id <> ''
	UNION SELECT card_id FROM approvals WHERE (turn_id = ?1 OR turn_id IN (SELECT id FROM earlier)) AND card_id <> ''`

const nearbyCards = `SELECT card_id FROM turns WHERE id BETWEEN ?2 - 1000 AND ?2 + 1000 AND id <> ?2
	AND chat_key = ?1 AND card_id <> ''
	UNION SELECT card_id FROM approvals WHERE turn_id BETWEEN ?2 - 1000 AND ?2 + 1000 AND chat_key = ?1 AND card_id <> ''`

const besideCards = `SELECT card_id FROM turns WHERE chat_key = ?1 AND card_id <> ''
	AND id BETWEEN (
		SELECT turn_id FROM approvals WHERE id = ?2
	) - 1000 AND (SELECT turn_id FROM approvals WHERE id = ?2) + 1000
	UNION SELECT card_id FROM approvals WHERE chat_key = ?1 AND card_id <> ''
	AND turn_id BETWEEN (SELECT turn_id FROM approvals WHERE id = ?2) - 1000
	AND (SELECT turn_id FROM approvals WHERE id = ?2) + 1000`

// OtherCards lists the cards that may reply to the same message as that of p: those of the turns that its turn continues,
// with those of their approvals; for an approval, those near it. In a topic, where the bot's messages do not tell what
// they reply to, these are the cards near the turn, too.
func (o Outbox) OtherCards(ctx context.Context, p Post) ([]string, error) {
	if p.Approval != "" {
		return o.cards(ctx, besideCards, p.Key.String(), p.Approval)
	}
	others, err := o.cards(ctx, continuedCards, p.Turn)
	if err == nil && p.Key.Thread != "" {
		var near []string
		near, err = o.cards(ctx, nearbyCards, p.Key.String(), p.Turn)
		others = append(others, near...)
	}
	return others, err
}

// cards runs a query for card IDs.
func (o Outbox) cards(ctx context.Context, query string, args ...any) ([]string, error) {
	cards, err := queryAll(ctx, o.db.read, scanText, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list cards: %w", err)
	}
	return cards, nil
}

const (
	setTurnCard     = `UPDATE turns SET card_id = ?2 WHERE id = ?1`
	setApprovalCard = `UPDATE approvals SET card_id = ?2 WHERE id = ?1`
	setGrantCard    = `UPDATE grants SET card_id = ?2 WHERE subject = ?1`

	turnCard     = `SELECT card_id FROM turns WHERE id = ?1`
	approvalCard = `SELECT card_id FROM approvals WHERE id = ?1`
)

// SetCard stores the ID of the card that p shows.
func (o Outbox) SetCard(ctx context.Context, p Post, card string) (err error) {
	switch {
	case p.Approval != "":
		err = o.db.chatExec(ctx, p.Key, setApprovalCard, p.Approval, card)
	case p.Grant != "":
		_, err = o.db.namedExec(ctx, grantName(p.Grant), setGrantCard, p.Grant, card)
	default:
		err = o.db.chatExec(ctx, p.Key, setTurnCard, p.Turn, card)
	}
	if err != nil {
		return fmt.Errorf("set the card of %s: %w", p.Idem, err)
	}
	return nil
}

// CardOf is the ID of the card of an approval, or else of a turn; empty = none yet. It returns [ErrNotFound] for an
// unknown one.
func (o Outbox) CardOf(ctx context.Context, turn int64, approval string) (card string, err error) {
	if approval != "" {
		card, err = queryOne(ctx, o.db.read, scanText, approvalCard, approval)
	} else {
		card, err = queryOne(ctx, o.db.read, scanText, turnCard, turn)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("card of turn %d, or approval %q: %w", turn, approval, err)
	}
	return card, err
}

const duePosts = `SELECT chat_key FROM outbox o WHERE next_at <= ?1
	AND NOT EXISTS (SELECT 1 FROM outbox older WHERE older.chat_key = o.chat_key AND older.id < o.id) LIMIT ?2`

// Due lists at most most chats with a post that is due now.
func (o Outbox) Due(ctx context.Context, most int) ([]chat.Key, error) {
	return o.db.ownKeys(ctx, duePosts, millis(o.db.now()), most)
}

// ownKeys is [chatKeys] without the chats that another bridge has.
func (d *DB) ownKeys(ctx context.Context, query string, args ...any) ([]chat.Key, error) {
	keys, err := chatKeys(ctx, d.read, query, args...)
	if err != nil {
		return nil, err
	}
	return d.place.Free(ctx, keys)
}

// chatKeys runs a query for chat keys.
func chatKeys(ctx context.Context, q querier, query string, args ...any) ([]chat.Key, error) {
	keys, err := queryAll(ctx, q, scanKey, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list chats: %w", err)
	}
	return keys, nil
}

// Backlog is the amount of waiting work.
type Backlog struct {
	Turns  int       // queued
	Posts  int       // in the outbox
	Oldest time.Time // oldest post; zero = none
}

const backlog = `SELECT (SELECT COUNT(*) FROM turns INDEXED BY turns_open WHERE state = 'queued'` + isOpen + `),
	COUNT(*), COALESCE(MIN(created_at), 0) FROM outbox`

// Backlog counts the waiting turns and posts.
func (o Outbox) Backlog(ctx context.Context) (Backlog, error) {
	var b Backlog
	var oldest int64
	if err := o.db.read.QueryRowContext(ctx, backlog).Scan(&b.Turns, &b.Posts, &oldest); err != nil {
		return Backlog{}, fmt.Errorf("count deliveries: %w", err)
	}
	b.Oldest = fromMillis(oldest)
	return b, nil
}

// Failure is why an attempt to deliver a post failed.
type Failure struct {
	Obstacle chat.Obstacle
	Why      string // in the words of the platform or the system, for operators
}

// Undelivered are the posts that wait for the same obstacle.
type Undelivered struct {
	Failure           // of the oldest
	Posts   int       // in all their chats, with those that wait behind another one
	Since   time.Time // when the oldest was added
}

// Only the oldest post of a chat is tried.
const undelivered = `SELECT failed.obstacle, failed.why, COUNT(*), MIN(o.created_at)
	FROM outbox failed JOIN outbox o ON o.chat_key = failed.chat_key
	WHERE failed.attempts > 0 AND NOT EXISTS (
		SELECT 1 FROM outbox older WHERE older.chat_key = failed.chat_key AND older.id < failed.id)
	GROUP BY failed.id, failed.obstacle, failed.why ORDER BY MIN(o.created_at)`

// Undelivered lists the posts that wait since an attempt has failed, by what is in their way.
func (o Outbox) Undelivered(ctx context.Context) ([]Undelivered, error) {
	chats, err := queryAll(ctx, o.db.read, scanUndelivered, undelivered)
	if err != nil {
		return nil, fmt.Errorf("list failed deliveries: %w", err)
	}
	var list []Undelivered
	for _, u := range chats {
		i := slices.IndexFunc(list, func(known Undelivered) bool { return known.Obstacle == u.Obstacle })
		if i < 0 {
			list = append(list, u)
		} else {
			list[i].Posts += u.Posts
		}
	}
	return list, nil
}

func scanUndelivered(scan scanner) (u Undelivered, err error) {
	var since int64
	err = scan(&u.Obstacle, &u.Why, &u.Posts, &since)
	u.Since = fromMillis(since)
	return u, err
}
