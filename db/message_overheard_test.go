package db_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// aside is a message that is not addressed to the bot.
func aside(id string, second int64) chat.Incoming {
	return chat.Incoming{Key: oc, Kind: chat.Group, ID: id, Text: id, Time: time.Unix(second, 0)}
}

func overheard(t *testing.T, d *db.DB, seen int64) string {
	t.Helper()
	list, err := d.Messages().Overheard(t.Context(), oc, 0, seen, time.Unix(1000, 0), 25)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, m := range list {
		s = append(s, m.ID)
	}
	return strings.Join(s, " ")
}

func TestLaterOverheardMessagesAreInOrder(t *testing.T) {
	d := fresh(t)
	for _, e := range []db.Inbound{
		{Incoming: aside("a1", 10), Class: chat.Overheard}, {Incoming: aside("q1", 20), Class: chat.Talk},
		{Incoming: aside("a3", 40), Class: chat.Overheard},
	} {
		accept(t, d, e)
	}
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s1").Turn, Answer: "answer"})
	at, n, err := d.Messages().LastAddressed(t.Context(), oc, 2)
	if err != nil || !at.Equal(time.Unix(20, 0)) || n != 1 {
		t.Errorf("addressed at %v, %d since, %v", at, n, err)
	}
	for range 2 {
		if err := d.Messages().StoreOverheard(t.Context(), oc, 0,
			[]chat.Incoming{aside("a2", 30), aside("a3", 40), aside("a0", 5)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := overheard(t, d, 0); got != "a0 a1 a2 a3" {
		t.Errorf("overheard %s", got)
	}
	if got := overheard(t, d, 1); got != "a2 a3" {
		t.Errorf("overheard since the first turn: %s", got)
	}
	if err := d.Messages().StoreOverheard(t.Context(), oc, 1, []chat.Incoming{aside("a4", 50)}); err != nil {
		t.Fatal(err)
	}
	if got := overheard(t, d, 1); got != "a2 a3" {
		t.Errorf("from another conversation: %s", got)
	}
	for i := range 600 {
		accept(t, d, db.Inbound{Incoming: aside(fmt.Sprint("b", i), int64(100+i)), Class: chat.Overheard})
	}
	if at, _, err := d.Messages().LastAddressed(t.Context(), oc, 2); err != nil || !at.IsZero() {
		t.Errorf("long ago it was addressed at %v, %v", at, err)
	}
}

func TestARecalledMessageIsNotOverheard(t *testing.T) {
	d := fresh(t)
	accept(t, d, db.Inbound{Incoming: aside("a1", 10), Class: chat.Overheard})
	if _, err := d.Messages().Recall(t.Context(), oc, "a2", over); !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	if err := d.Messages().StoreOverheard(t.Context(), oc, 0, []chat.Incoming{aside("a2", 20), aside("a3",
		30)}); err != nil {
		t.Fatal(err)
	}
	if got := overheard(t, d, 0); got != "a1 a3" {
		t.Errorf("overheard %s", got)
	}
}
