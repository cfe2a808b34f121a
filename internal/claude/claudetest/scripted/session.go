//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
)

// session is a conversation with the model, and its transcript in the CLI's format: one line per prompt, per content
// block of an answer, and per tool result.
type session struct {
	id       string
	messages []turnMessage
	file     *os.File // nil = no transcript
	parent   string   // uuid of the last line
	group    string   // promptId of the last prompt
	prompts  map[string]bool
	notice   bool // the next input tells the model about the end of a task
}

// turnMessage is one message of the model's API.
type turnMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text, or a list of blocks
}

// transcriptLine has the members of a transcript line that are read.
type transcriptLine struct {
	Type     string `json:"type"`
	UUID     string `json:"uuid"`
	PromptID string `json:"promptId"`
	Message  struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Attachment struct {
		Prompt string `json:"prompt"` // of a queued_command
	} `json:"attachment"`
}

// steeredNote is the text in which the model gets a message that came while its tools ran.
func steeredNote(text string) string {
	return "The user sent a new message while you were working:\n" + text
}

// openSession starts a session, or continues one that has a transcript.
func openSession(id string, resume, keep bool) (*session, error) {
	s := &session{id: id, prompts: map[string]bool{}}
	path, err := claude.Config{Environ: os.Environ()}.Transcripts("").Path(".", id)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if resume {
		if err := s.read(data); errors.Is(err, fs.ErrNotExist) || len(s.messages) == 0 {
			return nil, errNoConversation
		}
	} else if err == nil {
		return nil, fmt.Errorf("session ID %s is already in use", id)
	}
	if !keep {
		return s, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	s.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // closed when the process ends
	return s, err
}

// errNoConversation means that there is no transcript to resume.
var errNoConversation = errors.New("no conversation")

// read parses a transcript. Lines that are not JSON are skipped, as the CLI does.
func (s *session) read(data []byte) error {
	lines := bufio.NewReader(bytes.NewReader(data))
	last := "" // ID of the model's message that the last line belongs to
	for {
		line, err := lines.ReadBytes('\n')
		var l transcriptLine
		known := json.Unmarshal(line, &l) == nil
		if known && l.Type == "attachment" {
			s.messages = append(s.messages, turnMessage{"system", encode(steeredNote(l.Attachment.Prompt))})
		}
		said := known && (l.Type == "user" || l.Type == "assistant")
		if said && l.Message.Model != "<synthetic>" {
			s.parent, s.group = l.UUID, l.PromptID
			if l.Type == "user" {
				s.prompts[l.UUID] = true
			}
			if n := len(s.messages); l.Type == "assistant" && l.Message.ID == last && n > 0 {
				s.messages[n-1].Content = join(s.messages[n-1].Content, l.Message.Content)
			} else {
				s.messages = append(s.messages, turnMessage{l.Message.Role, l.Message.Content})
			}
			last = l.Message.ID
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// join concatenates two lists of blocks.
func join(a, b json.RawMessage) json.RawMessage {
	var x, y []json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return b
	}
	return encode(append(x, y...))
}

// user adds input for the model: a prompt, results of tools, or a note.
func (s *session) user(id string, content any) error {
	raw := encode(content)
	s.messages = append(s.messages, turnMessage{"user", raw})
	line := object{
		"type": "user", "uuid": id, "promptId": s.group, "message": object{"role": "user", "content": raw},
	}
	if s.notice {
		line["origin"] = object{"kind": "task-notification"}
	}
	return s.write(line)
}

// attached adds a message that came while the model's tools ran, which the model gets as a note.
func (s *session) attached(id, text string) error {
	s.prompts[id] = true
	s.messages = append(s.messages, turnMessage{"system", encode(steeredNote(text))})
	return s.write(object{
		"type": "attachment", "uuid": uuid.NewString(),
		"attachment": object{"type": "queued_command", "prompt": text, "source_uuid": id, "commandMode": "prompt"},
	})
}

// queued notes a message of the input, at once: tests wait for it before they let a running turn go on.
func (s *session) queued(m message) {
	if s.file == nil || m.notice {
		return
	}
	_, _ = s.file.Write(append(encode(object{
		"type": "queue-operation", "operation": "enqueue", "sessionId": s.id, "content": m.Message.Content.text(),
	}), '\n'))
}

// assistant adds a message of the model, block by block.
func (s *session) assistant(m reply) error {
	if len(m.blocks) == 0 {
		return nil
	}
	blocks := make([]json.RawMessage, 0, len(m.blocks))
	for _, b := range m.blocks {
		blocks = append(blocks, encode(b.whole()))
	}
	s.messages = append(s.messages, turnMessage{"assistant", encode(blocks)})
	// One record per content block, as in the real transcript.
	for _, b := range blocks {
		msg := m.message([]json.RawMessage{b})
		msg["stop_reason"] = m.stop
		if err := s.write(object{"type": "assistant", "uuid": uuid.NewString(), "message": msg}); err != nil {
			return err
		}
	}
	return nil
}

// write appends a line to the transcript.
func (s *session) write(line object) error {
	if s.file == nil {
		return nil
	}
	if s.parent != "" {
		line["parentUuid"] = s.parent
	}
	line["sessionId"], line["timestamp"], line["isSidechain"] = s.id, time.Now().UTC().Format(time.RFC3339Nano), false
	s.parent, _ = line["uuid"].(string)
	_, err := s.file.Write(append(encode(line), '\n'))
	return err
}

// encode encodes v as JSON. It cannot fail: v was made here, or was JSON before.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
