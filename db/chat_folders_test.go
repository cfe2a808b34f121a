package db_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

func TestEachChatHasOneFolderOfARandomName(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	keys := []chat.Key{oc, {Channel: "feishu", Kind: "chat", ID: "oc_2"},
		{Channel: "feishu", Kind: "chat", ID: "oc_2", Thread: "omt_1"}}
	if _, err := d.Chats().Folder(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("before the first agent: %v", err)
	}
	seen := map[string]chat.Key{}
	for _, key := range keys {
		ids := make([]string, 8) // of agents that start concurrently
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				id, err := d.Chats().MakeFolder(t.Context(), key, "")
				if err != nil {
					t.Error(err)
				}
				ids[i] = id
			})
		}
		all.Wait()
		if u, err := uuid.Parse(ids[0]); err != nil || u.Version() != 4 || len(slices.Compact(ids)) != 1 {
			t.Errorf("%v: %q, %v", key, ids, err)
		}
		seen[ids[0]] = key
		if whose, err := d.Chats().ChatOfFolder(t.Context(), ids[0]); whose != key || err != nil {
			t.Errorf("%s is the folder of %v, %v; want %v", ids[0], whose, err, key)
		}
	}
	if len(seen) != len(keys) {
		t.Errorf("folders %v", seen)
	}
	if _, err := d.Chats().ChatOfFolder(t.Context(), uuid.NewString()); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a folder without a chat: %v", err)
	}
}

// An agent may be started before its chat is known.
func TestAFolderIsBoundToAChatThatHasNone(t *testing.T) {
	d := fresh(t)
	early, late := uuid.NewString(), uuid.NewString()
	if id, err := d.Chats().MakeFolder(t.Context(), oc, early); id != early || err != nil {
		t.Errorf("the first folder: %q, %v", id, err)
	}
	if id, err := d.Chats().MakeFolder(t.Context(), oc, late); id != early || err != nil {
		t.Errorf("the second folder: %q, %v", id, err)
	}
	if _, err := d.Chats().MakeFolder(t.Context(), chat.Key{Channel: "feishu", Kind: "chat", ID: "oc_2"},
		early); err == nil {
		t.Error("two chats share a folder")
	}
}
