package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // for the description
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/door"
)

// secretPrefix begins every token, so that people and scanners recognize one.
const secretPrefix = "mgp_"

// NewToken gives a token an ID and a secret. That is shown once; the database has only its hash.
func NewToken(t programs.Token) (_ programs.Token, secret string) {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails
	secret = secretPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(random[:]))
	t.ID, t.Hash = chat.HTTP+":"+strings.ReplaceAll(uuid.NewString(), "-", "")[:16], hashOf(secret)
	t.Created = time.Now().UTC()
	return t, secret
}

// hashOf is a hash in hex.
func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// maxBytes is the size of the longest request: clients send a whole conversation.
const maxBytes = 16 << 20

// Description is the API in the words of OpenAPI 3.1.
//
//go:embed openapi.yaml
var Description []byte

// handler handles a request with a token.
type handler func(w http.ResponseWriter, r *http.Request, t programs.Token) error

// handlers are the addresses in the form of OpenAI's API, and the others.
func (d *Door) handlers() (openAI, plain map[string]handler) {
	plain = map[string]handler{}
	for pattern, handle := range d.ofChats() {
		plain[pattern] = d.inChat(handle)
	}
	if d.Who != nil {
		return nil, plain
	}
	openAI = map[string]handler{
		"POST /v1/chat/completions": d.complete, "GET /v1/models": d.listModels, "GET /v1/models/{id...}": d.showModel,
	}
	plain["POST /api/chats"] = d.openChat
	for _, list := range []map[string]handler{openAI, plain} {
		for pattern, handle := range list {
			list[pattern] = anything(handle)
		}
	}
	plain["POST /api/triggers/{name}"] = d.trigger
	return openAI, plain
}

// Handler serves the API.
func (d *Door) Handler() http.Handler {
	mux := http.NewServeMux()
	nothing := func(http.ResponseWriter, *http.Request, programs.Token) error { return errNothing }
	openAI, plain := d.handlers()
	if plain["/api/"] = nothing; openAI != nil {
		openAI["/v1/"] = nothing
	}
	for pattern, handle := range openAI {
		mux.HandleFunc(pattern, d.authenticated(handle, fail))
	}
	for pattern, handle := range plain {
		mux.HandleFunc(pattern, d.authenticated(handle, failPlainly))
	}
	mux.HandleFunc("GET /api/openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(Description) // fails only if the program has gone
	})
	return mux
}

// problem is why a request is refused.
type problem struct {
	status     int
	kind, code string // the words of OpenAI's API
	detail     string
}

func (p *problem) Error() string { return p.detail }

// badRequest is the problem of a request that is wrong however often it is repeated.
func badRequest(why string) *problem {
	return &problem{http.StatusBadRequest, "invalid_request_error", "invalid_request", why}
}

// body is the problem in the form of OpenAI's API.
func (p *problem) body() any {
	return map[string]any{"error": map[string]any{"message": p.detail, "type": p.kind, "param": nil, "code": p.code}}
}

// problemOf is the problem of an error. What is no fault of the request was not taken in.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	return &problem{http.StatusServiceUnavailable, "server_error", "unavailable", "Nothing was taken in. Try again in a moment."}
}

// fail answers with an error in the form of OpenAI's API.
func fail(w http.ResponseWriter, err error) {
	p := problemOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(p.body()) // fails only if the program has gone
}

// failPlainly answers with an error as RFC 9457 says.
func failPlainly(w http.ResponseWriter, err error) {
	p := problemOf(err)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // fails only if the program has gone
		"type": "about:blank", "title": http.StatusText(p.status), "status": p.status, "detail": p.detail, "code": p.code,
	})
}

// authenticated handles requests with a token that lets in. fail answers with why nothing was done.
func (d *Door) authenticated(handle handler, fail func(http.ResponseWriter, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		t, err := d.tokenOf(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
		} else {
			err = handle(w, r, t)
		}
		if err != nil {
			fail(w, err)
		}
	}
}

var (
	errNoToken = &problem{http.StatusUnauthorized, "authentication_error", "invalid_api_key",
		"The token is missing, unknown, revoked or expired: send Authorization: Bearer mgp_..., made by magpie token new."}
	errDenied    = &problem{http.StatusForbidden, "permission_error", "permission_denied", "An admin of the bot has denied this token access."}
	errElsewhere = &problem{http.StatusConflict, "invalid_request_error", "elsewhere", "A bridge on another machine has this chat."}
)

// tokenOf is the token of a request.
func (d *Door) tokenOf(r *http.Request) (programs.Token, error) {
	if d.Who != nil {
		return d.Who(r), nil
	}
	how, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(how, "Bearer") || !strings.HasPrefix(secret, secretPrefix) {
		return programs.Token{}, errNoToken
	}
	t, err := d.store.Find(r.Context(), hashOf(strings.TrimSpace(secret)))
	switch {
	case errors.Is(err, programs.ErrUnknown):
		return t, errNoToken
	case errors.Is(err, programs.ErrDenied):
		return t, errDenied
	case err != nil:
		d.log.Error().Err(err).Msg("a token is not found")
	case d.Denies(t.ID):
		return t, errDenied
	}
	return t, err
}

// readLimit is how long a request may take to arrive.
const readLimit = 5 * time.Minute

// readBody reads a request.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(readLimit))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	// What the server has set counts from the request's head. From here on the answer may take as long as it does, and only
	// a client that goes away ends the wait.
	_, _ = conn.SetReadDeadline(time.Time{}), conn.SetWriteDeadline(time.Time{})
	if errors.As(err, new(*http.MaxBytesError)) {
		return nil, &problem{http.StatusRequestEntityTooLarge, "invalid_request_error", "too_large", "The request is too large."}
	} else if err != nil {
		return nil, badRequest("The request could not be read.")
	}
	return data, nil
}

// take passes a message on, which is stored then.
func (d *Door) take(ctx context.Context, t programs.Token, key chat.Key, id, text string, files []attached) error {
	m := chat.Incoming{
		Key: key, Kind: chat.Private, ID: id, Actor: chat.Actor{ID: t.ID, Name: t.Name}, Text: text, Time: time.Now(), ToBot: true,
	}
	if err := d.attach(ctx, &m, files); err != nil {
		return err
	}
	return d.pass(key, func(h door.Handler) error { return h.HandleMessage(ctx, m) })
}

// pass passes something on. It returns the problem if that fails for good.
func (d *Door) pass(key chat.Key, on func(door.Handler) error) error {
	h := d.in.Load()
	if h == nil {
		return errAway
	}
	err := on(*h)
	for final, p := range map[error]*problem{chat.ErrNoChat: errNoChat, chat.ErrDenied: errDenied, chat.ErrElsewhere: errElsewhere} {
		if errors.Is(err, final) {
			return p
		}
	}
	if err != nil {
		d.log.Error().Err(err).Stringer("chat", key).Msg("a message or press over HTTP is not stored")
	}
	return err
}

var (
	_ door.Pacer    = (*Door)(nil)
	_ door.Attacher = (*Door)(nil)
	_ door.Fetcher  = (*Door)(nil)
	_ door.Reactor  = (*Door)(nil)
)
