package claude

// Spec describes the process that a turn needs.
type Spec struct {
	Session string // the CLI's session id
	Resume  bool   // the session exists; otherwise it is created with this ID
	Dir     string // working folder
	Mode    string // permission mode
	Model   string // empty = the configured one
	Effort  string // empty = the configured one
	Name    string // the session's title in a terminal's list; empty = none
	// cost limit in USD; 0 = none. The CLI counts from its start, so a process with a limit serves one turn
	Budget float64
	Task   string // system prompt of a [Task]; if it is set, of the above only Dir is used

	// Known returns the prompts that were sent to the session to be resumed. It is called when a process has to be
	// started; see [transcript.Files.Verify]. It may be nil.
	Known func() []string `json:"-"`

	// Queued is called when the turn waits for the end of others, with its place in the queue, the first being 1,
	// whenever that changes, and with 0 when it waits no more. It must not block. It may be nil.
	Queued func(place int) `json:"-"`

	Files string // a folder besides Dir that the agent may read; empty = none

	// without what a server of the API may not know. When one refuses a request, the CLI (2.1.332) otherwise sends it six
	// times, with less and less of that. It serves one turn
	Plain bool

	Suggest bool // suggest the next question; see [Process.OnSuggestion]

	Kind string // of the chat, on which the tools depend

	// Spare returns the spec of a process like this one without a chat, with its state in the folder with that ID. nil
	// = none is started ahead; see [Ahead.TakeSpare].
	Spare func(folder string) Spec `json:"-"`

	// Tools is called for every process that is started. It may be nil.
	Tools func() Tools `json:"-"`
}

func (s Spec) prompts() []string {
	if s.Known == nil {
		return nil
	}
	return s.Known()
}
