package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// auditCmd lists the decisions about agents' tool calls.
type auditCmd struct {
	Chat  string `help:"Only this chat, as in feishu:chat:oc_xxx or oc_xxx." placeholder:"KEY"`
	Since string `help:"Only decisions since a day (2026-05-04) or within a time (30d, 12h). Default: all." placeholder:"WHEN"`
	JSON  bool   `name:"json" help:"Write one JSON object per line."`
	configFlag
}

// Run prints the decisions, oldest first.
func (a auditCmd) Run(ctx context.Context) (err error) {
	c, err := config.ReadForDatabase(a.Config, os.Environ())
	if err != nil {
		return err
	}
	now := time.Now()
	from, err := sinceTime(a.Since, now)
	if err != nil {
		return err
	}
	store, err := db.OpenReadOnly(ctx, c.DBConfig())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var key chat.Key
	if a.Chat != "" {
		if key, err = knownChat(ctx, store, a.Chat); err != nil {
			return err
		}
	}
	list, err := store.Messages().Decisions(ctx, key, from, now.Add(time.Minute))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for _, r := range list {
		if a.JSON {
			err = appendDecision(out, r)
		} else {
			_, err = fmt.Fprintln(out, decisionLine(r))
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 && !a.JSON {
		fmt.Fprintln(out, i18n.CmdNoDecisions.In(userLang()))
	}
	return out.Flush()
}

// sinceTime parses a day, or how long ago something was; empty = the beginning of time.
func sinceTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.UnixMilli(0), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, s, now.Location()); err == nil {
		return day, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, wrongUsage(i18n.Mistakef("--since %s：应为日期（例如 2026-05-04），或时长（例如 30d、12h）",
		"--since %s: must be a day such as 2026-05-04, or a length of time such as 30d or 12h", s))
}

// decision is the JSON form of a decision.
type decision struct {
	TS       string     `json:"ts"` // RFC 3339
	Chat     string     `json:"chat"`
	Turn     int64      `json:"turn"`
	Decision string     `json:"decision"`
	UserID   string     `json:"user_id"` // empty = nobody
	UserName string     `json:"user_name"`
	Rule     int64      `json:"rule,omitempty"` // of the chat
	Allows   *db.Permit `json:"rule_allows,omitempty"`
	RuleBy   string     `json:"rule_by,omitempty"` // the user who made the rule
	Tool     string     `json:"tool"`
	Input    string     `json:"input"` // JSON, possibly shortened
	Reason   string     `json:"reason,omitempty"`
}

func appendDecision(out *bufio.Writer, r db.RecordedAction) error {
	var b bytes.Buffer
	d := decision{
		TS: timeText(r.Time), Chat: r.Key.String(), Turn: r.Turn, Decision: r.Decision, UserID: r.By.ID,
		UserName: r.By.Name, Rule: r.Rule, Tool: r.Tool, Input: r.Input, Reason: r.Reason,
	}
	if r.Of.Number != 0 {
		d.Allows, d.RuleBy = &r.Of.Permit, r.Of.By.ID
	}
	err := plainEncoder(&b).Encode(d)
	if err == nil {
		_, err = out.Write(b.Bytes())
	}
	return err
}

// decisionLine formats a decision as one line for people.
func decisionLine(r db.RecordedAction) string {
	what := string(r.Decision)
	if r.Rule != 0 {
		what += " " + strconv.FormatInt(r.Rule, 10)
	}
	who := strings.TrimSpace(i18n.Visible(r.By.Name) + " " + r.By.ID)
	if who == "" {
		who = "-"
	}
	line := fmt.Sprintf("%s  %s  %s  %s  %s  %s", r.Time.Local().Format("2006-01-02 15:04:05"), r.Key, what, who,
		i18n.Visible(r.Tool), i18n.Visible(r.Input))
	if r.Reason != "" {
		line += "  (" + i18n.Visible(r.Reason) + ")"
	}
	if of := r.Of; of.Number != 0 {
		line += fmt.Sprintf("  (rule %d: %s %s %s, by %s %s)", of.Number, of.Kind, i18n.Visible(of.Tool),
			i18n.Visible(of.Content), i18n.Visible(of.By.Name), of.By.ID)
	}
	return line
}
