package db_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// unembedded lists the texts that have no vector of a model.
func unembedded(t *testing.T, d *db.DB, model string, dim int) string {
	t.Helper()
	list, err := d.Search().Unembedded(t.Context(), model, dim, 0, math.MaxInt64, 100)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, u := range list {
		s = append(s, u.Text)
	}
	return strings.Join(s, " ")
}

// embed gives each message without a vector one of the model.
func embed(t *testing.T, d *db.DB, model string, vector ...byte) {
	t.Helper()
	list, err := d.Search().Unembedded(t.Context(), model, len(vector), 0, math.MaxInt64, 100)
	if err != nil {
		t.Fatal(err)
	}
	var es []db.Unembedded
	for _, u := range list {
		u.Vector = vector
		es = append(es, u)
	}
	if err := d.Search().SaveEmbeddings(t.Context(), model, es); err != nil {
		t.Fatal(err)
	}
}

// vectors lists the seqs of a conversation's vectors.
func vectors(t *testing.T, d *db.DB, key chat.Key, epoch int64, model string, dim, most int) (seqs []int64) {
	t.Helper()
	err := d.Search().Embeddings(t.Context(), key, epoch, model, dim, most, func(seq int64, vector []byte) {
		if !bytes.Equal(vector, slices.Repeat([]byte{7}, dim)) {
			t.Errorf("vector %v", vector)
		}
		seqs = append(seqs, seq)
	})
	if err != nil {
		t.Fatal(err)
	}
	return seqs
}

func TestVectors(t *testing.T) {
	d := fresh(t)
	for i := range 3 {
		accept(t, d, say(fmt.Sprintf("om_%d", i), fmt.Sprintf("a%d", i)))
	}
	other := say("om_other", "b")
	other.Key = chat.FeishuChat("oc_2")
	accept(t, d, other)
	for id, class := range map[string]chat.Class{"om_c": chat.Command, "om_o": chat.Overheard} {
		e := say(id, "not talk")
		e.Class = class
		accept(t, d, e)
	}
	if got := unembedded(t, d, "m", 0); got != "b a2 a1 a0" {
		t.Fatalf("without vectors: %s", got)
	}
	embed(t, d, "m", 7, 7)
	if got := unembedded(t, d, "m", 0) + unembedded(t, d, "m", 2); got != "" {
		t.Errorf("still without vectors: %s", got)
	}
	if got := unembedded(t, d, "m", 3); got != "b a2 a1 a0" {
		t.Errorf("without vectors of another length: %s", got)
	}
	if got := vectors(t, d, oc, 0, "m", 2, 100); !slices.Equal(got, []int64{3, 2, 1}) {
		t.Errorf("vectors of the chat: %v", got)
	}
	if got := vectors(t, d, oc, 0, "m", 2, 2); !slices.Equal(got, []int64{3, 2}) {
		t.Errorf("the newest two: %v", got)
	}
	for _, got := range [][]int64{vectors(t, d, oc, 1, "m", 2, 100), vectors(t, d, oc, 0, "n", 2, 100),
		vectors(t, d, oc, 0, "m", 3, 100)} {
		if len(got) != 0 {
			t.Errorf("vectors of another epoch, model or length: %v", got)
		}
	}

	embed(t, d, "n", 7, 7, 7)
	if got := vectors(t, d, oc, 0, "n", 3, 100); !slices.Equal(got, []int64{3, 2, 1}) {
		t.Errorf("vectors of the new model: %v", got)
	}
	if got := vectors(t, d, oc, 0, "m", 2, 100); len(got) != 0 {
		t.Errorf("the old model's vectors are still there: %v", got)
	}

	restart := say("om_new", "/new")
	restart.Class, restart.Effects = chat.Command, []db.Effect{db.StartConversation{}}
	accept(t, d, restart)
	accept(t, d, say("om_5", "a5"))
	if got := unembedded(t, d, "p", 0); got != "a5 b" {
		t.Errorf("missing in a new conversation: %s", got)
	}
}

// A deleted message loses its vector, and a vector that arrives later is not stored.
func TestDeletedMessagesHaveNoVectors(t *testing.T) {
	d := fresh(t)
	accept(t, d, old("om_1", "old", 100*day))
	accept(t, d, old("om_2", "older", 200*day))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn})
	accept(t, d, old("om_3", "new", time.Hour))
	late, err := d.Search().Unembedded(t.Context(), "m", 0, 0, math.MaxInt64, 100)
	if err != nil || len(late) != 3 {
		t.Fatal(late, err)
	}
	embed(t, d, "m", 7)
	cfg := db.Defaults()
	cfg.HistoryTTL.Duration = 90 * day
	if s, err := db.Sweep(t.Context(), d, cfg); err != nil || s.Messages != 2 {
		t.Fatal(s, err)
	}
	if got := vectors(t, d, oc, 0, "m", 1, 100); !slices.Equal(got, []int64{3}) {
		t.Errorf("vectors: %v", got)
	}
	if err := d.Search().SaveEmbeddings(t.Context(), "m", []db.Unembedded{withVector(late[2], 7)}); err != nil {
		t.Error(err)
	}
	if got := vectors(t, d, oc, 0, "m", 1, 100); !slices.Equal(got, []int64{3}) {
		t.Errorf("vectors after a late one: %v", got)
	}
}

// Row IDs are reused. A vector that arrives late must not be stored for another message.
func TestALateVectorIsNotStoredForAnotherMessage(t *testing.T) {
	dbtest.OfSQLite(t)
	d := fresh(t)
	accept(t, d, old("om_1", "old", 100*day))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn})
	late, err := d.Search().Unembedded(t.Context(), "m", 0, 0, math.MaxInt64, 100)
	if err != nil || len(late) != 1 {
		t.Fatal(late, err)
	}
	cfg := db.Defaults()
	cfg.HistoryTTL.Duration = 90 * day
	if s, err := db.Sweep(t.Context(), d, cfg); err != nil || s.Messages != 1 {
		t.Fatal(s, err)
	}
	other := say("om_2", "other")
	other.Key = chat.FeishuChat("oc_2")
	accept(t, d, other)
	again, err := d.Search().Unembedded(t.Context(), "m", 0, 0, math.MaxInt64, 100)
	if err != nil || len(again) != 1 || again[0].ID != late[0].ID {
		t.Fatal(again, err)
	}
	if err := d.Search().SaveEmbeddings(t.Context(), "m", []db.Unembedded{withVector(late[0], 7)}); err != nil {
		t.Error(err)
	}
	if got := vectors(t, d, other.Key, 0, "m", 1, 100); len(got) != 0 {
		t.Errorf("vectors: %v", got)
	}
}

func withVector(u db.Unembedded, vector ...byte) db.Unembedded {
	u.Vector = vector
	return u
}
