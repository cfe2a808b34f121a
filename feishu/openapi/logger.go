package openapi

import (
	"context"
	"fmt"
	"regexp"
	"sync"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"
)

// sdkLogger forwards the SDK's log: errors at warn, the rest at debug, since our own errors contain what matters. The
// SDK's debug lines are dropped: they contain users' messages (ws/client_message.go, handleDataFrame).
type sdkLogger struct {
	log     zerolog.Logger
	unknown *sync.Map // events without a handler, each of which is logged once
}

// SDKLogger returns a logger for the SDK that writes to log.
func SDKLogger(log zerolog.Logger) larkcore.Logger { return sdkLogger{log, &sync.Map{}} }

func (sdkLogger) Debug(context.Context, ...any)          {}
func (l sdkLogger) Info(_ context.Context, args ...any)  { l.write(zerolog.DebugLevel, args) }
func (l sdkLogger) Warn(_ context.Context, args ...any)  { l.write(zerolog.DebugLevel, args) }
func (l sdkLogger) Error(_ context.Context, args ...any) { l.write(zerolog.WarnLevel, args) }

// tail matches the part of a line that may contain a ticket, an access key or a body.
var tail = regexp.MustCompile(`\?\S*|(?i)(payload|body|ticket|access_key|secret|token)["']?\s*[:=].*`)

// unhandled matches the error for an event without a handler (event/dispatcher/dispatcher.go, NotFoundEventHandlerErr).
// The platform redelivers such an event again and again.
var unhandled = regexp.MustCompile(`event type: ([\w.]+), not found handler`)

func (l sdkLogger) write(level zerolog.Level, args []any) {
	text := tail.ReplaceAllString(fmt.Sprint(args...), "…")
	if m := unhandled.FindStringSubmatch(text); m != nil {
		if _, known := l.unknown.LoadOrStore(m[1], true); !known {
			l.log.WithLevel(level).Str("event", m[1]).
				Msg("feishu: an event that Magpie does not use; you can remove it in the console")
		}
		return
	}
	l.log.WithLevel(level).Str("from", "sdk").Msg(text)
}
