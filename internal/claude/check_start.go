package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude/stream"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// CheckStart starts the CLI as for a new chat that works in dir in this permission mode, and ends it as soon as it runs:
// that costs no request to the model. If the CLI refuses to start, the error has the last line that it has written; limit
// is how long it may take. The state of this program's agents is not touched.
func CheckStart(ctx context.Context, c Config, dir, mode string, limit time.Duration) error {
	own, err := os.MkdirTemp("", "magpie-start-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(own) //nolint:errcheck // it lies where such folders are cleaned up
	c.State, c.Instance = own, filepath.Base(own)
	a, err := workspace.NewAgent(c, uuid.NewString())
	if err != nil {
		return err
	}
	defer a.RemoveState() //nolint:errcheck // likewise
	if err := c.Prepare(); err != nil {
		return err
	}
	p, err := start(a, Spec{Session: uuid.NewString(), Dir: dir, Mode: mode, Suggest: true})
	if err != nil {
		return err
	}
	defer p.close(context.Background())
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err = requestControl(limited, p, stream.Initialization())
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return workspace.EndOf(exit.Err, exit.Stderr)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return i18n.Mistakef("%v 内没有应答", "no answer within %v", limit)
	}
	return err
}
