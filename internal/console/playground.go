// Package console is the web interface of the playground. On its page one writes as a user of a simulated Feishu,
// watches the bot's cards grow, presses their buttons, and sees the context of each turn.
//
// The simulated platform does not belong here (feishusim), nor does anything that a bridge with a real platform
// needs.
package console

import (
	"context"
	"embed"
	"net/http"

	"magpie/internal/feishusim"
)

// PlaygroundConfig is what a playground shows and steers.
type PlaygroundConfig struct {
	Sim       *feishusim.Server
	Simulated bool // the agent is the real CLI, but the model behind it is a double: the page says so
	// LoseSession deletes the agent's session of a chat behind the bridge's back and returns a line to show; nil: the
	// page does not offer it.
	LoseSession func(ctx context.Context, chatID string) (string, error)
}

// Playground serves the page. Its stream of updates ends with the request's context, so give the http.Server a
// BaseContext that is cancelled before Shutdown.
type Playground struct {
	cfg   PlaygroundConfig
	turns turns
	guard http.Handler
}

//go:embed web/index.html web/app.css web/*.js
var web embed.FS

// NewPlayground makes three users, a private chat of each with the bot, and a group of all.
func NewPlayground(cfg PlaygroundConfig) *Playground {
	p := &Playground{cfg: cfg, turns: newTurns()}
	var people []feishusim.User
	for _, name := range []string{"小明", "小红", "Alex"} {
		u := cfg.Sim.AddUser(name)
		cfg.Sim.PrivateChat(u)
		people = append(people, u)
	}
	cfg.Sim.Group("鹊桥测试群", people...)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", asset("index.html"))
	for _, name := range []string{"app.css", "app.js", "acts.js", "card.js", "dom.js", "markdown.js", "texts.js"} {
		mux.HandleFunc("GET /"+name, asset(name))
	}
	mux.HandleFunc("GET /api/state", p.state)
	mux.HandleFunc("GET /api/events", p.events)
	mux.HandleFunc("POST /api/say", act(p.say))
	mux.HandleFunc("POST /api/press", act(p.press))
	mux.HandleFunc("POST /api/lose", act(p.lose))
	p.guard = guarded(mux)
	return p
}

// asset serves one file of the page.
func asset(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, web, "web/"+name) }
}

// ServeHTTP serves the page, its assets, the JSON API and the stream of updates.
func (p *Playground) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.guard.ServeHTTP(w, r) }

// Record shows that a context was built. It does not wait for anybody.
func (p *Playground) Record(t Turn) { p.turns.add(t) }
