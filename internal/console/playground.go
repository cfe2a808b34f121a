// Package console is the web interface of the playground. On its page a visitor writes as a user of a simulated Feishu,
// watches the bot's cards grow, presses their buttons, breaks things, and sees what the agent was sent for each turn.
//
// The simulated platform is feishusim. Nothing here is needed by a bridge with a real platform.
package console

import (
	"context"
	"embed"
	"net/http"

	"magpie/internal/feishusim"
)

// PlaygroundConfig is what a playground shows and controls. The page does not offer what is nil.
type PlaygroundConfig struct {
	Sim       *feishusim.Server
	Simulated bool      // the agent is the real CLI, but the model behind it is a double: the page says so
	Commands  []Command // for completion on the page
	// LoseSession deletes the agent's session of a chat behind the bridge's back and returns its id; empty = there is
	// none.
	LoseSession func(ctx context.Context, chatID string) (session string, err error)
	// Kill kills the bridge's process, which is started again after a while.
	Kill func() error
	// FillDisk makes the disk full for the bridge, or frees it again.
	FillDisk func(full bool) error
}

// Command is a command of the bot and its purpose, in both languages.
type Command struct {
	Name string `json:"name"` // with the slash
	ZH   string `json:"zh"`
	EN   string `json:"en"`
}

// Playground serves the page. Its stream of updates ends with the request's context, so give the http.Server a
// BaseContext that is cancelled before Shutdown.
type Playground struct {
	cfg      PlaygroundConfig
	people   people
	turns    turns
	troubles troubles
	visit    *visit
	guard    http.Handler
}

//go:embed web/index.html web/app.css web/*.js
var web embed.FS

// scripts are those of the page.
var scripts = []string{
	"app.js", "acts.js", "card.js", "compose.js", "context.js", "dom.js", "markdown.js", "message.js", "model.js",
	"texts.js", "tour.js",
}

// NewPlayground creates three users, a private chat of each with the bot, a group of all and one of two, unless the
// platform already has users. The first user is the app's owner, and the last one a stranger.
func NewPlayground(cfg PlaygroundConfig) *Playground {
	p := &Playground{cfg: cfg, people: people{cfg.Sim}, turns: newTurns(), visit: newVisit()}
	if len(cfg.Sim.Users()) == 0 {
		freezeSim(cfg.Sim)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", asset("index.html"))
	mux.HandleFunc("GET /app.css", asset("app.css"))
	for _, name := range scripts {
		mux.HandleFunc("GET /"+name, asset(name))
	}
	mux.HandleFunc("GET /api/state", p.visit.recordVisit(p.state))
	mux.HandleFunc("GET /api/events", p.visit.recordVisit(p.events))
	mux.HandleFunc("GET /api/file/{key}", p.people.file)
	mux.HandleFunc("POST /api/upload", p.people.upload)
	mux.HandleFunc("POST /api/say", jsonHandler(p.people.say))
	mux.HandleFunc("POST /api/press", jsonHandler(p.people.press))
	mux.HandleFunc("POST /api/edit", jsonHandler(p.people.edit))
	mux.HandleFunc("POST /api/recall", jsonHandler(p.people.recall))
	mux.HandleFunc("POST /api/react", jsonHandler(p.people.react))
	mux.HandleFunc("POST /api/lose", jsonHandler(p.loseSession))
	mux.HandleFunc("POST /api/kill", jsonHandler(p.kill))
	mux.HandleFunc("POST /api/unplug", jsonHandler(p.unplug))
	mux.HandleFunc("POST /api/disk", jsonHandler(p.fillDisk))
	p.guard = withGuard(mux)
	return p
}

// freezeSim creates the users and chats of a new playground.
func freezeSim(sim *feishusim.Server) {
	var people []feishusim.User
	for _, name := range []string{"小明", "小红", "Alex"} {
		u := sim.AddUser(name)
		sim.PrivateChat(u)
		people = append(people, u)
	}
	sim.Group("鹊桥测试群", people...)
	sim.Group("票务项目组", people[:2]...)
	sim.SetOwner(people[0])
}

// Colleagues are the users of a playground who may talk to the bot: all but the last one, who is a stranger to it.
func Colleagues(users []feishusim.User) []feishusim.User { return users[:max(0, len(users)-1)] }

// asset serves one file of the page.
func asset(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, web, "web/"+name) }
}

// ServeHTTP serves the page, its assets, the JSON API and the stream of updates.
func (p *Playground) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.guard.ServeHTTP(w, r) }

// FirstVisit waits for the first visitor, and returns the language of the visitor's page.
func (p *Playground) FirstVisit(ctx context.Context) (lang string, err error) {
	select {
	case <-p.visit.begun:
		return p.visit.lang, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Record shows a built context. It never blocks.
func (p *Playground) Record(t Turn) { p.turns.addTurn(t) }

// RecordRequest shows a request of the agent to the model, with the turn of its prompt. Requests that belong to no
// turn, such as for a summary, are not shown.
func (p *Playground) RecordRequest(prompt string, s Sent) { p.turns.recordSent(prompt, s) }

// SetBridge shows the state of the bridge's process.
func (p *Playground) SetBridge(b Bridge) {
	p.troubles.setBridge(b)
	p.turns.wakeAll()
}
