package console

import (
	"net/http"
	"sync"
)

// visit is the first visit to the playground.
type visit struct {
	once  sync.Once
	begun chan struct{}
	lang  string // of the page; valid when begun is closed
}

func newVisit() *visit { return &visit{begun: make(chan struct{})} }

// recordVisit records the visit before serving it.
func (v *visit) recordVisit(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v.once.Do(func() {
			if v.lang = "zh"; r.URL.Query().Get("lang") == "en" {
				v.lang = "en"
			}
			close(v.begun)
		})
		serve(w, r)
	}
}
