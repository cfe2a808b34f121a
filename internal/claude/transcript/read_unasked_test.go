package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude/stream"
)

// session builds a transcript as the CLI writes it.
type session struct{ strings.Builder }

func (s *session) add(kind, group, rest string) {
	fmt.Fprintf(s, `{"type":%q,"uuid":%q,"promptId":%q,%s}`+"\n", kind, uuid.NewString(), group, rest)
}

func (s *session) prompt(group string) {
	s.add("user", group, `"message":{"role":"user","content":"a question"}`)
}

func (s *session) notification(group string) {
	s.add("user", group, `"origin":{"kind":"task-notification"},"message":{"content":"<task-notification>"}`)
}

func (s *session) says(id, stop, text string) {
	s.add("assistant", "", fmt.Sprintf(`"message":{"id":%q,"model":"m","stop_reason":%q,"usage":{"output_tokens":1},`+
		`"content":[{"type":"text","text":%q}]}`, id, stop, text))
}

// A turn that an agent started by itself is read from where earlier readers stopped.
func TestReadUnasked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		write    func(s *session)
		consumed []string
		want     Outcome
	}{
		"nothing": {write: func(s *session) {}},
		"finished": {
			write: func(s *session) { s.notification("n1"); s.says("m2", "end_turn", "done") },
			want:  Outcome{Known: true, Ended: true, Text: "done", Model: "m", Usage: stream.Usage{Output: 1}},
		},
		"cut off": {
			write: func(s *session) {
				s.notification("n1")
				s.says("m2", "tool_use", "let me")
				s.add("assistant", "", `"message":{"id":"m2","model":"m","stop_reason":"tool_use",`+
					`"content":[{"type":"tool_use","id":"t"}]}`)
			},
			want: Outcome{Known: true, Acted: true, Changed: true, Text: "let me", Model: "m", Usage: stream.Usage{Output: 1}},
		},
		"only begun": {write: func(s *session) { s.notification("n1") }, want: Outcome{Known: true}},
		"the first one was read": {
			write: func(s *session) {
				s.notification("n1")
				s.says("m2", "end_turn", "read")
				s.notification("n2")
				s.says("m3", "end_turn", "unread")
			},
			consumed: []string{"m2"},
			want:     Outcome{Known: true, Ended: true, Text: "unread", Model: "m", Usage: stream.Usage{Output: 1}},
		},
		"all were read": {
			write:    func(s *session) { s.notification("n1"); s.says("m2", "end_turn", "read") },
			consumed: []string{"m2"},
		},
		"several": {
			write: func(s *session) {
				s.notification("n1")
				s.says("m2", "end_turn", "one")
				s.notification("n2")
				s.says("m3", "end_turn", "two")
			},
			want: Outcome{Known: true, Ended: true, Text: "one\n\ntwo", Model: "m", Usage: stream.Usage{Output: 2}},
		},
		"the second one is not answered": {
			write: func(s *session) { s.notification("n1"); s.says("m2", "end_turn", "one"); s.notification("n2") },
			want:  Outcome{Known: true, Text: "one", Model: "m", Usage: stream.Usage{Output: 1}},
		},
		"a question came behind it": {
			write: func(s *session) {
				s.notification("n1")
				s.says("m2", "end_turn", "part of the next answer")
				s.prompt("p2")
				s.says("m3", "end_turn", "the next answer")
			},
		},
		"within a turn": { // the notification came with a tool's result
			write: func(s *session) { s.notification("p1"); s.says("m2", "end_turn", "part of the answer") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s session
			s.prompt("p1")
			s.says("m1", "end_turn", "begun")
			tc.write(&s)
			// A compaction repeats lines.
			twice := s.String() + s.String()[strings.LastIndexByte(s.String()[:s.Len()-1], '\n')+1:]
			for _, data := range []string{s.String(), twice} {
				got, err := readUnasked(strings.NewReader(data), tc.consumed)
				if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tc.want) {
					t.Errorf("%+v, %v; want %+v", got, err, tc.want)
				}
			}
		})
	}
}
