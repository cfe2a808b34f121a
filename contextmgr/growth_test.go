package contextmgr

import (
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	said := func(s string) []chat.Message {
		return []chat.Message{
			{Role: chat.User, Text: s, Actor: chat.Actor{Name: s}},
			{Role: chat.Assistant, Text: s},
		}
	}
	asked := func(s string) []chat.Message {
		return []chat.Message{{Role: chat.User, Text: s, Actor: chat.Actor{Name: s}, Files: []chat.File{
			{Kind: chat.Quote, State: chat.Here, Name: s, Said: s},
			{Kind: chat.Document, State: chat.Here, Name: s, Path: "/a"},
			{Kind: chat.Sound, State: chat.Here, Said: s},
			{Kind: chat.Forwarded, State: chat.Here},
		}}}
	}
	memories := func(s string) []db.Memory { return []db.Memory{{Title: s, Text: s, Keywords: []string{s}}} }
	c := Defaults()
	c.MaxTokens = 300 // so that both texts are too long for a summary
	now := time.Now()
	ranked := func(s string) *queryIndex {
		f := newQueryIndex(parseQuery(s, now, "zh"), db.Found{})
		return &f
	}
	growthtest.Linear(t, map[string]func(string){
		"EstimateTokens": func(s string) { EstimateTokens(s) },
		"FallbackTitle":  func(s string) { FallbackTitle(s) },
		"Title":          func(s string) { Title(s) },
		"ParseNotes":     func(s string) { ParseNotes(s) },
		"Points":         func(s string) { Points(s, len(s)/4) },
		"Prefix": func(s string) {
			Prefix(Context{
				History: said(s), Retrieved: said(s), Overheard: said(s),
				Memories: contextMemories(memories(s)), Summary: Summary{Text: s},
			}, chat.Group, s)
		},
		"QuestionText":    func(s string) { QuestionText(asked(s), chat.Group, "zh"); QuestionText(asked(s), chat.Private, "en") },
		"SummaryTask":     func(s string) { c.SummaryTask("en", chat.Group, Summary{Text: s}, said(s)) },
		"PointsTask":      func(s string) { c.PointsTask("en", chat.Group, said(s)) },
		"TitleTask":       func(s string) { c.TitleTask("en", said(s)) },
		"NotesTask":       func(s string) { c.NotesTask("en", chat.Group, memories(s), said(s)) },
		"TruncateSummary": func(s string) { c.TruncateSummary(s, "en") },
		"parseQuery":      func(s string) { parseQuery(s, now, "zh") },
		"rank":            func(s string) { ranked("what").rank(said(s), nil) },
		"excerpt":         func(s string) { ranked("what").excerpt(s, 300) },
		"rankMemories":    func(s string) { rankMemories(memories(s), s, true) },
		"selectMemories":  func(s string) { selectMemories(memories(s), s, 1000) },
		"sendable":        func(s string) { sendable(s) },
		"truncate":        func(s string) { truncate(said(s), Limits{MaxTokens: 1000}) },
		"newestWithin":    func(s string) { newestWithin(said(s), overheardChars, "zh") },
	})
}
