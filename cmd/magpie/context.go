package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"magpie/bridge"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/text"
)

// contextCmd answers questions about retrieval without a running bridge, for example to compare settings.
type contextCmd struct {
	Chat    string `required:"" help:"The chat, as in feishu:chat:oc_xxx or oc_xxx." placeholder:"KEY"`
	Message string `xor:"question" required:"" help:"The question." placeholder:"TEXT"`
	Batch   bool   `xor:"question" required:"" help:"Read questions from the standard input: {\"message\": \"...\", \"at\": ..., \"user_id\": ..., \"user_name\": ...} per line; answer each with one JSON object per line."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
	Recall  int    `name:"recall-chars" default:"-1" help:"How many characters of older messages to recall. Default: as configured." placeholder:"N"`
	At      moment `help:"When the question is asked, as in 2026-05-04, \"2026-05-04 12:00\" or 2026-05-04T12:00:00+08:00. Default: now." placeholder:"TIME"`
	configFlag
}

// BeforeApply looks for a configuration before the flags are checked: without one they are of no use.
func (contextCmd) BeforeApply(k *kong.Context) error {
	for _, step := range k.Path {
		if step.Flag != nil && step.Flag.Name == "config" {
			return nil
		}
	}
	if _, err := config.ReadForDatabase("", os.Environ()); errors.Is(err, config.ErrNotFound) {
		return err
	}
	return nil
}

// Run shows the prompt that the agent would get, even while the bridge runs. It starts no agent and changes nothing; an
// embeddings endpoint is called, as for a turn.
func (c contextCmd) Run(ctx context.Context) (err error) {
	cfg, err := config.ReadForDatabase(c.Config, os.Environ())
	if err != nil {
		return err
	}
	// Negative means that the flag was not given; zero is a valid value.
	if c.Recall >= 0 {
		cfg.Context.RecallChars = c.Recall
	}
	if err := errors.Join(cfg.Context.Validate(), cfg.Memory.Validate()); err != nil {
		return &config.Error{File: cfg.File, Err: err}
	}
	key, err := parseChat(c.Chat)
	if err != nil {
		return err
	}
	store, err := db.OpenReadOnly(ctx, cfg.DBConfig())
	if err != nil {
		return err
	}
	// The schema is not upgraded here: a running bridge of another version may be using the database.
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.CheckSchema(ctx); err != nil {
		return err
	}
	p := promptBuilder{key: key, at: c.At.Time}
	if p.preview, err = newPreview(ctx, cfg, store); err != nil {
		return err
	}
	if c.Batch {
		return p.batch(ctx, os.Stdin, os.Stdout)
	}
	built, err := p.build(ctx, batchQuestion{Message: c.Message})
	switch {
	case err != nil:
		return err
	case c.JSON:
		return writeLine(os.Stdout, toSentPrompt(built.Prompt))
	}
	outline := built.Outline(i18n.OfLocale(os.Environ()) == i18n.English)
	_, err = fmt.Println(text.ForTerminal(outline + "\n\n" + built.Prompt.Text())) // --json shows it as it is
	return err
}

// newPreview builds contexts like the bridge with this configuration.
func newPreview(ctx context.Context, cfg config.Config, store *db.DB) (*bridge.Preview, error) {
	node, err := cfg.NodeName()
	if err != nil {
		return nil, err
	}
	log := newLog(os.Stderr, config.Log{Format: config.LogConsole}).Level(zerolog.WarnLevel)
	agents, err := readOnlyAgentsConfig(ctx, cfg, store)
	if err != nil {
		return nil, err
	}
	b := cfg.BridgeConfig()
	b.Node = node
	return bridge.NewPreview(b, store, contextmgr.New(store, cfg.ContextConfig(), log), agents), nil
}

// promptBuilder builds the prompts of one chat.
type promptBuilder struct {
	key     chat.Key
	at      time.Time // for questions without a time; zero = now
	preview *bridge.Preview
}

// batchQuestion is a line of a batch.
type batchQuestion struct {
	Message  string    `json:"message"`
	At       time.Time `json:"at"`
	UserID   string    `json:"user_id"`
	UserName string    `json:"user_name"`
}

func (p promptBuilder) build(ctx context.Context, q batchQuestion) (bridge.BuiltContext, error) {
	// The time of the question decides; otherwise that of the command line, and otherwise now.
	for _, at := range []time.Time{p.at, time.Now()} {
		if q.At.IsZero() {
			q.At = at
		}
	}
	m := chat.Message{Key: p.key, Actor: chat.Actor{ID: q.UserID, Name: q.UserName}, Text: q.Message, Time: q.At}
	built, err := p.preview.Build(ctx, m, false)
	if errors.Is(err, db.ErrNotFound) {
		return built, errNoChat(p.key)
	}
	return built, err
}

// batch answers each line with one line, unbuffered, so that a caller may wait for each answer.
func (p promptBuilder) batch(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := newLineReader(in)
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return i18n.Mistakef("第 %d 行：%v", "line %d: %v", lines.n, err)
		}
		var answer any
		q, err := readQuestion(l)
		if err == nil {
			var built bridge.BuiltContext
			built, err = p.build(ctx, q)
			answer = toSentPrompt(built.Prompt)
		}
		// A bad line is answered with an error, so that answers and questions stay in step.
		if err != nil {
			answer = map[string]string{"error": errorText(err)}
		}
		if err := writeLine(out, answer); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// readQuestion parses a line. Its errors describe the expected form, because the input is written by hand or by
// scripts.
func readQuestion(l line) (q batchQuestion, err error) {
	switch {
	case l.long:
		return q, errLong
	case !utf8.Valid(l.text):
		return q, errUTF8
	}
	if err := json.Unmarshal(l.text, &q); err != nil {
		return q, i18n.Mistakef(
			`应写成 {"message": "...", "at": "2026-05-04T12:00:00+08:00"} 的形式`,
			`must be like {"message": "...", "at": "2026-05-04T12:00:00+08:00"}`)
	}
	if strings.TrimSpace(q.Message) == "" {
		return q, i18n.Mistakef("缺少 message", "message is missing")
	}
	return q, nil
}

// writeLine writes each line with one Write, so that lines in a pipe are complete even if the command is interrupted.
func writeLine(out io.Writer, v any) error {
	var b bytes.Buffer
	if err := plainEncoder(&b).Encode(v); err != nil {
		return err
	}
	_, err := out.Write(b.Bytes())
	return err
}

// The JSON form of a prompt. Lists are never null.
type (
	sentPrompt struct {
		Prompt    string           `json:"prompt"`
		Current   string           `json:"current"` // the question at the end of the prompt
		UseResume bool             `json:"use_resume"`
		ResumeID  string           `json:"resume_session_id"`
		History   []sentMessage    `json:"history"`
		Recalled  []sentMessage    `json:"recalled"`
		Memories  []sentMemory     `json:"memories"`
		Overheard []sentMessage    `json:"background"`
		Summary   *sentSummary     `json:"summary,omitempty"`
		Stats     contextmgr.Stats `json:"stats"`
	}
	sentMessage struct {
		ID       string    `json:"message_id"`
		TS       string    `json:"ts"`
		Role     chat.Role `json:"role"`
		UserID   string    `json:"user_id"`
		UserName string    `json:"user_name"`
		Content  string    `json:"content"`
	}
	sentMemory struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		Text  string `json:"text"`
		Date  string `json:"date"`
	}
	sentSummary struct {
		Text  string `json:"text"`
		Until string `json:"until"`
	}
)

func toSentPrompt(p contextmgr.Prompt) sentPrompt {
	s := sentPrompt{
		Prompt: p.Text(), Current: p.Current, UseResume: p.UseResume, ResumeID: p.ResumeID,
		History: toSentMessages(p.History), Recalled: toSentMessages(p.Retrieved),
		Overheard: toSentMessages(p.Overheard),
		Memories:  []sentMemory{}, Stats: p.Stats,
	}
	for _, m := range p.Memories {
		s.Memories = append(s.Memories, sentMemory{m.ID, m.Title, m.Text, timeText(m.Date)})
	}
	if p.Summary.Text != "" {
		s.Summary = &sentSummary{p.Summary.Text, timeText(p.Summary.Until)}
	}
	return s
}

func toSentMessages(msgs []chat.Message) []sentMessage {
	list := make([]sentMessage, len(msgs))
	for i, m := range msgs {
		list[i] = sentMessage{m.ID, timeText(m.Time), m.Role, m.Actor.ID, m.Actor.Name, m.Text}
	}
	return list
}
