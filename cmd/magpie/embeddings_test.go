package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/embed/embedtest"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// An old message with the same meaning in other words reaches the prompt; the API key reaches only the endpoint.
func TestRelatedMessagesInOtherWordsReachThePrompt(t *testing.T) {
	t.Parallel()
	const fact = "the fleet has 12 vessels in total"
	endpoint, url := embedtest.Start(t, []string{"舰队", "vessels"})
	r := makeRig(t, feishusim.Config{}, func(c *config.Config) {
		c.Memory.EmbeddingsURL, c.Memory.EmbeddingsModel, c.Memory.EmbeddingsKey = url, embedtest.Model, embedtest.Key
	})
	key, began := chat.FeishuChat(r.chat), time.Now().Add(-100*time.Hour)
	list := []db.Record{{Kind: chat.Private, Message: chat.Message{
		Key: key, ID: "om_old", Role: chat.User, Class: chat.Talk, Text: fact, Time: began,
	}}}
	for i := range 100 {
		text := fmt.Sprintf("topic%d matter%d ", i, i*7) + strings.Repeat(fmt.Sprintf("thing%d ", i*13), 30)
		list = append(list, db.Record{Kind: chat.Private, Message: chat.Message{
			Key: key, ID: fmt.Sprintf("om_%d", i), Role: chat.User, Class: chat.Talk, Text: text,
			Time: began.Add(time.Duration(i+1) * time.Minute),
		}})
	}
	store, err := db.Open(t.Context(), r.cfg.DB)
	must(t, err)
	_, err = store.Messages().Importer()(t.Context(), list)
	must(t, err)
	must(t, store.Close())
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	r.until("the vectors of all messages", func() bool {
		return r.count(`SELECT COUNT(*) FROM embeddings`) == len(list)
	})

	r.ask("舰队规模多大？")
	req := r.lastRequest()
	parsed, _, _ := readPrompt(req.LastUser())
	found := false
	for _, p := range parsed {
		found = found || p.Part == contextmgr.Retrieved && p.Text == fact
	}
	if !found {
		t.Errorf("not recalled: %.300s", req.LastUser())
	}
	if texts := endpoint.Texts(); !strings.Contains(texts, fact) || !strings.Contains(texts, "舰队规模多大？") {
		t.Errorf("the endpoint was asked %.300s", texts)
	}
	for _, text := range append(everythingStored(r), r.logs.String(), req.AllText()) {
		if strings.Contains(text, embedtest.Key) {
			t.Errorf("the key is in a wrong place: %.300s", text)
		}
	}
}
