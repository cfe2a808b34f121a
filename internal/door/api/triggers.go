package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"magpie/db/programs"
	"magpie/db/schedules"
	"magpie/internal/chat"
)

// Triggers start what people have prepared in their chats.
type Triggers interface {
	// Named lists what has that name.
	Named(ctx context.Context, name string) ([]schedules.Schedule, error)
	// Call stores that a program has called, or returns [schedules.ErrTooMany].
	Call(ctx context.Context, c schedules.Call) error
	// HasRoom returns [schedules.ErrTooMany] if a call would be too many.
	HasRoom(ctx context.Context, c schedules.Call) error
}

// errNothing is the same for an address that is not there, and for one that a token is not for.
var errNothing = &problem{http.StatusNotFound, "invalid_request_error", "not_found", "There is nothing at this address."}

var errTooMany = &problem{http.StatusTooManyRequests, "rate_limit_error", "too_many", "Too many calls wait to be answered."}

// anything has a token do whatever programs may, unless it can only start something.
func anything(handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request, t programs.Token) error {
		if t.Runs != "" {
			return errNothing
		}
		return handle(w, r, t)
	}
}

// trigger starts what was prepared. What the program has sent is a file for the agent, as if somebody had sent it.
func (d *Door) trigger(w http.ResponseWriter, r *http.Request, t programs.Token) error {
	list, err := d.Triggers.Named(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(s schedules.Schedule) bool { return s.Ref() == t.Runs })
	if i < 0 {
		return errNothing
	}
	s := list[i]
	call := schedules.Call{Schedule: s, ID: chat.HTTP + ":" + hashOf(t.ID + "\x00" + idempotencyKey(r))[:32], At: time.Now()}
	if err := d.Triggers.HasRoom(r.Context(), call); errors.Is(err, schedules.ErrTooMany) {
		return errTooMany
	} else if err != nil {
		return err
	}
	if s.State != schedules.Active {
		return &problem{http.StatusForbidden, "permission_error", "paused", "It is paused in its chat."}
	}
	data, err := readBody(w, r)
	if err != nil {
		return err
	}
	if len(strings.TrimSpace(string(data))) > 0 {
		call.File = fileID("call "+s.Ref()+"\x00"+call.ID, schedules.FileName)
		if err := d.store.AddFile(r.Context(), s.Key, call.File, data); err != nil {
			return err
		}
	}
	if err := d.Triggers.Call(r.Context(), call); errors.Is(err, schedules.ErrTooMany) {
		return errTooMany
	} else if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	writeJSON(w, map[string]any{"id": call.ID})
	return nil
}
