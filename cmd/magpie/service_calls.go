package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"

	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// The request of a command and its answer, on the socket for terminals.
type (
	serviceCall[In any] struct {
		In   In
		Lang i18n.Lang // of who has typed the command
	}
	serviceAnswer[Out any] struct {
		Out     Out
		Problem string // why it was not done; empty = it was
	}
)

// errNotDone stands for what only operators can read about, in the log.
var errNotDone = i18n.Mistakef("服务没有办成，原因见它的日志", "the service has not done it; its log says why")

// servicePages serves what commands ask of the service.
func (p *program) servicePages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/commands/tokens", servicePage(p, p.newToken))
	mux.HandleFunc("POST /v1/commands/tokens/list", servicePage(p, p.listTokens))
	mux.HandleFunc("POST /v1/commands/tokens/revoke", servicePage(p, p.revokeToken))
	mux.HandleFunc("POST /v1/commands/attach", servicePage(p, p.attach))
	mux.HandleFunc("POST /v1/commands/attach/list", servicePage(p, p.begun))
	return mux
}

// servicePage answers with what do returns. An error that is an [i18n.Mistake] is told.
func servicePage[In, Out any](p *program, do func(ctx context.Context, from terminal.Peer, in In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked serviceCall[In]
		var got serviceAnswer[Out]
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&asked)
		if err == nil {
			got.Out, err = do(r.Context(), terminal.PeerOf(r), asked.In)
		}
		if err != nil && !errors.As(err, new(*i18n.Mistake)) {
			p.log.Error().Err(err).Str("path", r.URL.Path).Msg("what a command asks is not done")
			err = errNotDone
		}
		if err != nil {
			got.Problem = i18n.ErrorText(asked.Lang, err)
		}
		_ = json.NewEncoder(w).Encode(got) // fails only if the command has gone
	}
}

// callService has the service of this machine do something, and returns what it answers.
func callService[Out any](ctx context.Context, c configFlag, path string, in any) (out Out, err error) {
	cfg, err := config.ReadForDatabase(c.Config, os.Environ())
	if err != nil {
		return out, err
	}
	client, err := dialService(ctx, cfg, terminal.Main)
	if err != nil {
		return out, err
	}
	var got serviceAnswer[Out]
	if err := client.Call(ctx, http.MethodPost, "commands/"+path, serviceCall[any]{in, userLang()}, &got); err != nil {
		return out, i18n.Mistakef("服务没有照办：%v", "the service has not done it: %v", err)
	} else if got.Problem != "" {
		return out, errors.New(got.Problem)
	}
	return got.Out, nil
}
