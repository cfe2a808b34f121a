package claude

import "context"

type Outcome struct {
	Known, Acted, Ended bool
	Text, Dir, Model    string
	Usage               Usage
	Failure             Failure
}

func (pl *Pool) Sweep(ctx context.Context) (int, error) { return 0, nil }

func (pl *Pool) Recall(dir, session, prompt string) (Outcome, error) { return Outcome{}, nil }
