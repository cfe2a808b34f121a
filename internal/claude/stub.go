package claude

import "context"

func (pl *Pool) Sweep(ctx context.Context) (int, error) { return 0, nil }

// Recall is [Config.Recall] for the CLI of this pool.
func (pl *Pool) Recall(dir, session, id string) (Outcome, error) {
	return pl.cfg.Recall(dir, session, id)
}
